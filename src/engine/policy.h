// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A policy as the user names it (selector, allocator, budget, kv format) -> Budgets. Pure: no graph, no files.
#pragma once

#include <string>

#include "ripplekv/budgets.h"
#include "ripplekv/profile.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct Policy {
  KvBudget budget;
  std::string allocator = "uniform";
  RippleOptions ripple;
  PyramidOptions pyramid;
  std::string selector = "snapkv";
  SelectorOptions selector_options;
  KvFormat kv_format;
};

// Errors: unknown allocator (lists what exists), ripple or curves without a profile, a profile of another
// model, an empty one or one without curves.
Result<Budgets> make_budgets(const ModelId& model, const Policy& policy, const Profile* profile);

}  // namespace ripplekv
