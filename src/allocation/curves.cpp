// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `curves`: rows where they save most of the measured damage. Each layer's damage over kept fractions is interpolated,
// made convex, and the budget is spent where one more row saves most; for convex curves whose damages add up that is
// the optimum (Fox 1966, "Discrete optimization via marginal analysis"). RippleKV's own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "allocation/damage_hulls.h"

namespace ripplekv {
namespace {

constexpr double kDamageFloor = 1e-12;  // nats; keeps logarithms finite
constexpr double kPowerMin = 0.25;      // of the interpolation's exponents, so that every curve falls
constexpr double kPowerMax = 4.0;

// Rows dropped for each row kept: 0 for all rows, without bound towards none. Damage is close to a power of it.
double dropped_per_kept(double kept) { return 1 / kept - 1; }

// Damage of one layer at every fraction of the grid, non-increasing.
std::vector<double> on_grid(std::span<const double> kept, std::vector<double> damage) {
  // More rows cannot hurt: what says so is noise, shared by the neighbours (pool adjacent violators, last to first).
  std::vector<std::pair<double, double>> pools;  // sum, count
  for (size_t i = damage.size(); i-- > 0;) {
    pools.emplace_back(std::max(damage[i], kDamageFloor), 1.0);
    while (pools.size() > 1 &&
           pools.back().first * pools[pools.size() - 2].second < pools[pools.size() - 2].first * pools.back().second) {
      const auto top = pools.back();
      pools.pop_back();
      pools.back().first += top.first;
      pools.back().second += top.second;
    }
  }
  size_t i = damage.size();
  for (const auto& [sum, count] : pools) {
    for (int n = 0; n < static_cast<int>(count); ++n) damage[--i] = sum / count;
  }

  std::vector<double> result(kHullSteps);
  for (int step = 1; step < kHullSteps; ++step) {
    const double fraction = static_cast<double>(step) / kHullSteps;
    const double x = std::log(dropped_per_kept(fraction));
    // The segment between the two fractions around it, the outermost ones carried on.
    size_t right = static_cast<size_t>(std::lower_bound(kept.begin(), kept.end(), fraction) - kept.begin());
    double power = 1;  // beyond the last: proportional to the rows dropped per row kept
    size_t anchor = kept.size() - 1;
    if (right < kept.size() && kept.size() > 1) {
      right = std::max<size_t>(right, 1);
      anchor = right;
      power = std::log(damage[right - 1] / damage[right]) /
              std::log(dropped_per_kept(kept[right - 1]) / dropped_per_kept(kept[right]));
    }
    if (right == kept.size() || fraction < kept[0]) power = std::clamp(power, kPowerMin, kPowerMax);
    if (fraction < kept[0]) anchor = 0;
    result[static_cast<size_t>(step) - 1] =
        damage[anchor] * std::exp(power * (x - std::log(dropped_per_kept(kept[anchor]))));
  }
  result[kHullSteps - 1] = 0;
  return result;
}

// The largest convex function below the values, on the same grid.
std::vector<double> lower_hull(const std::vector<double>& values) {
  std::vector<size_t> hull;
  const auto turns_up = [&](size_t a, size_t b, size_t c) {
    return (values[b] - values[a]) * static_cast<double>(c - a) < (values[c] - values[a]) * static_cast<double>(b - a);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    while (hull.size() > 1 && !turns_up(hull[hull.size() - 2], hull.back(), i)) hull.pop_back();
    hull.push_back(i);
  }
  std::vector<double> result(values.size());
  for (size_t h = 0; h + 1 < hull.size(); ++h) {
    for (size_t i = hull[h]; i <= hull[h + 1]; ++i) {
      const double along = static_cast<double>(i - hull[h]) / static_cast<double>(hull[h + 1] - hull[h]);
      result[i] = std::lerp(values[hull[h]], values[hull[h + 1]], along);
    }
  }
  return result;
}

Status check(const DamageCurves& curves, double kept_fraction) {
  if (curves.kept.empty()) {
    return invalid_argument("curves: the profile holds no damage curves, expected one made with 'profile --curves'");
  }
  if (curves.damage.size() != curves.kept.size()) {
    return invalid_argument(
        fmt::format("curves: got damages at {} kept fractions, expected {}", curves.damage.size(), curves.kept.size()));
  }
  for (size_t i = 0; i < curves.kept.size(); ++i) {
    const double before = i == 0 ? 0 : curves.kept[i - 1];
    if (!(curves.kept[i] > before && curves.kept[i] < 1)) {
      return invalid_argument(
          fmt::format("curves: got kept fraction {}, expected ascending ones between 0 and 1", curves.kept[i]));
    }
    if (curves.damage[i].empty() || curves.damage[i].size() != curves.damage[0].size()) {
      return invalid_argument(fmt::format("curves: got damages of {} layers at fraction {}, expected {}",
                                          curves.damage[i].size(), curves.kept[i], curves.damage[0].size()));
    }
    for (size_t layer = 0; layer < curves.damage[i].size(); ++layer) {
      const double damage = curves.damage[i][layer];
      if (!std::isfinite(damage) || damage < 0) {
        return invalid_argument(
            fmt::format("curves: got damage {} in layer {}, expected a finite number of 0 or more", damage, layer));
      }
    }
  }
  if (!(kept_fraction > 0 && kept_fraction <= 1)) {
    return invalid_argument(
        fmt::format("curves: got a kept fraction of {}, expected one above 0 and at most 1", kept_fraction));
  }
  return ok_status();
}

}  // namespace

Result<DamageHulls> damage_hulls(const DamageCurves& curves) {
  RKV_RETURN_IF_ERROR(check(curves, /*kept_fraction=*/1));
  DamageHulls hulls;
  for (size_t layer = 0; layer < curves.damage[0].size(); ++layer) {
    std::vector<double> damage;
    for (const auto& at_fraction : curves.damage) damage.push_back(at_fraction[layer]);
    hulls.push_back(lower_hull(on_grid(curves.kept, std::move(damage))));
  }
  return hulls;
}

double damage_at(std::span<const std::vector<double>> hulls, std::span<const double> kept) {
  RKV_CHECK(kept.size() == hulls.size());
  double sum = 0;
  for (size_t layer = 0; layer < hulls.size(); ++layer) {
    const double step = std::clamp(kept[layer] * kHullSteps, 1.0, static_cast<double>(kHullSteps)) - 1;
    const auto below = static_cast<size_t>(step);
    const size_t above = std::min<size_t>(below + 1, kHullSteps - 1);
    sum += std::lerp(hulls[layer][below], hulls[layer][above], step - std::floor(step));
  }
  return sum;
}

AllocationWeights weights_of_hulls(const DamageHulls& hulls, double kept_fraction) {
  RKV_CHECK(kept_fraction > 0 && kept_fraction <= 1);
  const size_t n_layer = hulls.size();
  // One grid step at a time to the layer where it saves most; ties go to the lower layer.
  struct Gain {
    double saved;
    size_t layer;
    bool operator<(const Gain& other) const { return saved != other.saved ? saved < other.saved : layer > other.layer; }
  };
  std::vector<int> steps(n_layer, 1);
  const auto gain_of = [&](size_t layer) {
    const auto step = static_cast<size_t>(steps[layer]);
    return Gain{hulls[layer][step - 1] - hulls[layer][step], layer};
  };
  std::priority_queue<Gain> gains;
  for (size_t layer = 0; layer < n_layer; ++layer) gains.push(gain_of(layer));
  const auto n_total = static_cast<int64_t>(std::llround(kept_fraction * kHullSteps * static_cast<double>(n_layer)));
  for (auto n_given = static_cast<int64_t>(n_layer); n_given < n_total && !gains.empty(); ++n_given) {
    const size_t layer = gains.top().layer;
    gains.pop();
    if (++steps[layer] < kHullSteps) gains.push(gain_of(layer));
  }
  AllocationWeights result;
  for (int n : steps) result.weights.push_back(static_cast<double>(n) / kHullSteps);
  return result;
}

Result<double> predicted_damage(const DamageCurves& curves, std::span<const double> kept) {
  RKV_ASSIGN_OR_RETURN(const DamageHulls hulls, damage_hulls(curves));
  return damage_at(hulls, kept);
}

Result<AllocationWeights> curves_weights(const DamageCurves& curves, double kept_fraction) {
  RKV_RETURN_IF_ERROR(check(curves, kept_fraction));
  RKV_ASSIGN_OR_RETURN(const DamageHulls hulls, damage_hulls(curves));
  return weights_of_hulls(hulls, kept_fraction);
}

}  // namespace ripplekv
