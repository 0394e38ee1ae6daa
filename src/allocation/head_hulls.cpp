// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "allocation/head_hulls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ripplekv {

std::vector<double> HeadHulls::shares(size_t layer, double kept) const {
  const auto n_head = static_cast<size_t>(n_head_kv);
  const auto step = static_cast<size_t>(std::clamp<long long>(std::llround(kept * kHullSteps), 1, kHullSteps));
  std::vector<double> shares;
  for (size_t head = 0; head < n_head; ++head) {
    shares.push_back(static_cast<double>(steps[layer][(step - 1) * n_head + head]) /
                     static_cast<double>(step * n_head));
  }
  return shares;
}

Result<HeadHulls> head_hulls(const DamageCurves& heads, int n_head_kv) {
  RKV_ASSIGN_OR_RETURN(const DamageHulls hulls, damage_hulls(heads));
  RKV_CHECK(n_head_kv >= 1);
  const auto n_head = static_cast<size_t>(n_head_kv);
  if (hulls.size() % n_head != 0) {
    return invalid_argument(
        fmt::format("head curves: got damages of {} heads, expected {} for each layer", hulls.size(), n_head_kv));
  }
  HeadHulls result;
  result.n_head_kv = n_head_kv;
  for (size_t first = 0; first < hulls.size(); first += n_head) {
    std::vector<int> at(n_head, 1);  // steps of each head
    const auto damage_of = [&](size_t head) { return hulls[first + head][static_cast<size_t>(at[head]) - 1]; };
    const auto saved = [&](size_t head) {
      return at[head] == kHullSteps ? -1 : damage_of(head) - hulls[first + head][static_cast<size_t>(at[head])];
    };
    std::vector<double>& layer = result.layers.emplace_back();
    std::vector<int>& steps = result.steps.emplace_back();
    for (int step = 1; step <= kHullSteps; ++step) {
      for (size_t n = 0; step > 1 && n < n_head; ++n) {  // ties go to the lower head
        size_t best = 0;
        for (size_t head = 1; head < n_head; ++head) best = saved(head) > saved(best) ? head : best;
        ++at[best];
      }
      double damage = 0;
      for (size_t head = 0; head < n_head; ++head) damage += damage_of(head);
      layer.push_back(damage);
      steps.insert(steps.end(), at.begin(), at.end());
    }
  }
  return result;
}

}  // namespace ripplekv
