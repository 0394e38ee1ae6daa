// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `knorm`: the rows whose keys are short. Devoto et al. 2024, "A simple and effective L2 norm-based strategy for KV
// cache compression": keys of small norm draw much attention. Sees no query, so a cache compressed before any question
// is asked keeps the same rows. Protects no row. Reads no option.
#include <cmath>
#include <numeric>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class KNorm final : public Selector {
 public:
  std::string_view name() const override { return "knorm"; }
  unsigned needs() const override { return kTapKeys; }
  int64_t n_query(int64_t) const override { return 0; }
  ProtectedRows protected_rows() const override { return {}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    const auto n_score = static_cast<size_t>(taps.n_rows * taps.n_head_kv);
    RKV_CHECK(n_score > 0 && !taps.keys.empty() && taps.keys.size() % n_score == 0);
    const size_t head_dim = taps.keys.size() / n_score;
    std::vector<float> scores(n_score);
    for (size_t i = 0; i < n_score; ++i) {
      const auto key = taps.keys.subspan(i * head_dim, head_dim);
      scores[i] = -std::sqrt(std::inner_product(key.begin(), key.end(), key.begin(), 0.0F));
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<Selector> make_knorm(const SelectorOptions&) { return std::make_unique<KNorm>(); }

}  // namespace ripplekv
