// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `streaming_llm`: sinks and the latest rows, nothing else.
#include <gtest/gtest.h>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

KeepList keep_of(const SelectorOptions& options, int64_t n_rows, int64_t rows) {
  const auto selector = std::move(make_selector("streaming_llm", options)).value();
  EXPECT_EQ(selector->needs(), kTapNone);
  LayerTaps taps;
  taps.n_rows = n_rows;
  taps.n_head = 6;
  taps.n_head_kv = 2;
  return prune(selector->score(taps), n_rows, 2, rows, selector->protected_rows());
}

TEST(StreamingLlm, KeepsSinksAndTheLatestRows) {
  EXPECT_EQ(keep_of({.window = 3, .n_sink = 2}, 12, 7), (KeepList{{0, 1, 7, 8, 9, 10, 11}, {0, 1, 7, 8, 9, 10, 11}}));
}

TEST(StreamingLlm, WithoutSinksOnlyTheLatest) {
  EXPECT_EQ(keep_of({.window = 1, .n_sink = 0}, 6, 3), (KeepList{{3, 4, 5}, {3, 4, 5}}));
}

TEST(StreamingLlm, PromptShorterThanSinksAndWindow) {
  EXPECT_EQ(keep_of({.window = 32, .n_sink = 4}, 3, 40), (KeepList{{0, 1, 2}, {0, 1, 2}}));
}

}  // namespace
}  // namespace ripplekv
