// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `h2o` against sums worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

TEST(H2o, ObservesTheWholePromptAndProtectsNothing) {
  const auto selector = std::move(make_selector("h2o", {})).value();
  EXPECT_EQ(selector->needs(), kTapWindowAttention);
  EXPECT_EQ(selector->n_query(1000), 1000);
  EXPECT_EQ(selector->protected_rows().count(), 0);
}

// Three queries of three rows. Head 0 attends 1; 0.5 0.5; 0.25 0.25 0.5: sums 1.75, 0.75, 0.5 over 3, 2, 1 queries that
// could see the row. Head 1 always attends to the first row.
TEST(H2o, SumsOverTheQueriesThatCouldSeeTheRow) {
  const std::vector<float> mean = {1.75F / 3, 0.75F / 3, 0.5F / 3, 1, 0, 0};
  LayerTaps taps = {.n_rows = 3, .n_head = 2, .n_head_kv = 1, .n_window = 3};
  taps.window_attention = mean;
  const auto scores = std::move(make_selector("h2o", {})).value()->score(taps);
  EXPECT_NEAR(scores[0], (1.75 / 3 + 1) / 2, 1e-6);
  EXPECT_NEAR(scores[1], 0.75 / 2 / 2, 1e-6);
  EXPECT_NEAR(scores[2], 0.5 / 2, 1e-6);
}

// While decoding only the last queries are observed: every row before them could be seen by all of these.
TEST(H2o, ObservingTheLastQueriesOnly) {
  const std::vector<float> mean = {0.5, 0.25, 0.125, 0.125};  // over 2 queries
  LayerTaps taps = {.n_rows = 4, .n_head = 1, .n_head_kv = 1, .n_window = 2};
  taps.window_attention = mean;
  const auto scores = std::move(make_selector("h2o", {})).value()->score(taps);
  EXPECT_EQ(scores, (std::vector<float>{0.5, 0.25, 0.125, 0.25}));
}

}  // namespace
}  // namespace ripplekv
