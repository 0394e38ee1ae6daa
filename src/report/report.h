// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From inputs to a document: which figures and tables there are, and what they say. A section whose input is missing is
// left out, and so is a figure without a mark. Pure but for what inputs.h reads; forms of the document: document.h.
#pragma once

#include "report/document.h"
#include "report/inputs.h"
#include "ripplekv/status.h"

namespace ripplekv {

// Errors: a budgets file without rows for a prompt of that length (file named); a baseline that no evaluation has.
Result<Report> make_report(const ReportInputs& inputs);

// Of make_report(), one for each kind of input.
Section profile_section(const Profile& profile);
Result<Section> budgets_section(const ReportInputs& inputs);
Section evaluation_section(const Evaluation& evaluation, const std::string& baseline);
// The best policy at each kept fraction beside the baseline.
std::vector<Fact> evaluation_highlights(const Evaluation& evaluation, const std::string& baseline);
Section validation_section(const Validation& validation);
Section bench_section(const std::vector<BenchRow>& rows);

}  // namespace ripplekv
