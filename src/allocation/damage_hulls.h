// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Damage curves between the fractions that were measured: what `curves`, `head_curves` and the choice of formats go by.
#pragma once

#include <span>
#include <vector>

#include "ripplekv/allocation.h"

namespace ripplekv {

constexpr int kHullSteps = 1024;  // grid of kept fractions: 1/kHullSteps .. 1

// [n_layer][kHullSteps] nats: falls from step to step, ever less, to 0 where all rows stay.
using DamageHulls = std::vector<std::vector<double>>;

// The measured damages interpolated, then the largest convex function below. Errors: as curves_weights().
Result<DamageHulls> damage_hulls(const DamageCurves& curves);

// curves_weights() and predicted_damage() on hulls. REQUIRES: 0 < kept_fraction <= 1; kept.size() == hulls.size().
AllocationWeights weights_of_hulls(const DamageHulls& hulls, double kept_fraction);
double damage_at(std::span<const std::vector<double>> hulls, std::span<const double> kept);

}  // namespace ripplekv
