// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// prune() and pool_1d() against hand-made cases, plain implementations and hostile numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<int32_t> prune_one(const std::vector<float>& scores, int64_t rows, const ProtectedRows& protected_rows) {
  return prune(scores, static_cast<int64_t>(scores.size()), 1, rows, protected_rows)[0];
}

using Rows = std::vector<int32_t>;

TEST(Prune, KeepsTheBestOfEachHead) {
  const std::vector<float> scores = {0, 5, 1, 4, 2, 3, 5, 0, 4, 1, 3, 2};
  EXPECT_EQ(prune(scores, 6, 2, 3, {}), (KeepList{{1, 3, 5}, {0, 2, 4}}));
}

TEST(Prune, ProtectedRowsStayWhateverTheirScore) {
  EXPECT_EQ(prune_one({-9, 1, 2, 3, 4, 5, -9, -9}, 5, {1, 2}), (Rows{0, 4, 5, 6, 7}));
  EXPECT_EQ(prune_one({kNan, 1, 2, -kInf}, 2, {1, 1}), (Rows{0, 3}));
}

TEST(Prune, TiesGoToTheLowerRow) {
  EXPECT_EQ(prune_one({1, 1, 1, 1, 1}, 2, {}), (Rows{0, 1}));
  EXPECT_EQ(prune_one({0, 7, 7, 7, 0}, 2, {}), (Rows{1, 2}));
  EXPECT_EQ(prune_one({-0.0f, 0.0f, 0.0f}, 1, {}), (Rows{0}));
}

TEST(Prune, NanRanksBelowMinusInfinity) {
  EXPECT_EQ(prune_one({kNan, -kInf, kNan, kInf}, 2, {}), (Rows{1, 3}));
  EXPECT_EQ(prune_one({kNan, -kInf, kNan, kInf}, 3, {}), (Rows{0, 1, 3}));
  EXPECT_EQ(prune_one({kNan, kNan, kNan}, 2, {}), (Rows{0, 1}));
}

TEST(Prune, AsManyRowsAsThereAreOrMoreKeepsAll) {
  for (int64_t rows : {int64_t{3}, int64_t{4}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(prune_one({3, 1, 2}, rows, {}), (Rows{0, 1, 2}));
    EXPECT_EQ(prune_one({3, 1, 2}, rows, {2, 9}), (Rows{0, 1, 2}));
  }
}

TEST(Prune, TooManyProtectedRowsKeepTheWindowThenTheSinks) {
  EXPECT_EQ(prune_one({1, 1, 1, 1, 1, 1}, 2, {2, 3}), (Rows{4, 5}));
  EXPECT_EQ(prune_one({1, 1, 1, 1, 1, 1}, 4, {2, 3}), (Rows{0, 3, 4, 5}));
  EXPECT_EQ(prune_one({1, 1, 1, 1}, 3, {4, 4}), (Rows{1, 2, 3}));
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(prune_one({1, 1, 1, 1}, 3, {kMost, kMost}), (Rows{1, 2, 3}));
}

TEST(Prune, EmptyInput) {
  EXPECT_EQ(prune({}, 0, 2, 5, {1, 1}), (KeepList{{}, {}}));
  EXPECT_TRUE(prune({}, 7, 0, 5, {}).empty());
}

TEST(Prune, AgreesWithSortingEverything) {
  Random random(5);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const auto n_rows = 1 + static_cast<int64_t>(random.below(80));
    const int n_head_kv = 1 + static_cast<int>(random.below(3));
    const auto rows = 1 + static_cast<int64_t>(random.below(90));
    const ProtectedRows protected_rows = {static_cast<int>(random.below(10)), static_cast<int>(random.below(20))};
    std::vector<float> scores(static_cast<size_t>(n_rows * n_head_kv));
    const uint64_t n_level = 1 + random.below(12);  // few levels: many ties
    for (float& s : scores) {
      s = static_cast<float>(random.below(n_level));
      if (random.below(15) == 0) s = kNan;
      if (random.below(30) == 0) s = random.below(2) ? kInf : -kInf;
    }
    const KeepList keep = prune(scores, n_rows, n_head_kv, rows, protected_rows);
    const int64_t n_keep = std::min(rows, n_rows);
    const int64_t n_window = std::min<int64_t>(protected_rows.n_window, n_keep);
    const int64_t n_sink = std::min<int64_t>(protected_rows.n_sink, n_keep - n_window);
    for (int head = 0; head < n_head_kv; ++head) {
      Rows order(static_cast<size_t>(n_rows));
      std::iota(order.begin(), order.end(), 0);
      const auto rank = [&](int32_t row) {
        if (row >= n_rows - n_window || row < n_sink) return 2.0;
        const float s = scores[static_cast<size_t>(head * n_rows + row)];
        if (std::isnan(s)) return -2.0;
        return s == kInf ? 1.0 : s == -kInf ? -1.0 : s / 100.0;
      };
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return rank(a) > rank(b); });
      order.resize(static_cast<size_t>(n_keep));
      std::sort(order.begin(), order.end());
      ASSERT_EQ(keep[static_cast<size_t>(head)], order) << "repeat " << repeat << " head " << head;
    }
  }
}

TEST(Prune, LongPrompt) {
  constexpr int64_t kRows = 2'000'000;
  std::vector<float> scores(kRows);
  Random random(6);
  for (float& s : scores) s = static_cast<float>(random.below(1000));
  const Rows keep = prune_one(scores, 200'000, {4, 32});
  ASSERT_EQ(keep.size(), 200'000u);
  EXPECT_TRUE(std::is_sorted(keep.begin(), keep.end()));
  EXPECT_EQ(std::adjacent_find(keep.begin(), keep.end()), keep.end());
}

TEST(PruneDeathTest, SizesThatContradictEachOtherAreABugOfOurs) {
  const std::vector<float> scores(6);
  EXPECT_DEATH(prune(scores, 4, 2, 1, {}), "check failed");
  EXPECT_DEATH(prune(scores, 3, 2, 0, {}), "check failed");
}

std::vector<float> pooled(std::vector<float> x, int64_t n, int kernel, Pooling pooling) {
  pool_1d(x, n, kernel, pooling);
  return x;
}

TEST(Pool1d, ZeroPaddingCountsInTheMean) {
  EXPECT_EQ(pooled({3, 3, 3, 3}, 4, 3, Pooling::kAverage), (std::vector<float>{2, 3, 3, 2}));
  EXPECT_EQ(pooled({10, 0, 5}, 3, 5, Pooling::kAverage), (std::vector<float>{3, 3, 3}));
}

TEST(Pool1d, PaddingNeverWinsTheMaximum) {
  EXPECT_EQ(pooled({-1, -2, -3, -4}, 4, 3, Pooling::kMax), (std::vector<float>{-1, -1, -2, -3}));
}

TEST(Pool1d, HeadsDoNotMix) {
  EXPECT_EQ(pooled({3, 0, 0, 9, 0, 0}, 3, 3, Pooling::kAverage), (std::vector<float>{1, 1, 0, 3, 3, 0}));
  EXPECT_EQ(pooled({3, 0, 0, 9, 0, 0}, 3, 3, Pooling::kMax), (std::vector<float>{3, 3, 0, 9, 9, 0}));
}

TEST(Pool1d, KernelOneAndNothingToPool) {
  EXPECT_EQ(pooled({1, 5, kInf}, 3, 1, Pooling::kAverage), (std::vector<float>{1, 5, kInf}));
  EXPECT_TRUE(pooled({}, 0, 5, Pooling::kAverage).empty());
  EXPECT_TRUE(pooled({}, 4, 5, Pooling::kMax).empty());
}

TEST(Pool1d, KernelFarWiderThanTheData) {
  constexpr int kWidest = std::numeric_limits<int>::max();
  EXPECT_EQ(pooled({1, 7, 2}, 3, kWidest, Pooling::kMax), (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(pooled({1, 7, 2}, 3, 101, Pooling::kAverage), (std::vector<float>(3, static_cast<float>(10.0 / 101))));
  EXPECT_GT(pooled({1}, 1, kWidest, Pooling::kAverage)[0], 0.0f);
}

TEST(Pool1d, NonFiniteValuesStayInTheirWindows) {
  const auto mean = pooled({kNan, 0, 0, 3, 3, kInf}, 6, 3, Pooling::kAverage);
  EXPECT_TRUE(std::isnan(mean[0]) && std::isnan(mean[1]));
  EXPECT_EQ(std::vector<float>(mean.begin() + 2, mean.end()), (std::vector<float>{1, 2, kInf, kInf}));
  for (int place = 0; place < 5; ++place) {
    std::vector<float> x = {1, 2, 3, 4, 5};
    x[static_cast<size_t>(place)] = kNan;
    const auto most = pooled(x, 5, 3, Pooling::kMax);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(std::isnan(most[static_cast<size_t>(i)]), std::abs(i - place) <= 1);
  }
}

TEST(Pool1d, LargestFiniteValuesDoNotOverflow) {
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_EQ(pooled({kMost, kMost, kMost}, 3, 3, Pooling::kAverage)[1], kMost);
}

TEST(Pool1d, AgreesWithThePlainDefinition) {
  Random random(7);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const auto n = 1 + static_cast<int64_t>(random.below(40));
    const auto n_head = 1 + static_cast<int64_t>(random.below(3));
    const int kernel = 1 + 2 * static_cast<int>(random.below(45));
    std::vector<float> x(static_cast<size_t>(n * n_head));
    for (float& value : x) value = static_cast<float>(random.gaussian());
    const auto mean = pooled(x, n, kernel, Pooling::kAverage);
    const auto most = pooled(x, n, kernel, Pooling::kMax);
    for (int64_t head = 0; head < n_head; ++head) {
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        float largest = -kInf;
        for (int64_t j = std::max<int64_t>(0, i - kernel / 2); j <= std::min(n - 1, i + kernel / 2); ++j) {
          sum += x[static_cast<size_t>(head * n + j)];
          largest = std::max(largest, x[static_cast<size_t>(head * n + j)]);
        }
        const auto index = static_cast<size_t>(head * n + i);
        ASSERT_NEAR(mean[index], sum / kernel, 1e-6) << "n " << n << " kernel " << kernel << " i " << i;
        ASSERT_EQ(most[index], largest) << "n " << n << " kernel " << kernel << " i " << i;
      }
    }
  }
}

TEST(Pool1dDeathTest, EvenKernelIsABugOfOurs) {
  std::vector<float> x(4);
  EXPECT_DEATH(pool_1d(x, 4, 2, Pooling::kAverage), "check failed");
  EXPECT_DEATH(pool_1d(x, 3, 3, Pooling::kAverage), "check failed");
}

}  // namespace
}  // namespace ripplekv
