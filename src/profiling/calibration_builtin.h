// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The default calibration set: long English documents with questions, made from a grammar. They resemble what people
// put into long prompts (reports, minutes, stories, articles, handbooks, registers, listings, correspondence): a cast
// of people, places, things and numbers that comes back all through a document, so that far rows matter. Pure: text
// from a seed, the same bytes on every platform; no files, no tokenizer. Changing a word changes every profile made
// from it, so raise kBuiltinCalibrationVersion.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profiling/calibration.h"

namespace ripplekv {

inline constexpr int kBuiltinCalibrationVersion = 1;

// Text form only. Sample i depends on seed, i and target_tokens alone: a larger set begins with the smaller one.
// Eight samples in a row are of eight genres. The id is "builtin:<index>:<genre>:<kind>", where kind says the question:
//   fact: one fact; `answer` stands in the document as it is, in its first or last 35% where there is one to ask for,
//     so that cutting the middle out leaves it
//   combine: the sum of two numbers, or two facts at once
//   changed: what a later passage corrected, from what to what
//   list: everybody or everything the opening names
//   summary: the whole document
// The document has at least target_tokens * 4.2 characters, which is enough for any usual vocabulary (measured with
// SmolLM2's: 3.1 to 4.0 characters per token), and one paragraph more at most; the shortest has two paragraphs.
// REQUIRES: n_samples >= 0, target_tokens in [1, 2^24].
std::vector<CalibrationSample> builtin_calibration(int n_samples, uint64_t seed, int64_t target_tokens);

}  // namespace ripplekv
