// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Parsers and printers of text.h. Numbers go through from_chars and fmt, which no locale changes.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <system_error>

#include "base/utf8.h"

namespace ripplekv {
namespace {

constexpr size_t kQuotedMax = 64;  // bytes of the user's text that a message repeats

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Unit {
  std::string_view suffix;  // lower case
  int64_t factor;
};
constexpr int64_t kKibi = 1024;
constexpr int64_t kKilo = 1000;
constexpr std::array<Unit, 12> kUnits = {{{"k", kKibi},
                                          {"m", kKibi* kKibi},
                                          {"g", kKibi* kKibi* kKibi},
                                          {"t", kKibi* kKibi* kKibi* kKibi},
                                          {"kib", kKibi},
                                          {"mib", kKibi* kKibi},
                                          {"gib", kKibi* kKibi* kKibi},
                                          {"tib", kKibi* kKibi* kKibi* kKibi},
                                          {"kb", kKilo},
                                          {"mb", kKilo* kKilo},
                                          {"gb", kKilo* kKilo* kKilo},
                                          {"tb", kKilo* kKilo* kKilo* kKilo}}};

// Edit distance that counts a swap of neighbours as one edit ("optimal string alignment").
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  size_t i = 0;
  while (i < text.size()) {
    const size_t length = utf8_length(text.substr(i));
    const size_t step = std::max<size_t>(length, 1);
    if (i + step > kQuotedMax) break;
    const std::string_view character = text.substr(i, step);
    if (length == 0 || is_control(character)) {
      for (const char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += character;
    }
    i += step;
  }
  out += i < text.size() ? "...'" : "'";
  return out;
}

Result<int64_t> parse_int64(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return invalid_argument(fmt::format("got {}, expected a whole number of 64 bits", quoted(text)));
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid_argument(fmt::format("got {}, expected a whole number", quoted(text)));
  }
  return value;
}

Result<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return invalid_argument(fmt::format("got {}, expected a number that a double can hold", quoted(text)));
  }
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return invalid_argument(fmt::format("got {}, expected a finite number", quoted(text)));
  }
  return value;
}

Result<int64_t> parse_size(std::string_view text) {
  const Status bad =
      invalid_argument(fmt::format("got {}, expected a size such as 512, 8k, 1.5GiB or 100MB", quoted(text)));
  const Status too_large = invalid_argument(fmt::format("got {}, expected a size below 8 EiB", quoted(text)));
  const size_t n_number = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, n_number);
  const std::string suffix = lower(text.substr(n_number));
  if (number.empty()) return bad;
  int64_t factor = 1;
  if (!suffix.empty()) {
    const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.suffix == suffix; });
    if (unit == kUnits.end()) return bad;
    factor = unit->factor;
  }
  if (number.find('.') == std::string_view::npos) {  // whole numbers are exact up to the limit
    int64_t whole = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), whole).ec != std::errc()) return too_large;
    if (whole > std::numeric_limits<int64_t>::max() / factor) return too_large;
    return whole * factor;
  }
  const Result<double> decimal = parse_double(number);
  if (!decimal.ok() || suffix.empty()) return bad;
  const double value = std::floor(*decimal * static_cast<double>(factor));
  if (value >= 0x1p63) return too_large;
  return static_cast<int64_t>(value);
}

Result<double> parse_fraction(std::string_view text) {
  const bool percent = text.ends_with('%');
  const Result<double> number = parse_double(percent ? text.substr(0, text.size() - 1) : text);
  const double value = number.ok() ? (percent ? *number / 100.0 : *number) : 0.0;
  if (!(value > 0.0 && value <= 1.0)) {
    return invalid_argument(
        fmt::format("got {}, expected a fraction above 0 and at most 1, such as 10% or 0.1", quoted(text)));
  }
  return value;
}

Result<std::vector<double>> parse_fraction_list(std::string_view text) {
  std::vector<double> fractions;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    RKV_ASSIGN_OR_RETURN(const double fraction, parse_fraction(trimmed(text.substr(begin, end - begin))));
    if (std::find(fractions.begin(), fractions.end(), fraction) != fractions.end()) {
      return invalid_argument(fmt::format("got {} twice, expected different fractions", fraction));
    }
    fractions.push_back(fraction);
    begin = end + 1;
  }
  return fractions;
}

std::string_view nearest_name(std::span<const std::string_view> candidates, std::string_view word) {
  std::string_view best;
  size_t best_distance = std::numeric_limits<size_t>::max();
  for (const std::string_view candidate : candidates) {
    const size_t allowed = std::max<size_t>(1, candidate.size() / 3);
    // A word much longer or shorter cannot be near; checked first so that a huge word costs nothing.
    if (word.size() + allowed < candidate.size() || candidate.size() + allowed < word.size()) continue;
    const size_t distance = edit_distance(lower(candidate), lower(word));
    if (distance <= allowed && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string human_bytes(int64_t bytes) {
  constexpr std::array<std::string_view, 6> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -kKibi && bytes < kKibi) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  // 1023.95 would print as "1024.0": the next unit says it better.
  while (std::abs(value) >= 1023.95 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e15) return "?";
  if (seconds < 0.9995) return fmt::format("{:.0f}ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h {:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d {:02}h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace ripplekv
