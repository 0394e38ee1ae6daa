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

// A policy in a question mode: what has a colour in figures and rows in tables of its own.
struct Contender {
  std::string policy;
  QuestionMode question = QuestionMode::kAware;
  std::string name;  // the policy, and the mode where modes are told apart
  bool is(const std::string& other_policy, QuestionMode other) const {
    return policy == other_policy && question == other;
  }
};
std::vector<Contender> contenders_of(const Evaluation& evaluation);  // policies as below, each aware and agnostic
bool modes_apart(const Evaluation& evaluation);                      // as eval's table: any line is agnostic

// A contender at a kept fraction, in the order of the tables: fractions ascending, contenders as above.
struct Run {
  Contender of;
  double kept = 1;
  std::vector<const ResultLine*> lines;  // one for each sample, the last of the file; failed ones too
};
std::vector<Run> runs_of(const Evaluation& evaluation);
std::vector<std::string> policies_of(const Evaluation& evaluation);  // in the order of the file

// The first columns of every table that has a row for each run, and their cells.
std::vector<std::string> run_columns(bool apart, const std::vector<std::string>& more);
std::vector<Cell> run_cells(double kept, const std::string& policy, QuestionMode question, bool apart);

// Means of the scores by group and by task, as the suite's paper has them. Empty without scores.
std::vector<Table> score_tables(const Evaluation& evaluation, const std::vector<Run>& runs);
std::optional<Figure> score_figure(const std::vector<Run>& runs, const std::vector<Contender>& contenders,
                                   const std::string& kept_label);
// Depth by length, a panel for each run: scores, or KL where answers were not scored. Other suites: none.
std::optional<Figure> needle_figure(const Evaluation& evaluation, const std::vector<Run>& runs);

}  // namespace ripplekv
