// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `full` keeps all rows where it may, and is well defined where it may not.
#include <gtest/gtest.h>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

TEST(Full, KeepsEverythingAndProtectsNothing) {
  const auto selector = std::move(make_selector("full", {})).value();
  EXPECT_EQ(selector->needs(), kTapNone);
  EXPECT_EQ(selector->protected_rows().count(), 0);
  LayerTaps taps;
  taps.n_rows = 4;
  taps.n_head = 4;
  taps.n_head_kv = 2;
  const auto scores = selector->score(taps);
  EXPECT_EQ(prune(scores, 4, 2, 4, selector->protected_rows()), (KeepList{{0, 1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_EQ(prune(scores, 4, 2, 2, selector->protected_rows()), (KeepList{{0, 1}, {0, 1}}));
}

}  // namespace
}  // namespace ripplekv
