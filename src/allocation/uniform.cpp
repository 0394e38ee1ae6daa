// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `uniform`: the same rows in every layer.
#include "ripplekv/allocation.h"

namespace ripplekv {

AllocationWeights uniform_weights(int n_layer) {
  RKV_CHECK(n_layer >= 1);
  return {std::vector<double>(static_cast<size_t>(n_layer), 1.0), 0.0};
}

}  // namespace ripplekv
