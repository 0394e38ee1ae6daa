// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Two similarities that metrics stand on, each as the Python package that the published scores come from computes it:
// ROUGE-L of `rouge` 1.0.1, fuzz.ratio of `fuzzywuzzy` over Python's difflib. Private to src/eval/. Pure functions.
#pragma once

#include <string_view>

#include "ripplekv/status.h"

namespace ripplekv {

// F of the summary-level ROUGE-L (Lin 2004): over the union of the longest common subsequences of every pair of
// sentences, as sets of words; a sentence ends at '.', words at white space. 0 where either text has no sentence.
// Error: texts too long to compare.
Result<double> rouge_l(std::string_view prediction, std::string_view answer);

// Whole per cent, 0 to 100: twice the characters in matching blocks over all characters (Ratcliff, Metzener 1988).
// Not symmetric. From 200 characters of `b` on, those that are more than 1% of it do not start a block, as in difflib.
// Error: texts too long to compare.
Result<int> fuzz_ratio(std::string_view a, std::string_view b);

}  // namespace ripplekv
