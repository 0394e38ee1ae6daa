// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `random`: repeatable, different by seed, layer and head, and without a preferred place.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

std::vector<float> scores_of(uint64_t seed, int layer, int64_t n_rows, int n_head_kv) {
  const auto selector = std::move(make_selector("random", {.seed = seed})).value();
  LayerTaps taps;
  taps.layer = layer;
  taps.n_rows = n_rows;
  taps.n_head = n_head_kv;
  taps.n_head_kv = n_head_kv;
  return selector->score(taps);
}

TEST(RandomSelector, ProtectsTheWindowAlone) {
  const auto selector = std::move(make_selector("random", {.window = 7})).value();
  EXPECT_EQ(selector->protected_rows().n_window, 7);
  EXPECT_EQ(selector->protected_rows().n_sink, 0);
}

TEST(RandomSelector, SeedLayerAndHeadAllMatter) {
  std::set<std::vector<float>> seen;
  for (uint64_t seed : {0, 1, 2}) {
    for (int layer : {0, 1, 2}) {
      const auto scores = scores_of(seed, layer, 50, 3);
      EXPECT_EQ(scores, scores_of(seed, layer, 50, 3));
      for (int head = 0; head < 3; ++head) {
        seen.insert(std::vector<float>(scores.begin() + head * 50, scores.begin() + (head + 1) * 50));
      }
    }
  }
  EXPECT_EQ(seen.size(), 27u);
}

// 400 layers keep 25 of 100 rows: every row is kept 100 times give or take 5 standard deviations (8.7 each).
TEST(RandomSelector, EveryRowIsKeptEquallyOften) {
  std::vector<int> n_kept(100, 0);
  for (int layer = 0; layer < 400; ++layer) {
    const KeepList keep = prune(scores_of(9, layer, 100, 1), 100, 1, 25, {});
    for (int32_t row : keep[0]) ++n_kept[static_cast<size_t>(row)];
  }
  EXPECT_GT(*std::min_element(n_kept.begin(), n_kept.end()), 100 - 44);
  EXPECT_LT(*std::max_element(n_kept.begin(), n_kept.end()), 100 + 44);
}

}  // namespace
}  // namespace ripplekv
