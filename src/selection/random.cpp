// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `random`: a control that every method has to beat. Each head of a layer draws from its own generator, so a run
// repeats exactly and heads and layers differ. Keeps the window. Reads the options seed and window.
#include "base/random.h"

#include "selection/methods.h"

namespace ripplekv {
namespace {

class RandomSelector final : public Selector {
 public:
  explicit RandomSelector(const SelectorOptions& options) : seed_(options.seed), window_(options.window) {}

  std::string_view name() const override { return "random"; }
  unsigned needs() const override { return kTapNone; }
  int64_t n_query(int64_t) const override { return 0; }
  ProtectedRows protected_rows() const override { return {0, window_}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    std::vector<float> scores;
    scores.reserve(static_cast<size_t>(taps.n_rows * taps.n_head_kv));
    for (int head = 0; head < taps.n_head_kv; ++head) {
      Random random(seed_from(seed_, taps.layer, head));
      for (int64_t row = 0; row < taps.n_rows; ++row) scores.push_back(static_cast<float>(random.uniform()));
    }
    return scores;
  }

 private:
  uint64_t seed_;
  int window_;
};

}  // namespace

std::unique_ptr<Selector> make_random(const SelectorOptions& options) {
  return std::make_unique<RandomSelector>(options);
}

}  // namespace ripplekv
