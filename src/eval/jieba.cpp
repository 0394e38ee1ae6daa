// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Runs of word characters go through the dictionary: all words that begin at each place, then the most probable way
// through them from the end. Single characters left in a row are cut by the model (Viterbi). Sums of logarithms are
// taken in jieba's order, so that they are the same doubles and ties fall the same way.
#include "eval/jieba.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "base/line_file.h"
#include "base/text.h"
#include "eval/python_text.h"

namespace ripplekv {
namespace {

constexpr std::string_view kDebianFolder = "/usr/lib/python3/dist-packages/jieba";
constexpr int64_t kDictionaryLineMax = 4096;
constexpr std::string_view kStateNames = "BEMS";

bool is_han(char32_t c) { return c >= 0x4E00 && c <= 0x9FD5; }
bool is_ascii_alnum(char32_t c) {
  return (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
}
bool is_in_run(char32_t c) {
  return is_han(c) || is_ascii_alnum(c) || std::u32string_view(U"+#&._%-").find(c) != std::u32string_view::npos;
}

template <class Predicate>
size_t end_of(std::u32string_view text, size_t at, Predicate belongs) {
  while (at < text.size() && belongs(text[at])) ++at;
  return at;
}

// A Python file whose one assignment is "P={...}": dictionaries of quoted characters and numbers, which are JSON but
// for the quotes.
Result<nlohmann::json> read_table(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(std::string text, read_file(path, kJsonSizeMax));
  const size_t begin = text.find("P={");
  if (begin == std::string::npos) return data_loss(fmt::format("{}: got no 'P={{', expected a table of jieba", path));
  text.erase(0, begin + 2);
  std::replace(text.begin(), text.end(), '\'', '"');
  RKV_ASSIGN_OR_RETURN(nlohmann::json table, parse_json(text, path));
  if (table.is_object()) return table;
  return data_loss(fmt::format("{}: expected a table of jieba", path));
}

}  // namespace

std::string Jieba::installed_folder() {
  const char* folder = std::getenv("RIPPLEKV_JIEBA_DIR");
  return folder != nullptr && *folder != '\0' ? folder : std::string(kDebianFolder);
}

Result<const Jieba*> Jieba::installed() {
  static const Result<Jieba> tables = [] {
    const std::string folder = installed_folder();
    std::error_code error;
    if (std::filesystem::exists(folder, error)) return load(folder);
    return Result<Jieba>(unsupported(
        fmt::format("Chinese words need jieba's tables: got no folder {}, expected it from Debian's package "
                    "python3-jieba, or another one in RIPPLEKV_JIEBA_DIR",
                    folder)));
  }();
  if (!tables.ok()) return tables.status();
  return &*tables;
}

Result<Jieba> Jieba::load(const std::string& folder) {
  Jieba jieba;
  RKV_RETURN_IF_ERROR(jieba.read_dictionary(folder + "/dict.txt"));
  RKV_RETURN_IF_ERROR(jieba.read_model(folder + "/finalseg"));
  return jieba;
}

// "word frequency tag", one a line. Every beginning of a word is a key, too.
Status Jieba::read_dictionary(const std::string& path) {
  LineFile lines(path, kDictionaryLineMax);
  int64_t total = 0;
  while (true) {
    RKV_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines.next());
    if (!line) break;
    const std::vector<std::string> fields = words_of(*line);
    const Result<int64_t> frequency =
        fields.size() < 2 ? Result<int64_t>(data_loss("too few")) : parse_int64(fields[1]);
    if (!frequency.ok() || *frequency < 0) {
      return data_loss(
          fmt::format("{}: got {}, expected a word and how often it occurs", lines.where(), ripplekv::quoted(*line)));
    }
    const std::u32string word = to_characters(fields[0]);
    frequencies_[word] = *frequency;
    total += *frequency;
    for (size_t n = 1; n < word.size(); ++n) frequencies_.try_emplace(word.substr(0, n), 0);
  }
  if (total == 0) return data_loss(fmt::format("{}: got no words, expected jieba's dictionary", path));
  log_total_ = std::log(static_cast<double>(total));
  return ok_status();
}

Status Jieba::read_model(const std::string& folder) {
  RKV_ASSIGN_OR_RETURN(const nlohmann::json start, read_table(folder + "/prob_start.py"));
  RKV_ASSIGN_OR_RETURN(const nlohmann::json transition, read_table(folder + "/prob_trans.py"));
  RKV_ASSIGN_OR_RETURN(const nlohmann::json emission, read_table(folder + "/prob_emit.py"));
  const JsonObject starts(start, folder + "/prob_start.py");
  const JsonObject transitions(transition, folder + "/prob_trans.py");
  const JsonObject emissions(emission, folder + "/prob_emit.py");
  for (size_t i = 0; i < kStates; ++i) {
    const std::string state(1, kStateNames[i]);
    RKV_ASSIGN_OR_RETURN(start_[i], starts.number(state));
    RKV_ASSIGN_OR_RETURN(const JsonObject next, transitions.object(state));
    for (size_t j = 0; j < kStates; ++j) {
      const std::string to(1, kStateNames[j]);
      transition_[i][j] = kImpossible;
      if (!next.has(to)) continue;
      RKV_ASSIGN_OR_RETURN(transition_[i][j], next.number(to));
    }
    RKV_ASSIGN_OR_RETURN(const JsonObject characters, emissions.object(state));
    for (const auto& [key, value] : emission[state].items()) {
      const std::u32string c = to_characters(key);
      if (c.size() != 1) return characters.error(key, "got a key of several characters, expected one");
      RKV_ASSIGN_OR_RETURN(emission_[i][c[0]], characters.number(key));
    }
  }
  return ok_status();
}

int64_t Jieba::frequency(std::u32string_view word) const {
  const auto it = frequencies_.find(word);
  return it == frequencies_.end() ? -1 : it->second;
}

double Jieba::emission(State state, char32_t c) const {
  const auto it = emission_[state].find(c);
  return it == emission_[state].end() ? kImpossible : it->second;
}

std::vector<std::string> Jieba::cut(std::string_view utf8) const {
  const std::u32string characters = to_characters(utf8);
  const std::u32string_view text = characters;
  std::vector<std::u32string> words;
  for (size_t at = 0; at < text.size();) {
    if (const size_t end = end_of(text, at, is_in_run); end > at) {
      cut_run(text.substr(at, end - at), words);
      at = end;
    } else {
      const size_t n = text.substr(at, 2) == U"\r\n" ? 2 : 1;
      words.emplace_back(text.substr(at, n));
      at += n;
    }
  }
  std::vector<std::string> out;
  out.reserve(words.size());
  for (const std::u32string& word : words) out.push_back(to_utf8(word));
  return out;
}

void Jieba::cut_run(std::u32string_view run, std::vector<std::u32string>& words) const {
  struct Way {
    double log_probability = 0;  // of the best way from here to the end
    size_t end = 0;              // of its first word
  };
  std::vector<Way> ways(run.size() + 1);
  for (size_t i = run.size(); i-- > 0;) {
    bool any = false;
    const auto consider = [&](size_t end, int64_t frequency) {
      const double log_frequency = std::log(static_cast<double>(std::max<int64_t>(frequency, 1)));
      const double log_probability = log_frequency - log_total_ + ways[end].log_probability;
      if (!any || log_probability >= ways[i].log_probability) ways[i] = {log_probability, end};
      any = true;
    };
    for (size_t end = i + 1; end <= run.size(); ++end) {
      const int64_t n = frequency(run.substr(i, end - i));
      if (n < 0) break;
      if (n > 0) consider(end, n);
    }
    if (!any) consider(i + 1, 0);
  }
  size_t single_begin = 0;  // of the single characters not written yet
  for (size_t at = 0; at < run.size(); at = ways[at].end) {
    if (ways[at].end - at == 1) continue;
    cut_unknown(run.substr(single_begin, at - single_begin), words);
    words.emplace_back(run.substr(at, ways[at].end - at));
    single_begin = ways[at].end;
  }
  cut_unknown(run.substr(single_begin), words);
}

// Characters that stand alone on the best way.
void Jieba::cut_unknown(std::u32string_view run, std::vector<std::u32string>& words) const {
  if (run.size() < 2 || frequency(run) > 0) {
    for (const char32_t c : run) words.emplace_back(1, c);
    return;
  }
  for (size_t at = 0; at < run.size();) {
    size_t end = end_of(run, at, is_han);
    if (end > at) {
      cut_by_model(run.substr(at, end - at), words);
    } else if (end = end_of(run, at, is_ascii_alnum); end > at) {
      // A number may go on behind its point, and end with a per cent sign.
      const auto is_ascii_digit = [](char32_t c) { return c >= U'0' && c <= U'9'; };
      if (end < run.size() && run[end] == U'.') {
        const size_t fraction_end = end_of(run, end + 1, is_ascii_digit);
        if (fraction_end > end + 1) end = fraction_end;
      }
      if (end < run.size() && run[end] == U'%') ++end;
      words.emplace_back(run.substr(at, end - at));
    } else {
      end = end_of(run, at, [](char32_t c) { return !is_han(c) && !is_ascii_alnum(c); });
      words.emplace_back(run.substr(at, end - at));
    }
    at = end;
  }
}

void Jieba::cut_by_model(std::u32string_view run, std::vector<std::u32string>& words) const {
  // What can stand before each state, in the order of State.
  constexpr std::array<std::array<State, 2>, kStates> kBefore = {
      {{kEnd, kSingle}, {kBegin, kMiddle}, {kBegin, kMiddle}, {kEnd, kSingle}}};
  using Column = std::array<double, kStates>;
  std::vector<std::array<State, kStates>> came_from(run.size());
  Column column{};
  for (size_t s = 0; s < kStates; ++s) column[s] = start_[s] + emission(static_cast<State>(s), run[0]);
  for (size_t i = 1; i < run.size(); ++i) {
    Column next{};
    for (size_t s = 0; s < kStates; ++s) {
      const double emitted = emission(static_cast<State>(s), run[i]);
      const auto through = [&](State before) { return column[before] + transition_[before][s] + emitted; };
      const auto [first, second] = kBefore[s];
      const bool is_second = through(second) >= through(first);  // the later one where they are equal
      came_from[i][s] = is_second ? second : first;
      next[s] = is_second ? through(second) : through(first);
    }
    column = next;
  }
  std::vector<State> states(run.size());
  states.back() = column[kSingle] >= column[kEnd] ? kSingle : kEnd;
  for (size_t i = run.size() - 1; i > 0; --i) states[i - 1] = came_from[i][states[i]];
  size_t begin = 0;
  for (size_t i = 0; i < run.size(); ++i) {
    if (states[i] == kBegin) begin = i;
    if (states[i] == kEnd) words.emplace_back(run.substr(begin, i + 1 - begin));
    if (states[i] == kSingle) words.emplace_back(1, run[i]);
  }
}

}  // namespace ripplekv
