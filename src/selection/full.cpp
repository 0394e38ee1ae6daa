// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `full`: every row is worth the same and none is protected. Reads no option. Made for a kept fraction of 1; with
// fewer rows prune() keeps the first ones, since ties go to the lower row.
#include "selection/methods.h"

namespace ripplekv {
namespace {

class Full final : public Selector {
 public:
  std::string_view name() const override { return "full"; }
  unsigned needs() const override { return kTapNone; }
  int64_t n_query(int64_t) const override { return 0; }
  ProtectedRows protected_rows() const override { return {}; }

  std::vector<float> score(const LayerTaps& taps) const override {
    return std::vector<float>(static_cast<size_t>(taps.n_rows * taps.n_head_kv), 0.0f);
  }
};

}  // namespace

std::unique_ptr<Selector> make_full(const SelectorOptions&) { return std::make_unique<Full>(); }

}  // namespace ripplekv
