// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `expected_attention`: the rows that queries of the coming positions are expected to attend to, times the norm of
// their Value. Devoto et al. 2025, "Expected Attention: KV cache compression by estimating attention from future
// queries distribution"; options as in kvpress 0.5.5: mean and covariance of the prompt's queries without the first
// n_sink, 512 coming positions, softmax over the rows behind the sinks, mean over the query heads of a KV head. Keeps
// the sinks. Reads the option n_sink.
#include <algorithm>
#include <cmath>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class ExpectedAttention final : public Selector {
 public:
  explicit ExpectedAttention(const SelectorOptions& options) : options_(options) {}

  std::string_view name() const override { return "expected_attention"; }
  unsigned needs() const override { return kTapFutureAttention | kTapValueNorm; }
  int64_t n_query(int64_t n_tokens) const override {
    return std::max<int64_t>(std::min<int64_t>(1, n_tokens), n_tokens - options_.n_sink);
  }
  ProtectedRows protected_rows() const override { return {options_.n_sink, 0}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    const auto n_rows = static_cast<size_t>(taps.n_rows);
    const auto n_head_kv = static_cast<size_t>(taps.n_head_kv);
    RKV_CHECK(taps.future_attention.size() == n_rows * static_cast<size_t>(taps.n_head));
    RKV_CHECK(taps.value_norm.size() == n_rows * n_head_kv);
    const int n_group = taps.n_head / taps.n_head_kv;
    const size_t first = std::min(static_cast<size_t>(options_.n_sink), n_rows);
    std::vector<float> scores(n_rows * n_head_kv, 0.0F);
    for (int head = 0; head < taps.n_head; ++head) {
      const auto logits = taps.future_attention.subspan(static_cast<size_t>(head) * n_rows + first, n_rows - first);
      if (logits.empty()) break;
      const double top = *std::max_element(logits.begin(), logits.end());
      double sum = 0;
      for (float logit : logits) sum += std::exp(logit - top);
      float* score = scores.data() + static_cast<size_t>(head / n_group) * n_rows + first;
      for (float logit : logits) *score++ += static_cast<float>(std::exp(logit - top) / sum / n_group);
    }
    for (size_t i = 0; i < scores.size(); ++i) scores[i] *= taps.value_norm[i];
    return scores;
  }

 private:
  SelectorOptions options_;
};

}  // namespace

std::unique_ptr<Selector> make_expected_attention(const SelectorOptions& options) {
  return std::make_unique<ExpectedAttention>(options);
}

}  // namespace ripplekv
