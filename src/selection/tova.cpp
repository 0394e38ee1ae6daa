// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `tova`: the rows that the newest query attends to, mean over all heads; every KV head keeps the same rows.
// Oren et al. 2024, "Transformers are multi-state RNNs". The newest row itself is protected, as in kvpress 0.5.5.
// Reads no option.
#include <algorithm>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class Tova final : public Selector {
 public:
  std::string_view name() const override { return "tova"; }
  unsigned needs() const override { return kTapWindowAttention; }
  int64_t n_query(int64_t n_tokens) const override { return std::min<int64_t>(1, n_tokens); }
  ProtectedRows protected_rows() const override { return {0, 1}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    const auto n_rows = static_cast<size_t>(taps.n_rows);
    RKV_CHECK(taps.window_attention.size() == n_rows * static_cast<size_t>(taps.n_head));
    std::vector<float> mean(n_rows, 0.0F);
    for (int head = 0; head < taps.n_head; ++head) {
      const float* attention = taps.window_attention.data() + static_cast<size_t>(head) * n_rows;
      for (size_t row = 0; row < n_rows; ++row) mean[row] += attention[row] / static_cast<float>(taps.n_head);
    }
    std::vector<float> scores;
    scores.reserve(n_rows * static_cast<size_t>(taps.n_head_kv));
    for (int head = 0; head < taps.n_head_kv; ++head) scores.insert(scores.end(), mean.begin(), mean.end());
    return scores;
  }
};

}  // namespace

std::unique_ptr<Selector> make_tova(const SelectorOptions&) { return std::make_unique<Tova>(); }

}  // namespace ripplekv
