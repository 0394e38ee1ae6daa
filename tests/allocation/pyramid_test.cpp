// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `pyramid`: the published line over depth, on the rows outside the window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

// Three layers, window 32, B = 396: 100 evictable rows per layer, beta 4: 175, 100 and 25, each with its window.
TEST(Pyramid, WorkedExample) {
  const auto weights = pyramid_weights(3, {.beta = 4, .window = 32});
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(weights->base_rows, 32);
  EXPECT_EQ(*rows_for(*weights, 396, 40, 1000), (std::vector<int64_t>{207, 132, 57}));
}

TEST(Pyramid, LinearOverDepthWithMeanOneAndPublishedEnds) {
  for (int n_layer : {2, 3, 30, 200}) {
    const auto weights = pyramid_weights(n_layer, {});
    ASSERT_TRUE(weights.ok());
    const auto& w = weights->weights;
    ASSERT_EQ(w.size(), static_cast<size_t>(n_layer));
    EXPECT_NEAR(w.front(), 1.95, 1e-12);
    EXPECT_NEAR(w.back(), 0.05, 1e-12);
    EXPECT_NEAR(std::accumulate(w.begin(), w.end(), 0.0), n_layer, 1e-9);
    for (size_t i = 1; i < w.size(); ++i) EXPECT_NEAR(w[i - 1] - w[i], 1.9 / (n_layer - 1), 1e-12);
  }
}

TEST(Pyramid, OneLayerTakesAll) {
  const auto weights = pyramid_weights(1, {});
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(*rows_for(*weights, 123, 40, 1000), (std::vector<int64_t>{123}));
}

TEST(Pyramid, SmallBudgetsNeverFallBelowTheFloorAndKeepTheirSum) {
  const auto weights = pyramid_weights(30, {});
  ASSERT_TRUE(weights.ok());
  for (int64_t total = 30 * 40; total < 30 * 60; ++total) {
    const auto rows = rows_for(*weights, total, 40, 2048);
    ASSERT_TRUE(rows.ok());
    EXPECT_EQ(std::accumulate(rows->begin(), rows->end(), int64_t{0}), total);
    EXPECT_GE(rows->back(), 40);
    EXPECT_TRUE(std::is_sorted(rows->rbegin(), rows->rend()));
  }
}

TEST(Pyramid, BadOptionsAreRefused) {
  for (double beta : {1.0, 0.5, 0.0, -20.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto weights = pyramid_weights(4, {.beta = beta});
    ASSERT_FALSE(weights.ok()) << beta;
    EXPECT_NE(weights.status().message().find("beta"), std::string::npos);
  }
  EXPECT_FALSE(pyramid_weights(4, {.window = -1}).ok());
  EXPECT_FALSE(pyramid_weights(0, {}).ok());
  EXPECT_FALSE(pyramid_weights(-3, {}).ok());
}

}  // namespace
}  // namespace ripplekv
