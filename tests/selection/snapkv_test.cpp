// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `snapkv` against numbers worked out by hand and against a plain implementation of its definition (design: mean over
// the window, pooling per query head over the rows before the window, one score per KV head).
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

LayerTaps taps_of(int64_t n_rows, int n_head, int n_head_kv, int n_window, const std::vector<float>& attention,
                  const std::vector<float>& norm = {}) {
  LayerTaps taps;
  taps.n_rows = n_rows;
  taps.n_head = n_head;
  taps.n_head_kv = n_head_kv;
  taps.n_window = n_window;
  taps.window_attention = attention;
  taps.value_norm = norm;
  return taps;
}

std::vector<float> scores_of(const SelectorOptions& options, const LayerTaps& taps) {
  return std::move(make_selector("snapkv", options)).value()->score(taps);
}

TEST(SnapKv, DeclaresWhatItReads) {
  const auto plain = std::move(make_selector("snapkv", {.window = 5})).value();
  EXPECT_EQ(plain->needs(), kTapWindowAttention);
  EXPECT_EQ(plain->protected_rows().n_window, 5);
  EXPECT_EQ(plain->n_query(100), 5);
  EXPECT_EQ(plain->n_query(3), 3);
  EXPECT_EQ(plain->protected_rows().n_sink, 0);
  const auto weighted = std::move(make_selector("snapkv", {.value_norm = true})).value();
  EXPECT_EQ(weighted->needs(), kTapWindowAttention | kTapValueNorm);
}

// One head, six rows, a window of two, kernel 3: the peak in row 0 loses a third to the padding, and the huge
// attention inside the window does not leak into row 3.
TEST(SnapKv, PoolsOnlyRowsBeforeTheWindow) {
  const std::vector<float> attention = {3, 0, 0, 6, 900, 900};
  const auto scores = scores_of({.window = 2, .kernel = 3}, taps_of(6, 1, 1, 2, attention));
  EXPECT_EQ(std::vector<float>(scores.begin(), scores.begin() + 4), (std::vector<float>{1, 1, 2, 2}));
}

TEST(SnapKv, MaxPooling) {
  const std::vector<float> attention = {3, 0, 0, 6, 900, 900};
  const auto scores = scores_of({.window = 2, .kernel = 3, .pooling = Pooling::kMax}, taps_of(6, 1, 1, 2, attention));
  EXPECT_EQ(std::vector<float>(scores.begin(), scores.begin() + 4), (std::vector<float>{3, 3, 6, 6}));
}

// Two query heads per KV head, max pooling: pooling comes before the mean over the group. The other order would give
// row 1 the pooled mean, 2, instead of the mean of the pooled, 4.
TEST(SnapKv, PoolsEachQueryHeadBeforeTheGroupIsReduced) {
  const std::vector<float> attention = {
      4, 0, 0, 0,  // query head 0
      0, 0, 4, 0,  // query head 1
      0, 0, 0, 0,  // query head 2
      8, 0, 0, 0,  // query head 3
  };
  const SelectorOptions options = {.window = 1, .kernel = 3, .pooling = Pooling::kMax};
  const auto mean = scores_of(options, taps_of(4, 4, 2, 1, attention));
  EXPECT_EQ(std::vector<float>(mean.begin(), mean.begin() + 3), (std::vector<float>{2, 4, 2}));
  EXPECT_EQ(std::vector<float>(mean.begin() + 4, mean.begin() + 7), (std::vector<float>{4, 4, 0}));
}

TEST(SnapKv, GroupMaxTakesTheStrongestQueryHead) {
  const std::vector<float> attention = {4, 0, 0, 0, 0, 0, 6, 0};
  const auto scores = scores_of({.window = 1, .kernel = 1, .group = GroupReduce::kMax}, taps_of(4, 2, 1, 1, attention));
  EXPECT_EQ(std::vector<float>(scores.begin(), scores.begin() + 3), (std::vector<float>{4, 0, 6}));
}

TEST(SnapKv, ValueNormWeighsEachRowOfItsKvHead) {
  const std::vector<float> attention = {1, 1, 1, 0, 1, 1, 1, 0};
  const std::vector<float> norm = {1, 2, 3, 9, 6, 5, 4, 9};
  const auto scores = scores_of({.window = 1, .kernel = 1, .value_norm = true}, taps_of(4, 2, 2, 1, attention, norm));
  EXPECT_EQ(std::vector<float>(scores.begin(), scores.begin() + 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(std::vector<float>(scores.begin() + 4, scores.begin() + 7), (std::vector<float>{6, 5, 4}));
}

TEST(SnapKv, PromptWithinTheWindowIsKeptWhole) {
  for (int64_t n_rows : {1, 5, 32}) {
    const std::vector<float> attention(static_cast<size_t>(n_rows) * 2, 0.5f);
    const auto selector = std::move(make_selector("snapkv", {.window = 32})).value();
    const auto scores = selector->score(taps_of(n_rows, 2, 1, static_cast<int>(n_rows), attention));
    EXPECT_EQ(prune(scores, n_rows, 1, 32, selector->protected_rows())[0].size(), static_cast<size_t>(n_rows));
  }
}

TEST(SnapKv, OneRowBeforeTheWindow) {
  const std::vector<float> attention = {5, 1, 1};
  EXPECT_EQ(scores_of({.window = 2, .kernel = 5}, taps_of(3, 1, 1, 2, attention))[0], 1.0f);
}

float plain_score(const SelectorOptions& options, const LayerTaps& taps, int64_t row, int head_kv) {
  const int n_group = taps.n_head / taps.n_head_kv;
  const int64_t n_scored = taps.n_rows - taps.n_window;
  double sum = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (int head = head_kv * n_group; head < (head_kv + 1) * n_group; ++head) {
    double pooled = options.pooling == Pooling::kMax ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = row - options.kernel / 2; i <= row + options.kernel / 2; ++i) {
      if (i < 0 || i >= n_scored) continue;
      const double a = taps.window_attention[static_cast<size_t>(head * taps.n_rows + i)];
      pooled = options.pooling == Pooling::kMax ? std::max(pooled, a) : pooled + a / options.kernel;
    }
    sum += pooled;
    largest = std::max(largest, pooled);
  }
  double score = options.group == GroupReduce::kMean ? sum / n_group : largest;
  if (options.value_norm) score *= taps.value_norm[static_cast<size_t>(head_kv * taps.n_rows + row)];
  return static_cast<float>(score);
}

TEST(SnapKv, AgreesWithThePlainDefinition) {
  Random random(3);
  for (int repeat = 0; repeat < 500; ++repeat) {
    SelectorOptions options;
    options.window = 1 + static_cast<int>(random.below(10));
    options.kernel = 1 + 2 * static_cast<int>(random.below(8));
    options.pooling = repeat & 1 ? Pooling::kMax : Pooling::kAverage;
    options.group = repeat & 2 ? GroupReduce::kMax : GroupReduce::kMean;
    options.value_norm = repeat & 4;
    const auto n_rows = 1 + static_cast<int64_t>(random.below(50));
    const int n_head_kv = 1 + static_cast<int>(random.below(3));
    const int n_head = n_head_kv * (1 + static_cast<int>(random.below(4)));
    std::vector<float> attention(static_cast<size_t>(n_rows * n_head));
    for (float& a : attention) a = static_cast<float>(random.uniform());
    std::vector<float> norm(static_cast<size_t>(n_rows * n_head_kv));
    for (float& n : norm) n = static_cast<float>(random.uniform() * 10);
    const auto taps = taps_of(n_rows, n_head, n_head_kv, static_cast<int>(std::min<int64_t>(options.window, n_rows)),
                              attention, norm);
    const auto scores = scores_of(options, taps);
    for (int head = 0; head < n_head_kv; ++head) {
      for (int64_t row = 0; row < n_rows - taps.n_window; ++row) {
        const float expected = plain_score(options, taps, row, head);
        ASSERT_NEAR(scores[static_cast<size_t>(head * n_rows + row)], expected, 1e-6 * (1 + expected))
            << "repeat " << repeat << " head " << head << " row " << row;
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
