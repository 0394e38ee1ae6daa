// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The nudge: its size is eps times the norm of the row, it touches no other row, depends on seed, head and row alone,
// and points everywhere alike.
#include "profiling/perturbation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace ripplekv {
namespace {

constexpr int kHeadDim = 64;
constexpr int kHeads = 3;
constexpr int64_t kRows = 50;

std::vector<float> random_v(int64_t n, Random& random) {
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = static_cast<float>(random.gaussian() * std::exp(random.gaussian()));
  return v;
}

std::span<const float> row_of(const std::vector<float>& v, int head_dim, int64_t n_rows, int head, int64_t row) {
  return std::span(v).subspan(static_cast<size_t>((head * n_rows + row) * head_dim), static_cast<size_t>(head_dim));
}

double norm(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * value;
  return std::sqrt(sum);
}

std::vector<float> difference(std::span<const float> a, std::span<const float> b) {
  std::vector<float> result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(a[i] - b[i]);
  return result;
}

TEST(Perturbation, RowsToNudge) {
  const auto rows = [](bool evictable, int64_t n_rows, int n_sink, int n_window) {
    const NudgeRows nudged = rows_to_nudge(evictable, n_rows, n_sink, n_window);
    return std::pair(nudged.begin, nudged.end);
  };
  EXPECT_EQ(rows(false, 100, 4, 32), std::pair(int64_t{0}, int64_t{100}));
  EXPECT_EQ(rows(true, 100, 4, 32), std::pair(int64_t{4}, int64_t{68}));
  EXPECT_EQ(rows(true, 100, 0, 0), std::pair(int64_t{0}, int64_t{100}));
  EXPECT_EQ(rows(true, 37, 4, 32), std::pair(int64_t{4}, int64_t{5}));
  for (int64_t n_rows = 0; n_rows < 60; ++n_rows) {  // nothing to nudge is an empty range within the rows
    const NudgeRows nudged = rows_to_nudge(true, n_rows, 4, 32);
    EXPECT_GE(nudged.begin, 0);
    EXPECT_LE(nudged.begin, nudged.end);
    EXPECT_LE(nudged.end, n_rows);
    EXPECT_EQ(nudged.end - nudged.begin, std::max<int64_t>(0, n_rows - 36));
  }
}

TEST(Perturbation, TheChangeIsEpsTimesTheNormOfTheRow) {
  Random random(1);
  for (const int head_dim : {1, 32, 64, 96, 128}) {
    for (const double eps : {0.01, 0.5, 1.0, 3.0}) {
      const std::vector<float> before = random_v(kRows * kHeads * head_dim, random);
      std::vector<float> after = before;
      nudge(after, head_dim, kRows, kHeads, {0, kRows}, eps, 7);
      for (int head = 0; head < kHeads; ++head) {
        for (int64_t row = 0; row < kRows; ++row) {
          const auto old = row_of(before, head_dim, kRows, head, row);
          const std::vector<float> change = difference(row_of(after, head_dim, kRows, head, row), old);
          ASSERT_NEAR(norm(change) / (eps * norm(old)), 1, 1e-6 / eps) << head_dim << " " << eps << " " << row;
        }
      }
    }
  }
}

// One direction per head: rows change by the same unit vector, each times its own norm; heads differ.
TEST(Perturbation, RowsOfAHeadMayShareADirection) {
  Random random(5);
  const std::vector<float> before = random_v(kRows * kHeads * kHeadDim, random);
  std::vector<float> after = before;
  nudge(after, kHeadDim, kRows, kHeads, {0, kRows}, 1.0, 7, NudgeDirection::kHead);
  std::vector<std::vector<float>> first;
  for (int head = 0; head < kHeads; ++head) {
    for (int64_t row = 0; row < kRows; ++row) {
      const auto old = row_of(before, kHeadDim, kRows, head, row);
      std::vector<float> unit = difference(row_of(after, kHeadDim, kRows, head, row), old);
      for (float& x : unit) x /= static_cast<float>(norm(old));
      if (row == 0) first.push_back(unit);
      const std::vector<float> change = difference(unit, first.back());
      ASSERT_LT(norm(change), 1e-4) << head << " " << row;
    }
  }
  const std::vector<float> between_heads = difference(first[0], first[1]);
  EXPECT_GT(norm(between_heads), 0.5);
}

TEST(Perturbation, OtherRowsAreUntouched) {
  Random random(2);
  const std::vector<float> before = random_v(kRows * kHeads * kHeadDim, random);
  for (const NudgeRows rows : {NudgeRows{0, 0}, NudgeRows{4, 18}, NudgeRows{49, 50}, NudgeRows{0, 50}}) {
    std::vector<float> after = before;
    nudge(after, kHeadDim, kRows, kHeads, rows, 1, 7);
    for (int head = 0; head < kHeads; ++head) {
      for (int64_t row = 0; row < kRows; ++row) {
        const auto a = row_of(before, kHeadDim, kRows, head, row);
        const auto b = row_of(after, kHeadDim, kRows, head, row);
        ASSERT_EQ(std::equal(a.begin(), a.end(), b.begin()), row < rows.begin || row >= rows.end) << row;
      }
    }
  }
}

TEST(Perturbation, ZeroStaysZero) {
  std::vector<float> v(static_cast<size_t>(kRows * kHeads * kHeadDim), 0);
  nudge(v, kHeadDim, kRows, kHeads, {0, kRows}, 1, 7);
  for (const float x : v) ASSERT_EQ(x, 0);
  Random random(3);
  std::vector<float> before = random_v(kRows * kHeadDim, random);
  v = before;
  nudge(v, kHeadDim, kRows, 1, {0, kRows}, 0, 7);
  EXPECT_EQ(v, before);
}

TEST(Perturbation, DirectionsDependOnSeedHeadAndRowAlone) {
  const std::vector<float> ones(static_cast<size_t>(kRows * kHeads * kHeadDim), 1);
  std::vector<float> a = ones;
  nudge(a, kHeadDim, kRows, kHeads, {0, kRows}, 1, 7);
  std::vector<float> again = ones;
  nudge(again, kHeadDim, kRows, kHeads, {0, kRows}, 1, 7);
  EXPECT_EQ(again, a);
  // A shorter prompt, fewer heads, fewer rows nudged: the same rows end up the same.
  std::vector<float> shorter(static_cast<size_t>(20 * 2 * kHeadDim), 1);
  nudge(shorter, kHeadDim, 20, 2, {5, 20}, 1, 7);
  for (int head = 0; head < 2; ++head) {
    for (int64_t row = 5; row < 20; ++row) {
      const auto x = row_of(shorter, kHeadDim, 20, head, row);
      ASSERT_TRUE(std::equal(x.begin(), x.end(), row_of(a, kHeadDim, kRows, head, row).begin())) << row;
    }
  }
  // And no two of them alike, whether by seed, head or row.
  std::vector<float> b = ones;
  nudge(b, kHeadDim, kRows, kHeads, {0, kRows}, 1, 8);
  std::vector<std::span<const float>> rows;
  for (const auto* v : {&a, &b}) {
    for (int head = 0; head < kHeads; ++head) {
      for (int64_t row = 0; row < kRows; ++row) rows.push_back(row_of(*v, kHeadDim, kRows, head, row));
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      double cosine = 0;  // of the directions, which are nudged - 1 over the norm 8
      for (size_t d = 0; d < kHeadDim; ++d) cosine += (rows[i][d] - 1) * (rows[j][d] - 1) / kHeadDim;
      ASSERT_LT(std::abs(cosine), 0.75) << i << " and " << j;  // 6 standard deviations of 1 / sqrt(64)
    }
  }
}

TEST(Perturbation, DirectionsPointEverywhereAlike) {
  constexpr int64_t kMany = 20000;
  constexpr int kSmall = 8;
  std::vector<float> v(static_cast<size_t>(kMany * kSmall), 1);
  nudge(v, kSmall, kMany, 1, {0, kMany}, 1, 123);
  const double size = std::sqrt(kSmall);  // norm of the row before
  std::vector<double> mean(kSmall, 0);
  std::vector<double> square(kSmall * kSmall, 0);
  for (int64_t row = 0; row < kMany; ++row) {
    const auto x = row_of(v, kSmall, kMany, 0, row);
    for (size_t i = 0; i < kSmall; ++i) {
      mean[i] += (x[i] - 1) / size / kMany;
      for (size_t j = 0; j < kSmall; ++j) square[i * kSmall + j] += (x[i] - 1) * (x[j] - 1) / size / size / kMany;
    }
  }
  // Of unit vectors: mean 0, covariance 1/n on the diagonal and 0 beside it; 6 standard errors each.
  for (size_t i = 0; i < kSmall; ++i) {
    EXPECT_NEAR(mean[i], 0, 6 / std::sqrt(8.0 * kMany));
    for (size_t j = 0; j < kSmall; ++j) {
      EXPECT_NEAR(square[i * kSmall + j], i == j ? 1.0 / kSmall : 0, 6 * 0.15 / std::sqrt(double{kMany}));
    }
  }
}

TEST(PerturbationDeathTest, BrokenRequirements) {
  std::vector<float> v(kHeadDim * 2 * 5);
  EXPECT_DEATH(nudge(v, kHeadDim, 4, 2, {0, 4}, 1, 7), "check failed");
  EXPECT_DEATH(nudge(v, kHeadDim, 5, 2, {0, 6}, 1, 7), "check failed");
  EXPECT_DEATH(nudge(v, kHeadDim, 5, 2, {-1, 5}, 1, 7), "check failed");
}

}  // namespace
}  // namespace ripplekv
