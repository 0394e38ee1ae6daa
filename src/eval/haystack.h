// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What generated samples are made of: running text with places where a sentence can be put in, names that are not used
// twice, and the search for as much text as a length allows. Text from a seed, the same bytes on every platform; every
// word here was written for this project. Private to src/eval/.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ripplekv/status.h"

namespace ripplekv {

// Text and the places, ascending byte offsets, where a sentence may be put in: before the first unit, after the second,
// and so on. A unit (sentences, a repetition) is what a haystack is made longer by.
struct Haystack {
  std::string text;
  std::vector<size_t> places;  // places[0] is 0, the last is text.size(); units lie between
  int64_t n_unit() const { return static_cast<int64_t>(places.size()) - 1; }
};

// Paragraphs of the built-in calibration set (reports, stories, letters and so on), at least n_bytes.
Haystack prose_haystack(uint64_t seed, int64_t n_bytes);
// The same few sentences over and over.
Haystack noise_haystack(int64_t n_unit);

// The first n_unit units of `haystack` with each sentence put in at its place: sentences[i] at the place nearest to
// depths[i] of the bytes, in [0, 1]. Sentences at the same place keep their order.
// REQUIRES: as many depths as sentences, n_unit <= haystack.n_unit().
std::string with_sentences(const Haystack& haystack, int64_t n_unit, const std::vector<std::string>& sentences,
                           const std::vector<double>& depths);

// Names and values that are drawn once each.
class Names {
 public:
  explicit Names(uint64_t seed) : random_(seed) {}

  std::string word();                      // "quiet-lantern", of more parts when those run short
  std::string short_word();                // "lantern", none a part of another; word() when those run short
  std::string number(int n_digit);         // does not begin with 0
  std::string uuid();                      // 8-4-4-4-12 hexadecimal digits
  std::string letters(char first, int n);  // n of the 26 from `first`

  Random& random() { return random_; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_.below(i)]);
  }

 private:
  template <class Draw>
  std::string once(Draw draw);

  Random random_;
  std::set<std::string> used_;
  size_t n_word_ = 0;
  size_t n_short_word_ = 0;
};

// A prompt in two parts and what is asked for.
struct Draft {
  std::string document;
  std::string question;
  std::vector<std::string> answers;
};

// The draft of as many units as fit n_token_max with no more than 1% of it unused, or one unit too few.
// `draft` gives longer texts for more units. Errors: n_unit_min units do not fit; n_unit_max leave more unused.
Result<Draft> fit_draft(const std::function<Draft(int64_t n_unit)>& draft, int64_t n_unit_min, int64_t n_unit_max,
                        int64_t n_token_max, const std::function<int64_t(std::string_view)>& count_tokens);

}  // namespace ripplekv
