// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// prune_heads(): counts that differ between KV heads, against hand-made cases and one sort of everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

// Of heads that are to keep equally many.
KeepList prune_heads(std::span<const float> scores, const std::vector<int64_t>& n_rows, int64_t rows,
                     const ProtectedRows& protected_rows, double head_floor) {
  return ripplekv::prune_heads(scores, n_rows, std::vector<int64_t>(n_rows.size(), rows), protected_rows, head_floor);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

KeepList prune_two(const std::vector<float>& scores, int64_t rows, double head_floor,
                   const ProtectedRows& protected_rows = {}) {
  const auto n = static_cast<int64_t>(scores.size() / 2);
  return prune_heads(scores, std::vector<int64_t>{n, n}, rows, protected_rows, head_floor);
}

TEST(PruneHeads, TheBestRowsOfAnyHeadStayAboveEachHeadsFloor) {
  const std::vector<float> scores = {9, 5, 8, 7, 6, 3, 1, 4, 1, 1};
  EXPECT_EQ(prune_two(scores, 2, 0.0), (KeepList{{0, 2, 3}, {2}}));
  EXPECT_EQ(prune_two(scores, 2, 0.5), (KeepList{{0, 2, 3}, {2}}));
  EXPECT_EQ(prune_two(scores, 2, 1.0), (KeepList{{0, 2}, {0, 2}}));
  EXPECT_EQ(prune_two(scores, 4, 0.0), (KeepList{{0, 1, 2, 3, 4}, {0, 1, 2}})) << "no head has more than it has";
  EXPECT_EQ(prune_two(scores, 4, 0.99), (KeepList{{0, 1, 2, 3, 4}, {0, 1, 2}})) << "the floor is rounded down";
  EXPECT_EQ(prune_two(scores, 4, 1.0), (KeepList{{0, 2, 3, 4}, {0, 1, 2, 3}}));
}

TEST(PruneHeads, ProtectedRowsOfEveryHeadStay) {
  const std::vector<float> scores = {9, 8, 7, 6, 5, 0, 0, 0, 0, 0};
  EXPECT_EQ(prune_two(scores, 3, 0.0, {1, 1}), (KeepList{{0, 1, 2, 4}, {0, 4}}));
  EXPECT_EQ(prune_two(scores, 2, 0.0, {1, 2}), (KeepList{{3, 4}, {3, 4}})) << "clamped as prune() clamps";
  EXPECT_EQ(prune_two(scores, 3, 0.9, {0, 1}), (KeepList{{0, 1, 2, 4}, {0, 4}}))
      << "protected rows count as the floor's";
}

TEST(PruneHeads, TiesGoToTheLowerRowThenTheLowerHead) {
  const std::vector<float> scores(12, 1.0F);
  EXPECT_EQ(prune_heads(scores, std::vector<int64_t>{4, 4, 4}, 2, {}, 0.0), (KeepList{{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(prune_heads(scores, std::vector<int64_t>{6, 6}, 3, {0, 2}, 0.0), (KeepList{{0, 4, 5}, {0, 4, 5}}));
  EXPECT_EQ(prune_two({kNan, 1, kNan, kNan, 1, kNan}, 1, 0.0), (KeepList{{1}, {1}}));
  EXPECT_EQ(prune_two({kNan, kNan, kNan, -kInf, -kInf, kNan}, 2, 0.0), (KeepList{{0, 1}, {0, 1}}));
}

TEST(PruneHeads, HeadsThatHaveTooFewRowsLeaveTheirsToTheOthers) {
  const std::vector<float> scores = {0, 1, 5, 2, 4, 3};
  const std::vector<int64_t> n_rows = {1, 5};
  EXPECT_EQ(prune_heads(scores, n_rows, 1, {}, 1.0), (KeepList{{0}, {1}}));
  EXPECT_EQ(prune_heads(scores, n_rows, 2, {}, 1.0), (KeepList{{0}, {1, 3, 4}}));
  for (const int64_t rows : {int64_t{3}, int64_t{4}, std::numeric_limits<int64_t>::max()}) {
    for (const double head_floor : {0.0, 1.0}) {
      EXPECT_EQ(prune_heads(scores, n_rows, rows, {}, head_floor), (KeepList{{0}, {0, 1, 2, 3, 4}}));
    }
  }
}

// Own rows first, then everything by rank, as one sort.
TEST(PruneHeads, AgreesWithSortingEverything) {
  Random random(7);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    std::vector<int64_t> n_rows(1 + random.below(4));
    for (int64_t& n : n_rows) n = 1 + static_cast<int64_t>(random.below(40));
    if (random.below(3) == 0) std::fill(n_rows.begin(), n_rows.end(), n_rows[0]);
    const int64_t n_all = std::accumulate(n_rows.begin(), n_rows.end(), int64_t{0});
    std::vector<int64_t> rows(n_rows.size(), 1 + static_cast<int64_t>(random.below(45)));
    if (random.below(2) == 0) {
      for (int64_t& of_head : rows) of_head = 1 + static_cast<int64_t>(random.below(45));
    }
    const ProtectedRows protected_rows = {static_cast<int>(random.below(6)), static_cast<int>(random.below(12))};
    const double head_floor = static_cast<double>(random.below(9)) / 8;  // exact
    std::vector<float> scores(static_cast<size_t>(n_all));
    const uint64_t n_level = 1 + random.below(30);
    for (float& s : scores) s = random.below(15) == 0 ? kNan : static_cast<float>(random.below(n_level));
    const KeepList keep = ripplekv::prune_heads(scores, n_rows, rows, protected_rows, head_floor);

    struct Row {
      bool own;
      double rank;
      int32_t row;
      size_t head;
    };
    std::vector<Row> all;
    std::vector<int64_t> n_own;
    size_t first = 0;
    int64_t total = 0;
    for (size_t head = 0; head < n_rows.size(); ++head) {
      const int64_t budget = std::min(rows[head], *std::max_element(n_rows.begin(), n_rows.end()));
      total += std::min(rows[head], n_all);
      const int64_t n_window = std::min<int64_t>({protected_rows.n_window, budget, n_rows[head]});
      const int64_t n_sink = std::min<int64_t>(protected_rows.n_sink, std::min(budget, n_rows[head]) - n_window);
      std::vector<Row> of_head;
      for (int64_t row = 0; row < n_rows[head]; ++row) {
        const float s = scores[first++];
        const bool is_protected = row < n_sink || row >= n_rows[head] - n_window;
        of_head.push_back({false, is_protected ? kInf : std::isnan(s) ? -kInf : s, static_cast<int32_t>(row), head});
      }
      std::stable_sort(of_head.begin(), of_head.end(), [](const Row& a, const Row& b) { return a.rank > b.rank; });
      const auto floor = static_cast<int64_t>(head_floor * static_cast<double>(budget));
      n_own.push_back(std::min(n_rows[head], std::max({floor, n_sink + n_window, int64_t{1}})));
      for (int64_t i = 0; i < n_own.back(); ++i) of_head[static_cast<size_t>(i)].own = true;
      all.insert(all.end(), of_head.begin(), of_head.end());
    }
    std::sort(all.begin(), all.end(), [](const Row& a, const Row& b) {
      if (a.own != b.own) return a.own;
      if (a.rank != b.rank) return a.rank > b.rank;
      return a.row != b.row ? a.row < b.row : a.head < b.head;
    });
    total = std::min(n_all, total);
    KeepList expected(n_rows.size());
    for (int64_t i = 0; i < total; ++i) {
      expected[all[static_cast<size_t>(i)].head].push_back(all[static_cast<size_t>(i)].row);
    }
    for (auto& list : expected) std::sort(list.begin(), list.end());
    ASSERT_EQ(keep, expected) << "repeat " << repeat;

    int64_t sum = 0;
    for (size_t head = 0; head < keep.size(); ++head) {
      sum += static_cast<int64_t>(keep[head].size());
      ASSERT_GE(static_cast<int64_t>(keep[head].size()), n_own[head]) << "repeat " << repeat;
    }
    ASSERT_EQ(sum, total) << "repeat " << repeat;
    const auto all_equal = [](const std::vector<int64_t>& of) {
      return std::ranges::count(of, of[0]) == std::ssize(of);
    };
    if (all_equal(n_rows) && all_equal(rows)) {
      ASSERT_EQ(prune_heads(scores, n_rows, rows[0], protected_rows, 1.0),
                prune(scores, n_rows[0], static_cast<int>(n_rows.size()), rows[0], protected_rows));
    }
  }
}

TEST(PruneHeadsDeathTest, SizesThatContradictEachOtherAreABugOfOurs) {
  const std::vector<float> scores(6);
  EXPECT_DEATH(prune_heads(scores, std::vector<int64_t>{2, 3}, 1, {}, 0.5), "check failed");
  EXPECT_DEATH(ripplekv::prune_heads(scores, std::vector<int64_t>{3, 3}, std::vector<int64_t>{1}, {}, 1.0),
               "check failed");
  EXPECT_DEATH(ripplekv::prune_heads(scores, std::vector<int64_t>{3, 3}, std::vector<int64_t>{1, 0}, {}, 1.0),
               "check failed");
  EXPECT_DEATH(prune_heads(scores, std::vector<int64_t>{3, 3}, 1, {}, 1.5), "check failed");
  EXPECT_DEATH(prune_heads(scores, std::vector<int64_t>{3, 3}, 1, {}, kNan), "check failed");
}

// A selector that sees one head at a time gives what it gives for all of them.
TEST(ScoreParts, PutsTheScoresOfPartsBehindEachOther) {
  const std::vector<float> attention = {1, 2, 3, 4, 5, 6};
  LayerTaps taps;
  taps.n_rows = 3;
  taps.n_head = 2;
  taps.n_head_kv = 2;
  taps.n_window = 1;
  taps.window_attention = attention;
  const auto selector = std::move(make_selector("snapkv", {.window = 1, .kernel = 1})).value();
  std::vector<LayerTaps> parts(2, taps);
  for (size_t i = 0; i < 2; ++i) {
    parts[i].n_head = parts[i].n_head_kv = 1;
    parts[i].window_attention = std::span(attention).subspan(3 * i, 3);
  }
  EXPECT_EQ(score_parts(*selector, parts), selector->score(taps));
  EXPECT_EQ(score_parts(*selector, std::span(&taps, 1)), selector->score(taps));
}

}  // namespace
}  // namespace ripplekv
