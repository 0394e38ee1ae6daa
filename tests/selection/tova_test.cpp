// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `tova`: one query, one mean for all heads.
#include <gtest/gtest.h>

#include <cmath>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

TEST(Tova, ObservesTheNewestQueryAndProtectsItsRow) {
  const auto selector = std::move(make_selector("tova", {.window = 32})).value();
  EXPECT_EQ(selector->needs(), kTapWindowAttention);
  EXPECT_EQ(selector->n_query(1000), 1);
  EXPECT_EQ(selector->protected_rows().n_window, 1);
  EXPECT_EQ(selector->protected_rows().n_sink, 0);
}

TEST(Tova, AllHeadsKeepTheRowsOfTheMean) {
  const std::vector<float> attention = {1, 0, 0, 0, 0.5, 0.5, 0, 0.25, 0.75, 0, 0, 1};  // 4 query heads, 3 rows
  LayerTaps taps = {.n_rows = 3, .n_head = 4, .n_head_kv = 2, .n_window = 1};
  taps.window_attention = attention;
  const auto scores = std::move(make_selector("tova", {})).value()->score(taps);
  EXPECT_EQ(scores, (std::vector<float>{0.25, 0.1875, 0.5625, 0.25, 0.1875, 0.5625}));
}

}  // namespace
}  // namespace ripplekv
