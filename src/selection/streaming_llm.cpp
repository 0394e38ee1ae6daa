// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `streaming_llm`: the first rows (attention sinks) and the latest ones, whatever the attention says.
// Xiao et al. 2024, "Efficient streaming language models with attention sinks". Here rows are dropped once, after
// prefill, and kept keys keep their true position. Reads the options n_sink and window.
#include "selection/methods.h"

namespace ripplekv {
namespace {

class StreamingLlm final : public Selector {
 public:
  explicit StreamingLlm(const SelectorOptions& options) : protected_{options.n_sink, options.window} {}

  std::string_view name() const override { return "streaming_llm"; }
  unsigned needs() const override { return kTapNone; }
  int64_t n_query(int64_t) const override { return 0; }
  ProtectedRows protected_rows() const override { return protected_; }

  std::vector<float> score(const LayerTaps& taps) const override {
    std::vector<float> scores;
    scores.reserve(static_cast<size_t>(taps.n_rows * taps.n_head_kv));
    for (int head = 0; head < taps.n_head_kv; ++head) {
      for (int64_t row = 0; row < taps.n_rows; ++row) scores.push_back(static_cast<float>(row));
    }
    return scores;
  }

 private:
  ProtectedRows protected_;
};

}  // namespace

std::unique_ptr<Selector> make_streaming_llm(const SelectorOptions& options) {
  return std::make_unique<StreamingLlm>(options);
}

}  // namespace ripplekv
