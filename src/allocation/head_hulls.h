// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the KV heads' own damage curves make of a layer: the least damage for each number of its rows, and which head
// keeps how many of them. Convex curves that add up are joined by giving the next rows to the head where they save
// most, so that a budget spent over such layers is spent over all their heads (src/allocation/head_hulls.cpp).
#pragma once

#include <vector>

#include "allocation/damage_hulls.h"

namespace ripplekv {

struct HeadHulls {
  DamageHulls layers;                   // [n_layer]: of the best split
  std::vector<std::vector<int>> steps;  // [n_layer][kHullSteps * n_head_kv]: of each head's rows, in 1/kHullSteps
  int n_head_kv = 0;

  // How a layer that keeps this fraction of its rows splits them: [n_head_kv], summing to 1.
  std::vector<double> shares(size_t layer, double kept) const;
};

// heads: damage of compressing one head alone, [kept][n_layer * n_head_kv], the heads of a layer side by side.
// Errors: as curves_weights(); heads that are not n_head_kv for each layer.
Result<HeadHulls> head_hulls(const DamageCurves& heads, int n_head_kv);

}  // namespace ripplekv
