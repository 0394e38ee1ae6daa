// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// rows_for(): worked examples, the invariants over thousands of random allocations, an independent water-filling to
// compare with, and the edges (floors, whole caches, zero weights, millions of rows).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/random.h"
#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

using Rows = std::vector<int64_t>;

Rows rows_of(const AllocationWeights& weights, int64_t total, int64_t rows_floor, int64_t n_prompt) {
  const auto rows = rows_for(weights, total, rows_floor, n_prompt);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  return rows.ok() ? *rows : Rows{};
}

int64_t sum_of(const Rows& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

TEST(RowsFor, ProportionalToTheWeights) {
  EXPECT_EQ(rows_of({{1, 2, 4}, 0}, 700, 10, 1000), (Rows{100, 200, 400}));
  EXPECT_EQ(rows_of({{1, 2, 4}, 20}, 760, 10, 1000), (Rows{120, 220, 420}));
}

TEST(RowsFor, LargestRemainderThenLowerLayer) {
  EXPECT_EQ(rows_of({{1, 1, 1}, 0}, 101, 1, 1000), (Rows{34, 34, 33}));
  EXPECT_EQ(rows_of({{1, 2}, 0}, 100, 1, 1000), (Rows{33, 67}));         // 33.3, 66.7
  EXPECT_EQ(rows_of({{1, 2, 3}, 0}, 101, 1, 1000), (Rows{17, 34, 50}));  // 16.83, 33.67, 50.5
}

TEST(RowsFor, WhatTheFloorTakesComesFromTheFreeLayers) {
  // 1 : 3 : 6 of 100 is 10, 30, 60; the floor of 20 leaves 80 for 3 : 6, and 26.67 and 53.33 stay over it.
  EXPECT_EQ(rows_of({{1, 3, 6}, 0}, 100, 20, 1000), (Rows{20, 27, 53}));
}

TEST(RowsFor, WhatTheCapFreesGoesToTheFreeLayers) {
  EXPECT_EQ(rows_of({{1, 3, 16}, 0}, 200, 5, 120), (Rows{20, 60, 120}));
}

// Fixing both bounds in one pass would be wrong here: 10, 40, 950 are out of bounds all three, but 100, 100, 500 is 300
// rows short. Only the cap is sure; what it frees lifts the others to their floor and over it.
TEST(RowsFor, BoundsAreFixedInTheRightOrder) {
  EXPECT_EQ(rows_of({{10, 40, 950}, 0}, 1000, 100, 500), (Rows{100, 400, 500}));
  EXPECT_EQ(rows_of({{15, 35, 950}, 0}, 1000, 100, 500), (Rows{150, 350, 500}));
}

TEST(RowsFor, ZeroWeightsGetTheFloorOrTheBase) {
  EXPECT_EQ(rows_of({{0, 1, 0}, 0}, 100, 10, 1000), (Rows{10, 80, 10}));
  EXPECT_EQ(rows_of({{0, 1, 0}, 20}, 100, 10, 1000), (Rows{20, 60, 20}));
  EXPECT_EQ(rows_of({{0, 1, 0}, 0}, 100, 10, 50), (Rows{25, 50, 25}));  // more only once the other is full
}

TEST(RowsFor, BaseRowsCountUpToTheMean) {
  EXPECT_EQ(rows_of({{1, 9}, 300}, 200, 10, 1000), (Rows{100, 100}));
  EXPECT_EQ(rows_of({{1, 9}, 1e300}, 200, 10, 1000), (Rows{100, 100}));
}

TEST(RowsFor, ExactlyTheFloorsAndOneMore) {
  EXPECT_EQ(rows_of({{1, 5, 2}, 32}, 120, 40, 1000), (Rows{40, 40, 40}));
  EXPECT_EQ(rows_of({{1, 5, 2}, 32}, 121, 40, 1000), (Rows{40, 41, 40}));
}

TEST(RowsFor, ExactlyTheWholeCacheOneLessAndMore) {
  EXPECT_EQ(rows_of({{1, 5, 2}, 0}, 299, 40, 100), (Rows{99, 100, 100}));
  EXPECT_EQ(rows_of({{1, 5, 2}, 0}, 300, 40, 100), (Rows{100, 100, 100}));
  EXPECT_EQ(rows_of({{1, 5, 2}, 0}, 301, 40, 100), (Rows{100, 100, 100}));
  EXPECT_EQ(rows_of({{1, 5, 2}, 0}, std::numeric_limits<int64_t>::max(), 40, 100), (Rows{100, 100, 100}));
}

TEST(RowsFor, PromptWithinTheFloorIsKeptWholeWhateverTheBudget) {
  for (int64_t n_prompt : {0, 1, 39, 40}) {
    for (int64_t total : {0, 1, 1000}) {
      EXPECT_EQ(rows_of({{1, 2}, 0}, total, 40, n_prompt), (Rows{n_prompt, n_prompt}));
    }
  }
}

TEST(RowsFor, OneLayerTakesTheWholeBudget) {
  for (int64_t total = 40; total <= 100; ++total) EXPECT_EQ(rows_of({{0.3}, 32}, total, 40, 100), (Rows{total}));
}

TEST(RowsFor, TooSmallABudgetNamesTheSmallestThatFits) {
  const auto rows = rows_for(uniform_weights(30), 300, 40, 2048);
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(rows.status().message(),
            "budget: 300 rows in 30 layers is 10 rows per layer, expected at least 40 (protected rows and a margin); "
            "the smallest budget that fits is 1200 rows in all (40 per layer, 2.0% of 2048)");
  EXPECT_FALSE(rows_for(uniform_weights(30), 1199, 40, 2048).ok());
  EXPECT_FALSE(rows_for(uniform_weights(30), 0, 1, 2).ok());
}

// What the message proposes has to work when it is typed in.
TEST(RowsFor, TheProposedPercentageFits) {
  Random random(31);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const int n_layer = 1 + static_cast<int>(random.below(100));
    const auto n_prompt = 2 + static_cast<int64_t>(std::exp(random.uniform() * 21));
    const auto rows_floor =
        1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(std::min<int64_t>(n_prompt - 1, 300))));
    const auto refused = rows_for(uniform_weights(n_layer), n_layer * rows_floor - 1, rows_floor, n_prompt);
    ASSERT_FALSE(refused.ok());
    const std::string& message = refused.status().message();
    const size_t begin = message.rfind(", ") + 2;
    const std::string percent = message.substr(begin, message.find('%') + 1 - begin);
    const auto budget = parse_kv_budget(percent);
    ASSERT_TRUE(budget.ok()) << message;
    const int64_t total = total_rows(*budget, n_prompt, n_layer, 1);
    EXPECT_GE(total, n_layer * rows_floor) << message;
    // Not much too large either: at most one unit of the second digit, or 0.1%.
    EXPECT_LE(static_cast<double>(total),
              1.12 * static_cast<double>(n_layer * rows_floor) + 1e-3 * static_cast<double>(n_layer * n_prompt) + 1)
        << message;
  }
}

TEST(RowsFor, BrokenWeightsAreRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  for (double bad : {std::nan(""), inf, -inf, -1e-300}) {
    const auto rows = rows_for({{1, 1, bad}, 0}, 300, 40, 1000);
    ASSERT_FALSE(rows.ok()) << bad;
    EXPECT_NE(rows.status().message().find("in layer 2"), std::string::npos) << rows.status().message();
    const auto base = rows_for({{1, 1}, bad}, 300, 40, 1000);
    ASSERT_FALSE(base.ok()) << bad;
    EXPECT_NE(base.status().message().find("base rows"), std::string::npos) << base.status().message();
  }
  EXPECT_FALSE(rows_for({{}, 0}, 300, 40, 1000).ok());
  EXPECT_FALSE(rows_for({{0, 0}, 0}, 300, 40, 1000).ok());
}

TEST(RowsFor, NumbersOutOfRangeAreRefused) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const AllocationWeights weights = uniform_weights(3);
  for (int64_t bad : {int64_t{-1}, kLowest}) {
    EXPECT_FALSE(rows_for(weights, bad, 40, 1000).ok());
    EXPECT_FALSE(rows_for(weights, 300, bad, 1000).ok());
    EXPECT_FALSE(rows_for(weights, 300, 40, bad).ok());
  }
  EXPECT_FALSE(rows_for(weights, 300, 40, int64_t{1} << 31).ok());
  EXPECT_FALSE(rows_for(weights, kMost, 40, kMost).ok());
  EXPECT_EQ(rows_of(weights, 300, kMost, 1000), (Rows{1000, 1000, 1000}));
}

TEST(RowsFor, ExtremeButFiniteWeights) {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(rows_of({{most, most, most}, 0}, 300, 10, 1000), (Rows{100, 100, 100}));
  EXPECT_EQ(rows_of({{least, least, least}, 0}, 300, 10, 1000), (Rows{100, 100, 100}));
  EXPECT_EQ(rows_of({{least, most}, 0}, 300, 10, 1000), (Rows{10, 290}));
  EXPECT_EQ(rows_of({{least, most, 0}, 0}, 1500, 10, 1000), (Rows{250, 1000, 250}));
}

struct Case {
  AllocationWeights weights;
  int64_t total = 0;
  int64_t rows_floor = 0;
  int64_t n_prompt = 0;
};

// Every size from one layer to 60, prompts to 10 million rows, weights over many decades with ties and zeros, budgets
// anywhere between the floors and the whole cache with extra chances for the ends.
Case random_case(Random& random) {
  Case c;
  c.weights.weights.resize(1 + random.below(60));
  const double spread = random.uniform() * 6;
  for (double& w : c.weights.weights) {
    w = std::exp(random.gaussian() * spread);
    if (random.below(8) == 0) w = c.weights.weights[0];
    if (random.below(12) == 0) w = 0;
  }
  if (*std::max_element(c.weights.weights.begin(), c.weights.weights.end()) == 0) c.weights.weights[0] = 1;
  c.n_prompt = 2 + static_cast<int64_t>(std::exp(random.uniform() * 16.1));
  c.rows_floor = static_cast<int64_t>(random.below(static_cast<uint64_t>(std::min<int64_t>(c.n_prompt, 100))));
  const auto n_layer = static_cast<int64_t>(c.weights.weights.size());
  const int64_t span = n_layer * (c.n_prompt - c.rows_floor);
  c.total = n_layer * c.rows_floor + static_cast<int64_t>(random.below(static_cast<uint64_t>(span) + 1));
  if (random.below(6) == 0) c.total = n_layer * c.rows_floor + static_cast<int64_t>(random.below(3));
  if (random.below(6) == 0) c.total = n_layer * c.n_prompt - static_cast<int64_t>(random.below(3));
  c.total = std::clamp(c.total, n_layer * c.rows_floor, n_layer * c.n_prompt);
  if (random.below(2)) c.weights.base_rows = random.uniform() * 2 * static_cast<double>(c.rows_floor);
  return c;
}

TEST(RowsForProperty, SumBoundsAndOrder) {
  Random random(41);
  for (int repeat = 0; repeat < 20000; ++repeat) {
    const Case c = random_case(random);
    const Rows rows = rows_of(c.weights, c.total, c.rows_floor, c.n_prompt);
    const auto& w = c.weights.weights;
    ASSERT_EQ(rows.size(), w.size());
    ASSERT_EQ(sum_of(rows), c.total) << "repeat " << repeat;
    ASSERT_GE(*std::min_element(rows.begin(), rows.end()), c.rows_floor);
    ASSERT_LE(*std::max_element(rows.begin(), rows.end()), c.n_prompt);
    for (size_t a = 0; a < w.size(); ++a) {
      for (size_t b = 0; b < w.size(); ++b) {
        if (w[a] > w[b]) {
          ASSERT_GE(rows[a] + 1, rows[b]) << "repeat " << repeat;
        }
        if (w[a] == w[b] && a < b) {
          ASSERT_TRUE(rows[a] == rows[b] || rows[a] == rows[b] + 1) << "repeat " << repeat;
        }
      }
    }
  }
}

// The level by bisection, another way to the same targets: whole rows are less than one row away from them.
TEST(RowsForProperty, AgreesWithBisectionOfTheLevel) {
  Random random(42);
  for (int repeat = 0; repeat < 5000; ++repeat) {
    const Case c = random_case(random);
    const auto& w = c.weights.weights;
    const double total = static_cast<double>(c.total);
    const double base = std::min(c.weights.base_rows, total / static_cast<double>(w.size()));
    const auto target = [&](double weight, double level) {
      return std::clamp(base + weight * level, static_cast<double>(c.rows_floor), static_cast<double>(c.n_prompt));
    };
    const auto filled = [&](double level) {
      return std::accumulate(w.begin(), w.end(), 0.0,
                             [&](double s, double weight) { return s + target(weight, level); });
    };
    double low = 0;
    double high = 1e40;
    if (filled(high) < total - 0.5) continue;  // the layers of weight 0 get more: a test of its own
    for (int step = 0; step < 400; ++step) {
      const double middle = low + (high - low) / 2;
      (filled(middle) < total ? low : high) = middle;
    }
    const Rows rows = rows_of(c.weights, c.total, c.rows_floor, c.n_prompt);
    for (size_t layer = 0; layer < w.size(); ++layer) {
      ASSERT_LT(std::abs(static_cast<double>(rows[layer]) - target(w[layer], high)), 1.001) << "repeat " << repeat;
    }
  }
}

// budgets.json stores shares instead of weights: the same rows have to come out.
TEST(RowsForProperty, OnlyTheProportionOfTheWeightsMatters) {
  Random random(43);
  for (int repeat = 0; repeat < 20000; ++repeat) {
    Case c = random_case(random);
    if (repeat % 2) {  // small whole weights: many equal remainders, which division by the sum must not tell apart
      for (double& w : c.weights.weights) w = static_cast<double>(1 + random.below(6));
      c.weights.base_rows = std::floor(c.weights.base_rows);
    }
    const Rows rows = rows_of(c.weights, c.total, c.rows_floor, c.n_prompt);
    AllocationWeights shares = c.weights;
    const double sum = std::accumulate(shares.weights.begin(), shares.weights.end(), 0.0);
    for (double& w : shares.weights) w /= sum;
    ASSERT_EQ(rows_of(shares, c.total, c.rows_floor, c.n_prompt), rows) << "repeat " << repeat;
    AllocationWeights scaled = c.weights;
    const double scale = std::exp(random.gaussian() * 50);
    for (double& w : scaled.weights) w *= scale;
    ASSERT_EQ(rows_of(scaled, c.total, c.rows_floor, c.n_prompt), rows) << "repeat " << repeat;
  }
}

TEST(RowsFor, ManyLayersAndVeryLongPrompts) {
  Random random(44);
  for (const auto& [n_layer, n_prompt] : {std::pair<size_t, int64_t>{200, 10'000'000},
                                          {200, std::numeric_limits<int32_t>::max()},
                                          {20'000, std::numeric_limits<int32_t>::max()}}) {
    AllocationWeights weights{std::vector<double>(n_layer), 32};
    for (double& w : weights.weights) w = std::exp(random.gaussian() * 3);
    for (double kept_fraction : {0.001, 0.1, 0.5, 0.999}) {
      const auto total =
          static_cast<int64_t>(kept_fraction * static_cast<double>(n_prompt)) * static_cast<int64_t>(n_layer) + 7;
      const Rows rows = rows_of(weights, total, 40, n_prompt);
      EXPECT_EQ(sum_of(rows), total);
      EXPECT_GE(*std::min_element(rows.begin(), rows.end()), 40);
      EXPECT_LE(*std::max_element(rows.begin(), rows.end()), n_prompt);
    }
  }
}

}  // namespace
}  // namespace ripplekv
