// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One reader or generator per suite, behind read_suite(). Private to src/eval/.
#pragma once

#include "eval/suite.h"

namespace ripplekv {

Result<std::vector<EvalSample>> read_longbench(const SuiteInfo& suite, const SuiteOptions& options);
Result<std::vector<EvalSample>> read_leval(const SuiteInfo& suite, const SuiteOptions& options);
Result<std::vector<EvalSample>> read_ruler(const SuiteInfo& suite, const SuiteOptions& options);  // files or generated
Result<std::vector<EvalSample>> generate_needle(const SuiteInfo& suite, const SuiteOptions& options);

}  // namespace ripplekv
