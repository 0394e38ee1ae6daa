// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Both go through a table or a search of |a| * |b| steps, so the product is bounded.
#include "eval/similarity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/python_text.h"

namespace ripplekv {
namespace {

constexpr uint64_t kStepsMax = uint64_t{1} << 28;

Status check_steps(size_t n_a, size_t n_b, std::string_view unit) {
  if (n_b == 0 || n_a <= kStepsMax / n_b) return ok_status();
  return resource_exhausted(fmt::format("too long to compare: got {} {} and {}, expected a product of at most {}", n_a,
                                        unit, n_b, kStepsMax));
}

// ---- ROUGE-L ----

using Sentence = std::vector<int>;  // words by number

class Numbering {
 public:
  int of(const std::string& word) { return numbers_.emplace(word, static_cast<int>(numbers_.size())).first->second; }

 private:
  std::map<std::string, int> numbers_;
};

std::vector<Sentence> sentences_of(std::string_view text, Numbering& numbering) {
  std::vector<Sentence> sentences;
  while (true) {
    const size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (!part.empty()) {
      Sentence& sentence = sentences.emplace_back();
      for (const std::string& word : words_of(part)) sentence.push_back(numbering.of(word));
      if (sentence.empty()) sentence.push_back(numbering.of(""));  // white space alone is one empty word
    }
    if (dot == std::string_view::npos) return sentences;
    text.remove_prefix(dot + 1);
  }
}

std::set<int> words_in(const std::vector<Sentence>& sentences) {
  std::set<int> words;
  for (const Sentence& sentence : sentences) words.insert(sentence.begin(), sentence.end());
  return words;
}

// Adds the words of one longest common subsequence. Which of several it is matters to the union: going back, a word is
// dropped from y unless dropping it from x leaves strictly more.
void add_common(const Sentence& x, const Sentence& y, std::set<int>& common) {
  const size_t width = y.size() + 1;
  enum Step : uint8_t { kBoth, kDropX, kDropY };
  std::vector<uint8_t> steps((x.size() + 1) * width, kDropY);
  std::vector<uint32_t> above(width, 0);
  std::vector<uint32_t> row(width, 0);
  for (size_t i = 1; i <= x.size(); ++i) {
    for (size_t j = 1; j <= y.size(); ++j) {
      uint8_t& step = steps[i * width + j];
      if (x[i - 1] == y[j - 1]) {
        step = kBoth;
        row[j] = above[j - 1] + 1;
      } else {
        step = above[j] > row[j - 1] ? kDropX : kDropY;
        row[j] = std::max(above[j], row[j - 1]);
      }
    }
    std::swap(above, row);
  }
  for (size_t i = x.size(), j = y.size(); i > 0 && j > 0;) {
    const uint8_t step = steps[i * width + j];
    if (step == kBoth) common.insert(x[i - 1]);
    if (step != kDropY) --i;
    if (step != kDropX) --j;
  }
}

// ---- difflib ----

using Positions = std::unordered_map<char32_t, std::vector<size_t>>;

struct Span {
  size_t a_begin, a_end, b_begin, b_end;
};

struct Match {
  size_t a = 0, b = 0, n = 0;
};

// The longest block within the span; of several, the earliest in a, then in b.
Match longest_match(std::u32string_view a, std::u32string_view b, const Positions& places, const Span& span) {
  Match best{span.a_begin, span.b_begin, 0};
  std::unordered_map<size_t, size_t> length_at;  // of the block that ends at a[i - 1], b[j]
  for (size_t i = span.a_begin; i < span.a_end; ++i) {
    std::unordered_map<size_t, size_t> next;
    if (const auto it = places.find(a[i]); it != places.end()) {
      for (const size_t j : it->second) {
        if (j < span.b_begin) continue;
        if (j >= span.b_end) break;
        const auto before = j == 0 ? length_at.end() : length_at.find(j - 1);
        const size_t n = (before == length_at.end() ? 0 : before->second) + 1;
        next[j] = n;
        if (n > best.n) best = {i + 1 - n, j + 1 - n, n};
      }
    }
    length_at = std::move(next);
  }
  // Characters that start no block may lengthen one.
  while (best.a > span.a_begin && best.b > span.b_begin && a[best.a - 1] == b[best.b - 1]) {
    best = {best.a - 1, best.b - 1, best.n + 1};
  }
  while (best.a + best.n < span.a_end && best.b + best.n < span.b_end && a[best.a + best.n] == b[best.b + best.n]) {
    ++best.n;
  }
  return best;
}

size_t n_matching(std::u32string_view a, std::u32string_view b) {
  constexpr size_t kManyCharacters = 200;
  Positions places;
  for (size_t j = 0; j < b.size(); ++j) places[b[j]].push_back(j);
  if (b.size() >= kManyCharacters) {
    std::erase_if(places, [&](const auto& item) { return item.second.size() > b.size() / 100 + 1; });
  }
  size_t n = 0;
  std::vector<Span> todo = {{0, a.size(), 0, b.size()}};
  while (!todo.empty()) {
    const Span span = todo.back();
    todo.pop_back();
    const Match match = longest_match(a, b, places, span);
    if (match.n == 0) continue;
    n += match.n;
    if (span.a_begin < match.a && span.b_begin < match.b)
      todo.push_back({span.a_begin, match.a, span.b_begin, match.b});
    if (match.a + match.n < span.a_end && match.b + match.n < span.b_end) {
      todo.push_back({match.a + match.n, span.a_end, match.b + match.n, span.b_end});
    }
  }
  return n;
}

}  // namespace

Result<double> rouge_l(std::string_view prediction, std::string_view answer) {
  Numbering numbering;
  const std::vector<Sentence> predicted = sentences_of(prediction, numbering);
  const std::vector<Sentence> wanted = sentences_of(answer, numbering);
  if (predicted.empty() || wanted.empty()) return 0.0;
  const auto n_words = [](const std::vector<Sentence>& sentences) {
    size_t n = 0;
    for (const Sentence& sentence : sentences) n += sentence.size() + 1;  // and the border of the table
    return n;
  };
  RKV_RETURN_IF_ERROR(check_steps(n_words(predicted), n_words(wanted), "words"));
  std::set<int> common;
  for (const Sentence& reference : wanted) {
    for (const Sentence& sentence : predicted) add_common(reference, sentence, common);
  }
  const auto n_common = static_cast<double>(common.size());
  const double recall = n_common / static_cast<double>(words_in(wanted).size());
  const double precision = n_common / static_cast<double>(words_in(predicted).size());
  constexpr double kNotZero = 1e-8;  // the package's own
  return 2.0 * ((precision * recall) / (precision + recall + kNotZero));
}

Result<int> fuzz_ratio(std::string_view a_utf8, std::string_view b_utf8) {
  if (a_utf8 == b_utf8) return 100;
  const std::u32string a = to_characters(a_utf8);
  const std::u32string b = to_characters(b_utf8);
  if (a.empty() || b.empty()) return 0;
  RKV_RETURN_IF_ERROR(check_steps(a.size(), b.size(), "characters"));
  const double ratio = 2.0 * static_cast<double>(n_matching(a, b)) / static_cast<double>(a.size() + b.size());
  return static_cast<int>(std::nearbyint(100 * ratio));  // halves to even, as Python's round()
}

}  // namespace ripplekv
