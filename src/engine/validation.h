// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Validation: do sensitivities foretell damage? Rank correlations between what a nudge says of each layer and what
// really compressing that layer alone does to the output, over samples that no plan was made from. Pure over profiles
// of the same samples; measuring them is profile_run.h's business.
#pragma once

#include <string>
#include <vector>

#include "base/statistics.h"
#include "ripplekv/profile.h"
#include "ripplekv/status.h"

namespace ripplekv {

// One way to nudge, by name: "evictable/head" is rows/direction.
struct Perturbation {
  std::string name;
  std::string rows;
  std::string direction;
};
// What `validate` compares: the published one (all/row) first.
std::vector<Perturbation> perturbations();

struct Correlation {
  std::string signal;  // a perturbation's name, "local response", "index", "profile"
  double kept = 0;     // fraction the damage was measured at
  Interval rho;        // Spearman's, bootstrap over samples
};

// measured[i]: the profile of perturbations()[i]; the first holds the damage curves. given: a profile made elsewhere,
// or null. Over the layers that a budget is shared among. REQUIRES: all of the same model and samples, complete.
std::vector<Correlation> correlate(const std::vector<Profile>& measured, const Profile* given);

}  // namespace ripplekv
