// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `snapkv`: the rows that the last W queries of the prompt attend to. Li et al. 2024, "SnapKV: LLM knows what you are
// looking for before generation"; options as in kvpress 0.5.5: mean over the window (done in the graph), pooling per
// query head over the rows before the window, then one score per KV head. Keeps the window, no sinks.
// Reads the options window, kernel, pooling, group and value_norm.
#include <algorithm>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class SnapKv final : public Selector {
 public:
  explicit SnapKv(const SelectorOptions& options) : options_(options) {}

  std::string_view name() const override { return "snapkv"; }
  unsigned needs() const override { return kTapWindowAttention | (options_.value_norm ? kTapValueNorm : kTapNone); }
  int64_t n_query(int64_t n_tokens) const override { return std::min<int64_t>(options_.window, n_tokens); }
  ProtectedRows protected_rows() const override { return {0, options_.window}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    RKV_CHECK(taps.n_window >= 0 && taps.n_window <= taps.n_rows);
    RKV_CHECK(taps.n_head_kv > 0 && taps.n_head > 0 && taps.n_head % taps.n_head_kv == 0);
    const auto n_rows = static_cast<size_t>(taps.n_rows);
    const auto n_head = static_cast<size_t>(taps.n_head);
    const auto n_head_kv = static_cast<size_t>(taps.n_head_kv);
    RKV_CHECK(taps.window_attention.size() == n_rows * n_head);
    if (options_.value_norm) RKV_CHECK(taps.value_norm.size() == n_rows * n_head_kv);

    const auto n_scored = static_cast<size_t>(taps.n_rows - taps.n_window);
    const size_t n_group = n_head / n_head_kv;
    std::vector<float> scores(n_rows * n_head_kv, 0.0f);
    std::vector<float> pooled(n_scored);  // of one query head
    for (size_t head = 0; head < n_head; ++head) {
      const auto attention = taps.window_attention.subspan(head * n_rows, n_scored);
      std::copy(attention.begin(), attention.end(), pooled.begin());
      pool_1d(pooled, taps.n_rows - taps.n_window, options_.kernel, options_.pooling);
      reduce(pooled, n_group, &scores[head / n_group * n_rows]);
    }
    if (options_.value_norm) {
      for (size_t i = 0; i < scores.size(); ++i) scores[i] *= taps.value_norm[i];
    }
    return scores;
  }

 private:
  // Folds one query head into the scores of its KV head, which start at 0: no attention is less.
  void reduce(const std::vector<float>& pooled, size_t n_group, float* scores) const {
    for (size_t row = 0; row < pooled.size(); ++row) {
      if (options_.group == GroupReduce::kMean) {
        scores[row] += pooled[row] / static_cast<float>(n_group);
      } else {
        scores[row] = std::max(scores[row], pooled[row]);
      }
    }
  }

  SelectorOptions options_;
};

}  // namespace

std::unique_ptr<Selector> make_snapkv(const SelectorOptions& options) { return std::make_unique<SnapKv>(options); }

}  // namespace ripplekv
