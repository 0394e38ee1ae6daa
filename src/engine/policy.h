// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A policy as the user names it (selector, allocator, budget, kv format) -> Budgets. Pure: no graph, no files.
#pragma once

#include <string>

#include "ripplekv/budgets.h"
#include "ripplekv/kv_cache.h"
#include "ripplekv/profile.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct Policy {
  KvBudget budget;
  std::string allocator = "uniform";
  RippleOptions ripple;
  Signal signal = Signal::kSensitivity;  // of ripple
  PyramidOptions pyramid;
  std::string selector = "snapkv";
  SelectorOptions selector_options;
  KvFormat kv_format;
};

// What is known of the cache that the budgets are for; `curves` turns rows and bytes into a fraction with it.
struct PromptShape {
  LayerShape layer;      // of a model that is at hand
  int64_t n_prompt = 0;  // 0: not known, as long as the prompts that were profiled
};

// The profile's damage curves in a kv format, else in the first one measured: over the layers that share a budget.
DamageCurves curves_of(const Profile& profile, const KvFormat& format);

// Errors: unknown allocator (lists what exists), ripple or curves without a profile, a profile of another
// model, an empty one or one without curves.
Result<Budgets> make_budgets(const ModelId& model, const Policy& policy, const Profile* profile,
                             const PromptShape& prompt = {});

}  // namespace ripplekv
