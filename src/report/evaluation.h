// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Parts of an evaluation's section, private to src/report/: scores as the suite's tables have them, and the needle's
// heat map. Fidelity, comparisons and the section itself: evaluation_section.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/inputs.h"

namespace ripplekv {

// A policy at a kept fraction, in the order of the tables: fractions ascending, policies in the order of the file.
struct Run {
  std::string policy;
  double kept = 1;
  std::vector<const ResultLine*> lines;  // one for each sample, the last of the file; failed ones too
};
std::vector<Run> runs_of(const Evaluation& evaluation);
std::vector<std::string> policies_of(const Evaluation& evaluation);  // in the order of the file

// Means of the scores by group and by task, as the suite's paper has them. Empty without scores.
std::vector<Table> score_tables(const Evaluation& evaluation, const std::vector<Run>& runs);
std::optional<Figure> score_figure(const std::vector<Run>& runs, const std::vector<std::string>& policies,
                                   const std::string& kept_label);
// Depth by length, a panel for each run: scores, or KL where answers were not scored. Other suites: none.
std::optional<Figure> needle_figure(const Evaluation& evaluation, const std::vector<Run>& runs);

}  // namespace ripplekv
