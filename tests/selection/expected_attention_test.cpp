// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `expected_attention`: softmax behind the sinks, mean over the group, times the norm of V.
#include <gtest/gtest.h>

#include <cmath>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

TEST(ExpectedAttention, LeavesTheSinksOut) {
  const auto selector = std::move(make_selector("expected_attention", {.n_sink = 4})).value();
  EXPECT_EQ(selector->needs(), kTapFutureAttention | kTapValueNorm);
  EXPECT_EQ(selector->n_query(1000), 996);
  EXPECT_EQ(selector->n_query(3), 1);
  EXPECT_EQ(selector->protected_rows().n_sink, 4);
  EXPECT_EQ(selector->protected_rows().n_window, 0);
}

TEST(ExpectedAttention, SoftmaxPerQueryHeadThenMeanThenNorm) {
  const float log3 = std::log(3.0F);
  // Behind one sink head 0 gives 1/4 and 3/4, head 1 gives 1/2 and 1/2; large logits do not overflow.
  const std::vector<float> logits = {900, 0, log3, -5, 800, 800};
  const std::vector<float> norm = {9, 2, 4};
  LayerTaps taps = {.n_rows = 3, .n_head = 2, .n_head_kv = 1, .n_window = 2};
  taps.future_attention = logits;
  taps.value_norm = norm;
  const auto scores = std::move(make_selector("expected_attention", {.n_sink = 1})).value()->score(taps);
  EXPECT_EQ(scores[0], 0);
  EXPECT_NEAR(scores[1], 2 * (0.25 + 0.5) / 2, 1e-6);
  EXPECT_NEAR(scores[2], 4 * (0.75 + 0.5) / 2, 1e-6);
}

TEST(ExpectedAttention, FewerRowsThanSinks) {
  const std::vector<float> logits = {1, 2};
  const std::vector<float> norm = {1, 1};
  LayerTaps taps = {.n_rows = 2, .n_head = 1, .n_head_kv = 1, .n_window = 1};
  taps.future_attention = logits;
  taps.value_norm = norm;
  EXPECT_EQ(std::move(make_selector("expected_attention", {.n_sink = 4})).value()->score(taps),
            (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace ripplekv
