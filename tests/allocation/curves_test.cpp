// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The curves allocator against an exhaustive search on curves that need no repair, and its refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

// Damage a * (1 / f - 1) in every layer, the form that is interpolated exactly.
DamageCurves proportional(const std::vector<double>& scale) {
  DamageCurves curves;
  curves.kept = {0.05, 0.1, 0.2, 0.4};
  for (double kept : curves.kept) {
    std::vector<double>& at = curves.damage.emplace_back();
    for (double a : scale) at.push_back(a * (1 / kept - 1));
  }
  return curves;
}

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// The minimum of sum a_l / f_l under a fixed sum of f_l is at f_l proportional to sqrt(a_l).
TEST(Curves, IsTheOptimumOfCurvesOneCanSolve) {
  const auto weights = curves_weights(proportional({1, 4, 9, 16}), 0.2);
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  EXPECT_NEAR(mean(weights->weights), 0.2, 1e-3);
  for (size_t layer = 0; layer < 4; ++layer) {
    EXPECT_NEAR(weights->weights[layer], 0.08 * static_cast<double>(layer + 1), 2.0 / 1024) << layer;
  }
}

TEST(Curves, LayersThatDoNotMatterGetLeastAndEqualLayersTheSame) {
  const auto weights = curves_weights(proportional({0, 1, 1, 0}), 0.3);
  ASSERT_TRUE(weights.ok());
  EXPECT_LT(weights->weights[0], 0.01);
  EXPECT_NEAR(weights->weights[1], weights->weights[2], 1.5 / 1024);
  EXPECT_GT(weights->weights[1], 0.55);
  const auto same = curves_weights(proportional({2, 2, 2}), 0.25);
  for (double weight : same->weights) EXPECT_NEAR(weight, 0.25, 1e-9);
}

TEST(Curves, AnotherBudgetGoesToOtherLayers) {
  // The first layer's damage is large at 5% and gone at 10%; the second's falls slowly.
  DamageCurves curves;
  curves.kept = {0.05, 0.1, 0.2, 0.4};
  curves.damage = {{1.0, 0.5}, {0.001, 0.45}, {0.0005, 0.4}, {0.0001, 0.2}};
  const auto small = curves_weights(curves, 0.06);
  const auto large = curves_weights(curves, 0.3);
  EXPECT_GT(small->weights[0], small->weights[1]);
  EXPECT_LT(large->weights[0], large->weights[1]);
}

// Noise may make a curve rise: that is pooled, and every result is a share of the budget.
TEST(Curves, AnyMeasurementGivesSharesOfTheBudget) {
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    DamageCurves curves;
    const auto n_kept = 1 + random.below(5);
    const auto n_layer = 1 + random.below(12);
    double kept = 0;
    for (uint64_t i = 0; i < n_kept; ++i) {
      kept += 0.01 + 0.15 * random.uniform();
      curves.kept.push_back(kept);
      std::vector<double>& at = curves.damage.emplace_back();
      for (uint64_t layer = 0; layer < n_layer; ++layer) {
        at.push_back(random.below(5) == 0 ? 0 : std::exp(4 * random.gaussian()));
      }
    }
    const double fraction = 0.02 + 0.97 * random.uniform();
    const auto weights = curves_weights(curves, fraction);
    ASSERT_TRUE(weights.ok()) << weights.status().message();
    ASSERT_EQ(weights->weights.size(), n_layer);
    for (double weight : weights->weights) {
      EXPECT_GT(weight, 0);
      EXPECT_LE(weight, 1);
    }
    EXPECT_NEAR(mean(weights->weights), fraction, 0.5 / 1024 + 1e-9);
    const auto rows =
        rows_for(*weights, static_cast<int64_t>(fraction * 2000) * static_cast<int64_t>(n_layer), 8, 2000);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
  }
}

// More damage in a layer never takes rows from it.
TEST(Curves, MoreDamageNeverGetsFewerRows) {
  Random random(9);
  for (int round = 0; round < 100; ++round) {
    DamageCurves curves = proportional({1 + random.uniform(), 1 + random.uniform(), 1 + random.uniform()});
    const auto before = curves_weights(curves, 0.15);
    for (auto& at : curves.damage) at[1] *= 1.5;
    const auto after = curves_weights(curves, 0.15);
    EXPECT_GE(after->weights[1], before->weights[1]);
  }
}

// What is predicted of the plan itself is the sum of the curves there, and no other split of the budget beats it.
TEST(Curves, ThePlanHasTheLeastPredictedDamage) {
  const DamageCurves curves = proportional({1, 4, 9, 16});
  const auto plan = curves_weights(curves, 0.2);
  const auto of_plan = predicted_damage(curves, plan->weights);
  ASSERT_TRUE(of_plan.ok());
  double sum = 0;
  for (size_t layer = 0; layer < 4; ++layer) {
    sum += std::pow(static_cast<double>(layer + 1), 2) * (1 / plan->weights[layer] - 1);
  }
  EXPECT_NEAR(*of_plan, sum, 0.01 * sum);
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> other = plan->weights;
    const double moved = 0.05 * random.uniform();
    other[random.below(4)] += moved;
    other[random.below(4)] -= moved;
    EXPECT_GE(*predicted_damage(curves, other), *of_plan * (1 - 1e-3));
  }
  EXPECT_EQ(*predicted_damage(curves, std::vector<double>(4, 1)), 0);
}

TEST(Curves, Refusals) {
  const auto refused = [](const DamageCurves& curves, double kept) {
    return curves_weights(curves, kept).status().message();
  };
  EXPECT_NE(refused({}, 0.1).find("no damage curves"), std::string::npos);
  DamageCurves curves = proportional({1, 2});
  EXPECT_NE(refused(curves, 0).find("got a kept fraction of 0"), std::string::npos);
  EXPECT_NE(refused(curves, 1.5).find("got a kept fraction of 1.5"), std::string::npos);
  std::swap(curves.kept[0], curves.kept[1]);
  EXPECT_NE(refused(curves, 0.1).find("expected ascending ones"), std::string::npos);
  curves = proportional({1, 2});
  curves.damage[2].pop_back();
  EXPECT_NE(refused(curves, 0.1).find("damages of 1 layers at fraction 0.2"), std::string::npos);
  curves = proportional({1, 2});
  curves.damage[1][1] = NAN;
  EXPECT_NE(refused(curves, 0.1).find("damage nan in layer 1"), std::string::npos);
  curves.damage.pop_back();
  EXPECT_NE(refused(curves, 0.1).find("got damages at 3 kept fractions, expected 4"), std::string::npos);
}

}  // namespace
}  // namespace ripplekv
