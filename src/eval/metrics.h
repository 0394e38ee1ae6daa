// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The metrics of the suites, one prediction against one answer: pure functions from text to a score of 0 to 1 that
// agree with the published programs (docs/eval.md says which, and where each formula comes from). What is cut off a
// prediction before, and what becomes of several answers, is score_answer()'s business (suite.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ripplekv/status.h"

namespace ripplekv {

struct MetricPair {
  std::string_view prediction;
  std::string_view answer;
  std::span<const std::string> classes;  // classification alone
};

struct MetricInfo {
  std::string_view name;
  std::string_view summary;
  Result<double> (*score)(const MetricPair& pair);
  bool mean_of_answers = false;  // over several answers: the mean, not the best
  bool segments_chinese = false;
};
std::span<const MetricInfo> metric_registry();

// Errors: no such metric (with all there are); one that segments Chinese where jieba's tables are not found.
Result<const MetricInfo*> find_metric(std::string_view name);

}  // namespace ripplekv
