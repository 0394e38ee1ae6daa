// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the lines of a results file say together: per policy, question and kept fraction means, medians, worst samples,
// and paired comparisons with a baseline on the same samples. Pure; where the lines come from is results.h's business.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "eval/results.h"

namespace ripplekv {

struct SummaryRow {
  std::string policy;
  QuestionMode question = QuestionMode::kAware;
  double kept = 1;
  int n_sample = 0;    // measured
  int n_compared = 0;  // of these, what KL and top-1 are of (ResultLine::compared)
  int n_failed = 0;
  double rows = 0;  // means over samples
  double bytes = 0;
  double held = -1;  // mean of ResultLine::held; -1: the lines do not say
  Interval kl;       // mean, with its 95% bootstrap interval
  double kl_median = 0;
  double kl_worst = 0;
  std::string worst_sample;
  Interval top1;
  double nll = 0;
  double score = -1;  // mean of 0 to 1; -1: not scored
  // To the baseline at the same kept fraction and question over the samples both have; 0 pairs: none.
  int n_pair = 0;
  Interval kl_ratio;  // mean KL over the baseline's mean KL
  double sign_p = 1;  // two-sided sign test of the pairs' KL
};

struct Summary {
  std::string baseline;
  std::vector<SummaryRow> rows;  // kept fractions ascending, policies in the order asked for, each aware and agnostic
};

// policies: those to be listed. baseline: empty for the first of them that is not full.
Summary summarise(const std::vector<ResultLine>& lines, const std::vector<std::string>& policies,
                  const std::string& baseline);

std::string summary_table(const Summary& summary);  // Markdown
nlohmann::ordered_json summary_json(const Summary& summary);

}  // namespace ripplekv
