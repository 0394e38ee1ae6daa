// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `keydiff`: the rows whose keys differ most from the mean direction of all keys of the head. Park et al. 2025,
// "KeyDiff: key similarity-based KV cache eviction"; score: minus the cosine to the mean of the unit keys. Sees no
// query. Protects no row. Reads no option.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class KeyDiff final : public Selector {
 public:
  std::string_view name() const override { return "keydiff"; }
  unsigned needs() const override { return kTapKeys; }
  int64_t n_query(int64_t) const override { return 0; }
  ProtectedRows protected_rows() const override { return {}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    const auto n_rows = static_cast<size_t>(taps.n_rows);
    const size_t n_score = n_rows * static_cast<size_t>(taps.n_head_kv);
    RKV_CHECK(n_score > 0 && !taps.keys.empty() && taps.keys.size() % n_score == 0);
    const size_t head_dim = taps.keys.size() / n_score;
    std::vector<float> scores(n_score);
    std::vector<double> anchor(head_dim);
    for (size_t first = 0; first < n_score; first += n_rows) {
      const auto key_of = [&](size_t row) { return taps.keys.subspan((first + row) * head_dim, head_dim); };
      std::fill(anchor.begin(), anchor.end(), 0.0);
      for (size_t row = 0; row < n_rows; ++row) {
        const auto key = key_of(row);
        const double inverse = 1.0 / std::max(norm_of(key), kTiny);
        for (size_t i = 0; i < head_dim; ++i) anchor[i] += key[i] * inverse;
      }
      const double anchor_norm = std::sqrt(std::inner_product(anchor.begin(), anchor.end(), anchor.begin(), 0.0));
      for (size_t row = 0; row < n_rows; ++row) {
        const auto key = key_of(row);
        const double dot = std::inner_product(key.begin(), key.end(), anchor.begin(), 0.0);
        scores[first + row] = static_cast<float>(-dot / std::max(norm_of(key) * anchor_norm, kTiny));
      }
    }
    return scores;
  }

 private:
  static constexpr double kTiny = 1e-12;  // a key of zeros has no direction: cosine 0

  static double norm_of(std::span<const float> key) {
    return std::sqrt(std::inner_product(key.begin(), key.end(), key.begin(), 0.0));
  }
};

}  // namespace

std::unique_ptr<Selector> make_keydiff(const SelectorOptions&) { return std::make_unique<KeyDiff>(); }

}  // namespace ripplekv
