// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Haystacks, names, and the search for the length.
#include "eval/haystack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "profiling/calibration_builtin.h"

namespace ripplekv {
namespace {

constexpr std::string_view kNoise =
    "The lamp is on. The door is shut. The road is long. We walk on. Then we turn round and walk back.\n";

constexpr std::array<std::string_view, 100> kQualities = {
    "amber",   "ancient", "autumn",  "bitter",   "blue",   "bold",   "brave",   "bright", "broad",  "calm",
    "careful", "chalky",  "cheap",   "clean",    "clever", "cold",   "copper",  "cosy",   "crisp",  "curved",
    "dark",    "deep",    "distant", "double",   "dusty",  "early",  "eastern", "empty",  "even",   "faded",
    "faint",   "fair",    "famous",  "fierce",   "flat",   "foggy",  "frosty",  "gentle", "giant",  "golden",
    "green",   "grey",    "happy",   "heavy",    "hidden", "hollow", "honest",  "humble", "idle",   "iron",
    "jolly",   "keen",    "kind",    "late",     "lazy",   "light",  "little",  "lively", "lonely", "loud",
    "lucky",   "marble",  "merry",   "mild",     "misty",  "modern", "narrow",  "neat",   "noble",  "northern",
    "odd",     "open",    "pale",    "patient",  "plain",  "proud",  "quick",   "quiet",  "rapid",  "rare",
    "red",     "rough",   "round",   "rusty",    "salty",  "sandy",  "secret",  "sharp",  "silent", "silver",
    "simple",  "sleepy",  "smooth",  "southern", "steep",  "stormy", "sturdy",  "sunny",  "tall",   "wooden"};
constexpr std::array<std::string_view, 100> kThings = {
    "acorn",   "anchor",   "apple",   "arch",   "badger",  "barrel",  "basket", "beacon",  "bell",   "bench",
    "bottle",  "branch",   "bridge",  "bucket", "button",  "cabin",   "candle", "canyon",  "carpet", "castle",
    "chimney", "cliff",    "clock",   "cloud",  "cottage", "cradle",  "crane",  "crown",   "cup",    "desert",
    "dolphin", "drum",     "eagle",   "engine", "falcon",  "feather", "fence",  "ferry",   "field",  "flute",
    "forest",  "fountain", "garden",  "gate",   "glacier", "glove",   "hammer", "harbour", "harp",   "hedge",
    "hill",    "island",   "jacket",  "kettle", "key",     "kite",    "ladder", "lantern", "leaf",   "lemon",
    "letter",  "windmill", "lion",    "maple",  "market",  "meadow",  "mill",   "mirror",  "moon",   "mountain",
    "oak",     "orchard",  "otter",   "paper",  "pebble",  "pencil",  "piano",  "pillow",  "planet", "pond",
    "quarry",  "rabbit",   "rainbow", "raven",  "ribbon",  "river",   "saddle", "salmon",  "shell",  "shovel",
    "sparrow", "spoon",    "station", "stone",  "table",   "teapot",  "tower",  "valley",  "violin", "window"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Haystack prose_haystack(uint64_t seed, int64_t n_bytes) {
  constexpr int kDocuments = 8;  // one of each genre
  constexpr int64_t kBytesPerToken = 4;
  Haystack haystack;
  haystack.places.push_back(0);
  for (const CalibrationSample& sample :
       builtin_calibration(kDocuments, seed, std::max<int64_t>(n_bytes / kDocuments / kBytesPerToken, 1))) {
    haystack.text += sample.document + "\n\n";
  }
  const std::string& text = haystack.text;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find("\n\n", begin), text.size());
    const std::string_view paragraph = std::string_view(text).substr(begin, end - begin);
    // Sentences of prose only: tables, listings and heads of letters have lines.
    if (!paragraph.empty() && is_letter(paragraph[0]) && paragraph.find('\n') == std::string_view::npos) {
      for (size_t dot = paragraph.find(". "); dot != std::string_view::npos; dot = paragraph.find(". ", dot + 1)) {
        haystack.places.push_back(begin + dot + 1);
      }
    }
    begin = end + 2;
  }
  haystack.places.push_back(text.size());
  return haystack;
}

Haystack noise_haystack(int64_t n_unit) {
  Haystack haystack;
  haystack.places.push_back(0);
  for (int64_t i = 0; i < n_unit; ++i) {
    haystack.text += kNoise;
    haystack.places.push_back(haystack.text.size());
  }
  return haystack;
}

std::string with_sentences(const Haystack& haystack, int64_t n_unit, const std::vector<std::string>& sentences,
                           const std::vector<double>& depths) {
  RKV_CHECK(sentences.size() == depths.size() && n_unit <= haystack.n_unit());
  const auto places_end = haystack.places.begin() + n_unit + 1;
  const size_t n_bytes = haystack.places[static_cast<size_t>(n_unit)];
  std::vector<size_t> place_of;
  for (const double depth : depths) {
    const double wanted = depth * static_cast<double>(n_bytes);
    const auto distance = [&](size_t place) { return std::abs(static_cast<double>(place) - wanted); };
    const auto after =
        std::min(std::lower_bound(haystack.places.begin(), places_end, static_cast<size_t>(wanted)), places_end - 1);
    const auto before = after == haystack.places.begin() ? after : after - 1;
    place_of.push_back(distance(*before) <= distance(*after) ? *before : *after);
  }
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place_of[a] < place_of[b]; });
  std::string text;
  size_t at = 0;
  for (const size_t i : order) {
    text.append(haystack.text, at, place_of[i] - at);
    at = place_of[i];
    const bool begins_line = text.empty() || text.back() == '\n';
    text += begins_line ? sentences[i] + "\n" : " " + sentences[i];
  }
  text.append(haystack.text, at, n_bytes - at);
  return text;
}

template <class Draw>
std::string Names::once(Draw draw) {
  while (true) {
    std::string name = draw();
    if (used_.insert(name).second) return name;
  }
}

std::string Names::word() {
  // A quarter of what a number of parts can name is drawn before there is one part more.
  size_t n_quality = 1;
  for (size_t n_left = kQualities.size() * kThings.size() / 4; n_word_ >= n_left; n_left *= kQualities.size()) {
    ++n_quality;
  }
  ++n_word_;
  return once([&] {
    std::string name;
    for (size_t i = 0; i < n_quality; ++i) name += fmt::format("{}-", kQualities[random_.below(kQualities.size())]);
    return name.append(kThings[random_.below(kThings.size())]);
  });
}

std::string Names::short_word() {
  // Those of five letters and more: shorter ones stand in many an answer by chance.
  static const std::vector<std::string_view> kShort = [] {
    std::vector<std::string_view> words(kQualities.begin(), kQualities.end());
    words.insert(words.end(), kThings.begin(), kThings.end());
    std::erase_if(words, [](std::string_view word) { return word.size() < 5; });
    return words;
  }();
  if (n_short_word_ == kShort.size() * 3 / 4) return word();
  ++n_short_word_;
  return once([&] { return std::string(kShort[random_.below(kShort.size())]); });
}

std::string Names::number(int n_digit) {
  uint64_t first = 1;
  for (int i = 1; i < n_digit; ++i) first *= 10;
  return once([&] { return fmt::format("{}", first + random_.below(9 * first)); });
}

std::string Names::uuid() {
  return once([&] {
    const uint64_t a = random_.next();
    const uint64_t b = random_.next();
    return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xFFFFU, a & 0xFFFFU, b >> 48U,
                       b & 0xFFFFFFFFFFFFU);
  });
}

std::string Names::letters(char first, int n) {
  return once([&] {
    std::string name;
    for (int i = 0; i < n; ++i) name += static_cast<char>(first + static_cast<char>(random_.below(26)));
    return name;
  });
}

Result<Draft> fit_draft(const std::function<Draft(int64_t n_unit)>& draft, int64_t n_unit_min, int64_t n_unit_max,
                        int64_t n_token_max, const std::function<int64_t(std::string_view)>& count_tokens) {
  const auto count = [&](const Draft& made) { return count_tokens(made.document + made.question); };
  const auto is_full = [&](int64_t n_token) { return n_token_max - n_token <= n_token_max / 100; };
  Draft best = draft(n_unit_min);
  int64_t low = n_unit_min;  // fits
  int64_t n_low = count(best);
  if (n_low > n_token_max) {
    return invalid_argument(fmt::format("too short: got room for {} tokens, expected at least {}", n_token_max, n_low));
  }
  int64_t high = n_unit_max + 1;  // does not fit, or does not exist
  int64_t step = 8;
  while (high - low > 1 && !is_full(n_low)) {
    // Where the slope so far leads, a little less; if that was too far, the middle.
    const int64_t next = std::clamp(step > 0 ? low + step : (low + high) / 2, low + 1, high - 1);
    Draft made = draft(next);
    const int64_t n = count(made);
    if (n > n_token_max) {
      high = next;
      step = 0;
      continue;
    }
    const double per_unit = std::max(static_cast<double>(n - n_low) / static_cast<double>(next - low), 1e-3);
    step = std::max<int64_t>(static_cast<int64_t>(0.995 * static_cast<double>(n_token_max - n) / per_unit), 1);
    low = next;
    n_low = n;
    best = std::move(made);
  }
  if (high > n_unit_max && !is_full(n_low)) {
    return invalid_argument(fmt::format("too long: got room for {} tokens, expected at most {}", n_token_max, n_low));
  }
  return best;
}

}  // namespace ripplekv
