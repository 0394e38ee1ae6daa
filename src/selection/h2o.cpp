// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `h2o`: the rows that all queries together attended to most ("heavy hitters"). Zhang et al. 2023, "H2O: Heavy-Hitter
// Oracle for efficient generative inference". The prompt is seen whole before rows are dropped, so every row's sum is
// divided by the number of queries that could see it, as in kvpress 0.5.5 (ObservedAttentionPress); the paper's budget
// for recent rows is sinks+h2o with a window. While decoding, the queries observed are the last W. Reads no option.
#include <algorithm>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class H2o final : public Selector {
 public:
  std::string_view name() const override { return "h2o"; }
  unsigned needs() const override { return kTapWindowAttention; }
  int64_t n_query(int64_t n_tokens) const override { return n_tokens; }
  ProtectedRows protected_rows() const override { return {}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    const auto n_rows = static_cast<size_t>(taps.n_rows);
    RKV_CHECK(taps.window_attention.size() == n_rows * static_cast<size_t>(taps.n_head));
    const int n_group = taps.n_head / taps.n_head_kv;
    std::vector<float> scores(n_rows * static_cast<size_t>(taps.n_head_kv), 0.0F);
    for (int head = 0; head < taps.n_head; ++head) {
      const float* attention = taps.window_attention.data() + static_cast<size_t>(head) * n_rows;
      float* score = scores.data() + static_cast<size_t>(head / n_group) * n_rows;
      for (size_t row = 0; row < n_rows; ++row) {
        const auto n_seeing = std::min<int64_t>(taps.n_window, taps.n_rows - static_cast<int64_t>(row));
        score[row] += attention[row] * static_cast<float>(taps.n_window) / static_cast<float>(n_seeing * n_group);
      }
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<Selector> make_h2o(const SelectorOptions&) { return std::make_unique<H2o>(); }

}  // namespace ripplekv
