// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "base/random.h"

namespace ripplekv {
namespace {

TEST(Statistics, MeanAndMedian) {
  const std::array values = {4.0, 1.0, 10.0, 2.0};
  EXPECT_DOUBLE_EQ(mean_of(values), 4.25);
  EXPECT_DOUBLE_EQ(median_of(values), 3.0);
  EXPECT_DOUBLE_EQ(median_of(std::span(values).first(3)), 4.0);
}

TEST(Statistics, RanksAndSpearman) {
  const std::array x = {3.0, 1.0, 3.0, 2.0};
  EXPECT_EQ(ranks_of(x), (std::vector<double>{3.5, 1, 3.5, 2}));
  const std::array up = {1.0, 2.0, 5.0, 9.0};
  const std::array down = {8.0, 4.0, 3.0, -1.0};
  EXPECT_DOUBLE_EQ(spearman(up, up), 1);
  EXPECT_DOUBLE_EQ(spearman(up, down), -1);
  // 1 - 6 * sum d^2 / (n (n^2 - 1)), no ties: d = 1, 1, 0, 0.
  const std::array swapped = {2.0, 1.0, 5.0, 9.0};
  EXPECT_NEAR(spearman(up, swapped), 1 - 6.0 * 2 / 60, 1e-15);
  const std::array constant = {1.0, 1.0, 1.0, 1.0};
  EXPECT_EQ(spearman(up, constant), 0);
}

// Of a normal sample the 95% interval of the mean is about 1.96 standard errors wide to each side.
TEST(Statistics, BootstrapIntervals) {
  Random random(3);
  std::vector<double> values(400);
  for (double& value : values) value = 5 + random.gaussian();
  const Interval interval = bootstrap_mean(values);
  EXPECT_DOUBLE_EQ(interval.value, mean_of(values));
  const double half_width = 1.96 / std::sqrt(400.0);
  EXPECT_NEAR(interval.value - interval.low, half_width, 0.2 * half_width);
  EXPECT_NEAR(interval.high - interval.value, half_width, 0.2 * half_width);
  EXPECT_EQ(bootstrap_mean(values).low, interval.low) << "seeded";

  // Paired: values that are proportional have a ratio without any spread.
  std::vector<double> half = values;
  for (double& value : half) value /= 2;
  const Interval ratio = bootstrap_ratio(half, values);
  EXPECT_NEAR(ratio.value, 0.5, 1e-12);
  EXPECT_NEAR(ratio.low, 0.5, 1e-12);
  EXPECT_NEAR(ratio.high, 0.5, 1e-12);
}

// The number of different samples: nearly every resample has fewer of them, and yet the interval holds the value.
TEST(Statistics, AnIntervalHoldsItsValue) {
  const Interval interval = bootstrap(20, [](std::span<const size_t> indices) {
    return static_cast<double>(std::set<size_t>(indices.begin(), indices.end()).size());
  });
  EXPECT_EQ(interval.value, 20);
  EXPECT_EQ(interval.high, 20);
  EXPECT_LT(interval.low, 16);
}

TEST(Statistics, SignTest) {
  const std::array x = {1.0, 1.0, 1.0, 1.0, 7.0};
  const std::array y = {2.0, 2.0, 2.0, 2.0, 7.0};
  EXPECT_NEAR(sign_test(x, y), 2.0 / 16, 1e-12);  // 4 of 4, ties left out
  EXPECT_NEAR(sign_test(y, x), 2.0 / 16, 1e-12);
  EXPECT_EQ(sign_test(x, x), 1);
}

}  // namespace
}  // namespace ripplekv
