// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A policy as the user names it (selector, allocator, budget, kv format) -> Budgets. Pure: no graph, no files.
#pragma once

#include <span>
#include <string>

#include "ripplekv/budgets.h"
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
  // Each layer's format is the allocator's choice (curves): kv_format is f16, and the budget counts bytes, a fraction
  // or rows being those of the f16 cache, with the windows of sliding layers in f16 on top.
  bool auto_format = false;
};

// What the profile's curves foretell of layers in these formats that keep these fractions of their rows, both
// [n_layer]: the sum of their damages. Of sliding layers the format alone counts, where it was measured. Real damage
// differs by what layers do to each other. A format that was not measured counts as the first one that was. Errors: as
// predicted_damage() of allocation.h. allocator: head_curves goes by what compressing single heads cost, the others by
// layers.
Result<double> predicted_damage(const Profile& profile, std::string_view allocator, std::span<const KvFormat> formats,
                                std::span<const double> kept);

// n_prompt: of the prompt at hand; 0: as long as those that were profiled. `curves` turns rows and bytes into fractions
// with it. Errors: unknown allocator (lists what exists), ripple or curves without a profile, a profile of another
// model, an empty one or one without curves; formats to choose from that were not measured; bytes where model.layer is
// not known.
Result<Budgets> make_budgets(const ModelId& model, const Policy& policy, const Profile* profile, int64_t n_prompt = 0);

}  // namespace ripplekv
