// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Samples of RULER's tasks and of the needle grid at any length, made here: the tasks' structure and parameters are
// those of the paper (Hsieh et al. 2024), the words are ours. The same options and counter give the same samples; a
// sample depends on seed, task, length, depth and its number alone. Private to src/eval/.
#pragma once

#include "eval/suite.h"

namespace ripplekv {

// REQUIRES: no data_dir. Errors: no lengths, no counter, a length too short for the task (with the shortest), qa_1 or
// qa_2 by name (their questions come from files alone; without names they are left out).
Result<std::vector<EvalSample>> generate_ruler(const SuiteInfo& suite, const SuiteOptions& options);

}  // namespace ripplekv
