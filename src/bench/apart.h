// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A measurement in a process of its own: what it loads, maps and allocates is counted from nothing, and is gone after
// it. POSIX.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "ripplekv/status.h"

namespace ripplekv {

// Forks, and returns what `work` returned there; its error is the child's. kResourceExhausted if the child was killed.
// REQUIRES: this process has computed no graph yet: a fork has none of the threads that ggml's pool believes in.
Result<nlohmann::json> run_apart(const std::function<Result<nlohmann::json>()>& work);

}  // namespace ripplekv
