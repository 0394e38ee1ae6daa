// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// KV heads joined to layers: by hand, against every split of two heads, and that a budget spent over such layers is
// the budget spent over all heads.
#include "allocation/head_hulls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"

namespace ripplekv {
namespace {

// Damage a * (1 / f - 1) of each head, the form that is interpolated exactly.
DamageCurves curves_of(const std::vector<double>& scale) {
  DamageCurves curves;
  curves.kept = {0.1, 0.4};
  for (double kept : curves.kept) {
    std::vector<double>& at = curves.damage.emplace_back();
    for (double a : scale) at.push_back(a * (1 / kept - 1));
  }
  return curves;
}

std::vector<double> random_scales(Random& random, size_t n) {
  std::vector<double> scales;
  for (size_t i = 0; i < n; ++i) scales.push_back(std::pow(10, -3 * random.uniform()));
  return scales;
}

TEST(HeadHulls, HeadsAlikeShareAlike) {
  const auto hulls = head_hulls(curves_of({1, 1, 2, 2}), 2);
  ASSERT_TRUE(hulls.ok()) << hulls.status().message();
  ASSERT_EQ(hulls->layers.size(), 2U);
  for (const double kept : {0.001, 0.1, 0.5, 1.0}) {
    for (size_t layer = 0; layer < 2; ++layer) EXPECT_EQ(hulls->shares(layer, kept), (std::vector<double>{0.5, 0.5}));
  }
  const DamageHulls alone = damage_hulls(curves_of({1, 2})).value();
  for (size_t step = 0; step < kHullSteps; ++step) {
    for (size_t layer = 0; layer < 2; ++layer) {
      EXPECT_NEAR(hulls->layers[layer][step], 2 * alone[layer][step], 1e-9 * alone[layer][step]);
    }
  }
}

// Damages a / f are least together where rows are as the roots of the a: 1 to 4 here.
TEST(HeadHulls, TheHeadThatLosesMoreKeepsMore) {
  const HeadHulls hulls = head_hulls(curves_of({1, 16}), 2).value();
  const std::vector<double> shares = hulls.shares(0, 0.1);
  EXPECT_NEAR(shares[0], 0.2, 0.005);
  EXPECT_NEAR(shares[1], 0.8, 0.005);
  EXPECT_EQ(hulls.shares(0, 1), (std::vector<double>{0.5, 0.5})) << "all rows of both";
  EXPECT_EQ(hulls.layers[0].back(), 0);
}

TEST(HeadHulls, NoSplitIsBetterAndTheSumIsExact) {
  Random random(1);
  for (int round = 0; round < 5; ++round) {
    const DamageCurves curves = curves_of(random_scales(random, 2));
    const DamageHulls heads = damage_hulls(curves).value();
    const HeadHulls hulls = head_hulls(curves, 2).value();
    for (int step = 1; step <= kHullSteps; step += 37) {
      const auto at = static_cast<size_t>(step) - 1;
      double least = HUGE_VAL;
      for (int first = std::max(1, 2 * step - kHullSteps); first <= std::min(kHullSteps, 2 * step - 1); ++first) {
        least = std::min(
            least, heads[0][static_cast<size_t>(first) - 1] + heads[1][static_cast<size_t>(2 * step - first) - 1]);
      }
      EXPECT_NEAR(hulls.layers[0][at], least, 1e-9 * least + 1e-15) << step;
      EXPECT_EQ(hulls.steps[0][2 * at] + hulls.steps[0][2 * at + 1], 2 * step);
      const std::vector<double> shares = hulls.shares(0, static_cast<double>(step) / kHullSteps);
      EXPECT_NEAR(shares[0] + shares[1], 1, 1e-12);
    }
  }
}

TEST(HeadHulls, LayersOfHeadsAreAsGoodAsAllHeadsAtOnce) {
  Random random(2);
  for (int round = 0; round < 5; ++round) {
    const DamageCurves curves = curves_of(random_scales(random, 12));
    const DamageHulls heads = damage_hulls(curves).value();
    const HeadHulls hulls = head_hulls(curves, 3).value();
    for (const double kept : {0.05, 0.1, 0.3, 0.7}) {
      const AllocationWeights of_heads = weights_of_hulls(heads, kept);
      const AllocationWeights of_layers = weights_of_hulls(hulls.layers, kept);
      const double best = damage_at(heads, of_heads.weights);
      EXPECT_NEAR(damage_at(hulls.layers, of_layers.weights), best, 0.01 * best);
    }
    for (const std::vector<double>& layer : hulls.layers) {  // convex, as damage_hulls() promises
      for (size_t step = 1; step + 1 < layer.size(); ++step) {
        EXPECT_LE(layer[step] - layer[step + 1], (layer[step - 1] - layer[step]) * (1 + 1e-9) + 1e-15);
      }
    }
  }
}

TEST(HeadHulls, RefusesWhatIsNotHeadsOfLayers) {
  const auto uneven = head_hulls(curves_of({1, 1, 1}), 2);
  ASSERT_FALSE(uneven.ok());
  EXPECT_NE(uneven.status().message().find("3 heads, expected 2 for each layer"), std::string::npos);
  EXPECT_FALSE(head_hulls(DamageCurves{}, 1).ok());
}

}  // namespace
}  // namespace ripplekv
