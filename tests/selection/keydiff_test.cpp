// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `keydiff`: minus the cosine to the mean of the unit keys of the head.
#include <gtest/gtest.h>

#include <cmath>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

TEST(KeyDiff, KeysThatDifferFromTheOthersStay) {
  // Head 0: (2, 0), (5, 0), (0, 1): unit mean (2, 1) / 3. Head 1: all alike, whatever their length.
  const std::vector<float> keys = {2, 0, 5, 0, 0, 1, 1, 1, 2, 2, 7, 7};
  LayerTaps taps = {.n_rows = 3, .n_head = 2, .n_head_kv = 2};
  taps.keys = keys;
  const auto selector = std::move(make_selector("keydiff", {})).value();
  EXPECT_EQ(selector->needs(), kTapKeys);
  const auto scores = selector->score(taps);
  const double expected[] = {-2 / std::sqrt(5), -2 / std::sqrt(5), -1 / std::sqrt(5), -1, -1, -1};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(scores[i], expected[i], 1e-6) << i;
}

TEST(KeyDiff, KeysOfZerosAndKeysThatCancelHaveNoDirection) {
  const std::vector<float> keys = {0, 0, 1, 0, -1, 0};
  LayerTaps taps = {.n_rows = 3, .n_head = 1, .n_head_kv = 1};
  taps.keys = keys;
  EXPECT_EQ(std::move(make_selector("keydiff", {})).value()->score(taps), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace ripplekv
