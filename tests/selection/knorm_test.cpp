// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `knorm`: minus the length of the key.
#include <gtest/gtest.h>

#include <cmath>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

TEST(KNorm, ShortKeysStay) {
  const std::vector<float> keys = {3, 4, 0, 1, 6, 8, 0, 0};  // 2 KV heads of 2 rows of 2 values
  LayerTaps taps = {.n_rows = 2, .n_head = 2, .n_head_kv = 2};
  taps.keys = keys;
  const auto selector = std::move(make_selector("knorm", {})).value();
  EXPECT_EQ(selector->needs(), kTapKeys);
  EXPECT_EQ(selector->n_query(10), 0);
  EXPECT_EQ(selector->protected_rows().count(), 0);
  EXPECT_EQ(selector->score(taps), (std::vector<float>{-5, -1, -10, 0}));
}

}  // namespace
}  // namespace ripplekv
