// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Damage curves between the fractions that were measured: what `curves` and the choice of formats both go by.
#pragma once

#include <vector>

#include "ripplekv/allocation.h"

namespace ripplekv {

constexpr int kHullSteps = 1024;  // grid of kept fractions: 1/kHullSteps .. 1

// Of every layer, at every fraction of the grid: the measured damages interpolated, then the largest convex function
// below. Falls from step to step, to 0 where all rows stay. Errors: as curves_weights().
Result<std::vector<std::vector<double>>> damage_hulls(const DamageCurves& curves);

}  // namespace ripplekv
