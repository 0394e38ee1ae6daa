// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The formulas of LongBench's metrics.py (Bai et al. 2023), RULER's string match (Hsieh et al. 2024) and L-Eval's
// exact match (An et al. 2023), written from what they compute.
#include "eval/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "eval/jieba.h"
#include "eval/python_text.h"
#include "eval/similarity.h"

namespace ripplekv {
namespace {

using Words = std::vector<std::string>;

// Harmonic mean of precision and recall over the words both have, each as often as both have it.
double token_f1(const Words& predicted, const Words& wanted) {
  std::map<std::string_view, int64_t> left;
  for (const std::string& word : wanted) ++left[word];
  int64_t n_common = 0;
  for (const std::string& word : predicted) {
    const auto it = left.find(word);
    if (it == left.end() || it->second == 0) continue;
    --it->second;
    ++n_common;
  }
  if (n_common == 0) return 0;
  const double precision = static_cast<double>(n_common) / static_cast<double>(predicted.size());
  const double recall = static_cast<double>(n_common) / static_cast<double>(wanted.size());
  return 2 * precision * recall / (precision + recall);
}

// SQuAD's normalisation: lower case, no ASCII punctuation, no article that stands as a word.
Words plain_words(std::string_view text) {
  std::u32string kept;
  for (const char32_t c : lower(to_characters(text))) {
    if (!is_ascii_punctuation(c)) kept += c;
  }
  constexpr std::array<std::u32string_view, 3> kArticles = {U"a", U"an", U"the"};
  std::u32string out;
  for (size_t at = 0; at < kept.size();) {
    size_t end = at;
    while (end < kept.size() && is_word_character(kept[end])) ++end;
    const std::u32string_view word = std::u32string_view(kept).substr(at, end - at);
    if (std::find(kArticles.begin(), kArticles.end(), word) != kArticles.end()) {
      out += U' ';
    } else {
      out += word;
    }
    if (end < kept.size()) out += kept[end++];
    at = end;
  }
  return words_of(to_utf8(out));
}

Result<double> qa_f1(const MetricPair& pair) {
  return token_f1(plain_words(pair.prediction), plain_words(pair.answer));
}

// Characters that are dropped from Chinese words: ASCII punctuation, and what LongBench lists (without U+300A and
// U+FF0E, whose counterparts are in it).
bool is_dropped_zh(char32_t c) {
  if (c < 0x80) return is_ascii_punctuation(c);
  constexpr std::u32string_view kSingle = U"\u3030\uFE4F\uFF0F";
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return in(0x2013, 0x2014) || in(0x2018, 0x2019) || in(0x201B, 0x201F) || in(0x2026, 0x2027) || in(0x3001, 0x3003) ||
         in(0x300B, 0x3011) || in(0x3014, 0x301F) || in(0x303E, 0x303F) || in(0xFF01, 0xFF0D) || in(0xFF1A, 0xFF20) ||
         in(0xFF3B, 0xFF40) || in(0xFF5B, 0xFF64) || kSingle.find(c) != std::u32string_view::npos;
}

Result<Words> plain_words_zh(std::string_view text) {
  RKV_ASSIGN_OR_RETURN(const Jieba* jieba, Jieba::installed());
  Words words;
  for (const std::string& word : jieba->cut(text)) {
    std::u32string kept;
    for (const char32_t c : lower(to_characters(word))) {
      if (!is_dropped_zh(c) && !is_space(c)) kept += c;
    }
    if (!kept.empty()) words.push_back(to_utf8(kept));
  }
  return words;
}

Result<double> qa_f1_zh(const MetricPair& pair) {
  RKV_ASSIGN_OR_RETURN(const Words predicted, plain_words_zh(pair.prediction));
  RKV_ASSIGN_OR_RETURN(const Words wanted, plain_words_zh(pair.answer));
  return token_f1(predicted, wanted);
}

Result<double> rouge_of(const MetricPair& pair) { return rouge_l(pair.prediction, pair.answer); }

Result<double> rouge_zh(const MetricPair& pair) {
  RKV_ASSIGN_OR_RETURN(const Jieba* jieba, Jieba::installed());
  return rouge_l(fmt::format("{}", fmt::join(jieba->cut(pair.prediction), " ")),
                 fmt::format("{}", fmt::join(jieba->cut(pair.answer), " ")));
}

// The share of the right class among the classes named. A named class that is part of the answer's name is taken back;
// the published loop steps over the class after it, and so does this.
Result<double> classification(const MetricPair& pair) {
  if (pair.classes.empty()) return invalid_argument("classification: got no classes, expected all there are");
  std::vector<std::string_view> named;
  for (const std::string& name : pair.classes) {
    if (pair.prediction.find(name) != std::string_view::npos) named.push_back(name);
  }
  for (size_t i = 0; i < named.size(); ++i) {
    const std::string_view name = named[i];
    if (name == pair.answer || pair.answer.find(name) == std::string_view::npos) continue;
    named.erase(std::find(named.begin(), named.end(), name));
  }
  if (std::find(named.begin(), named.end(), pair.answer) == named.end()) return 0.0;
  return 1.0 / static_cast<double>(named.size());
}

// The share of the numbers named that are the right one.
double share_of_numbers(std::string_view prediction, std::string_view number) {
  const std::vector<std::string> numbers = digit_runs(prediction);
  if (numbers.empty()) return 0;
  const auto n_right = std::count(numbers.begin(), numbers.end(), number);
  return static_cast<double>(n_right) / static_cast<double>(numbers.size());
}

Result<double> share_of_paragraphs(const MetricPair& pair, std::string_view label) {
  for (size_t at = pair.answer.find(label); at != std::string_view::npos; at = pair.answer.find(label, at + 1)) {
    const std::string_view rest = pair.answer.substr(at + label.size());
    const std::vector<std::string> numbers = digit_runs(rest);
    if (!numbers.empty() && rest.starts_with(numbers.front())) {
      return share_of_numbers(pair.prediction, numbers.front());
    }
  }
  return invalid_argument(
      fmt::format("answer: got {}, expected '{}' and a number in it", ripplekv::quoted(pair.answer), label));
}

Result<double> retrieval(const MetricPair& pair) { return share_of_paragraphs(pair, "Paragraph "); }
Result<double> retrieval_zh(const MetricPair& pair) { return share_of_paragraphs(pair, "段落"); }
Result<double> count(const MetricPair& pair) { return share_of_numbers(pair.prediction, pair.answer); }

// The first line that is no comment and no fence, empty ones included once the answer has begun.
std::string_view code_line(std::string_view text) {
  const size_t begin = text.find_first_not_of('\n');
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  while (true) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.find_first_of("`#") == std::string_view::npos && line.find("//") == std::string_view::npos) return line;
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
}

Result<double> code_sim(const MetricPair& pair) {
  RKV_ASSIGN_OR_RETURN(const int per_cent, fuzz_ratio(code_line(pair.prediction), pair.answer));
  return per_cent / 100.0;
}

Result<double> string_match(const MetricPair& pair) {
  return lower(pair.prediction).find(lower(pair.answer)) == std::string::npos ? 0.0 : 1.0;
}

// ---- L-Eval's closed-ended questions ----

constexpr std::string_view kOptions = "ABCDEFGH";

bool is_ascii_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

bool are_options(std::string_view word) {
  return !word.empty() && word.find_first_not_of(kOptions) == std::string_view::npos;
}

// "A boy came": no option.
bool is_article(std::string_view word, std::string_view rest) {
  return word == "A" && rest.size() >= 2 && rest[0] == ' ' && rest[1] >= 'a' && rest[1] <= 'z';
}

// The letters of the options that one line chooses: all that stand in brackets, "(B)"; or else the first word of option
// letters, "BD" or "A.", and those joined to it by commas, slashes, "and", "or". Empty: none.
std::set<char> options_of_line(std::string_view line) {
  std::set<char> options;
  for (size_t at = line.find('('); at != std::string_view::npos; at = line.find('(', at + 1)) {
    const std::string_view word = line.substr(at + 1, line.find(')', at) - at - 1);
    if (line.find(')', at) != std::string_view::npos && are_options(word)) options.insert(word.begin(), word.end());
  }
  if (!options.empty()) return options;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && (is_ascii_alnum(line[end]) || line[end] == '\'')) ++end;
    const std::string_view word = line.substr(at, end - at);
    if (word.empty()) {
      if (!options.empty() && std::string_view(" ,/&").find(line[at]) == std::string_view::npos) break;
      ++at;
      continue;
    }
    if (are_options(word) && !is_article(word, line.substr(end))) {
      options.insert(word.begin(), word.end());
    } else if (!options.empty() && word != "and" && word != "or") {
      break;
    }
    at = end;
  }
  return options;
}

// Of the first line that chooses any.
std::set<char> options_of(std::string_view text) {
  while (true) {
    const size_t end = text.find('\n');
    std::set<char> options = options_of_line(text.substr(0, end));
    if (!options.empty() || end == std::string_view::npos) return options;
    text.remove_prefix(end + 1);
  }
}

std::string without_space(std::string_view text) {
  std::u32string kept;
  for (const char32_t c : lower(to_characters(text))) {
    if (!is_space(c)) kept += c;
  }
  return to_utf8(kept);
}

// An answer that begins with option letters ("BD", "(B) because") is matched as a set of letters, any other one as text
// that the first line holds, any case and white space.
Result<double> choice(const MetricPair& pair) {
  const size_t begin = pair.answer.find_first_not_of(" \t\n(");
  const std::string_view word = begin == std::string_view::npos ? "" : pair.answer.substr(begin);
  const size_t n_letters = std::min(word.find_first_not_of(kOptions), word.size());
  if (n_letters > 0 && (n_letters == word.size() || !is_ascii_alnum(word[n_letters]))) {
    const std::set<char> wanted(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(n_letters));
    return options_of(pair.prediction) == wanted ? 1.0 : 0.0;
  }
  std::string_view prediction = pair.prediction;
  prediction.remove_prefix(std::min(prediction.find_first_not_of(" \t\r\n"), prediction.size()));
  const std::string wanted = without_space(pair.answer);
  const bool holds = without_space(prediction.substr(0, prediction.find('\n'))).find(wanted) != std::string::npos;
  return !wanted.empty() && holds ? 1.0 : 0.0;
}

constexpr std::array kMetrics = {
    MetricInfo{"qa_f1", "F1 of words without punctuation and articles", qa_f1},
    MetricInfo{"qa_f1_zh", "F1 of Chinese words without punctuation", qa_f1_zh, false, true},
    MetricInfo{"rouge_l", "ROUGE-L, F", rouge_of},
    MetricInfo{"rouge_zh", "ROUGE-L of Chinese words, F", rouge_zh, false, true},
    MetricInfo{"classification", "1 / classes named, if the right one is among them", classification},
    MetricInfo{"retrieval", "share of the numbers named that are the paragraph's", retrieval},
    MetricInfo{"retrieval_zh", "the same where the answer is in Chinese", retrieval_zh},
    MetricInfo{"count", "share of the numbers named that are the answer", count},
    MetricInfo{"code_sim", "similarity of the first line of code", code_sim},
    MetricInfo{"string_match_all", "share of the answers that stand in the text", string_match, true},
    MetricInfo{"string_match_part", "whether one of the answers stands in the text", string_match},
    MetricInfo{"choice", "whether exactly the right options are chosen", choice},
};

}  // namespace

std::span<const MetricInfo> metric_registry() { return kMetrics; }

Result<const MetricInfo*> find_metric(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MetricInfo& metric : kMetrics) {
    names.push_back(metric.name);
    if (metric.name != name) continue;
    if (metric.segments_chinese) RKV_RETURN_IF_ERROR(Jieba::installed().status());
    return &metric;
  }
  return invalid_argument(
      fmt::format("unknown metric: got {}, expected {}", ripplekv::quoted(name), fmt::join(names, ", ")));
}

}  // namespace ripplekv
