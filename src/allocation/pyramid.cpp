// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `pyramid`: Cai et al. 2024, "PyramidKV: dynamic KV cache compression based on pyramidal information funneling".
// Every layer keeps the window; the evictable rows, `mean` per layer, go linearly from 2 * mean - mean / beta in the
// first layer to mean / beta in the last. As weights of mean 1 this needs no prompt length.
#include <fmt/format.h>

#include <cmath>

#include "ripplekv/allocation.h"

namespace ripplekv {

Result<AllocationWeights> pyramid_weights(int n_layer, const PyramidOptions& options) {
  if (n_layer < 1) return invalid_argument(fmt::format("pyramid: got {} layers, expected at least 1", n_layer));
  if (!std::isfinite(options.beta) || options.beta <= 1) {
    return invalid_argument(fmt::format("pyramid: got beta {}, expected a finite number above 1", options.beta));
  }
  if (options.window < 0) {
    return invalid_argument(fmt::format("pyramid: got a window of {} rows, expected 0 or more", options.window));
  }
  AllocationWeights result = uniform_weights(n_layer);  // one layer: all of it
  result.base_rows = options.window;
  const double weight_min = 1 / options.beta;
  const double weight_max = 2 - weight_min;
  for (int layer = 0; n_layer > 1 && layer < n_layer; ++layer) {
    const double depth = static_cast<double>(layer) / (n_layer - 1);
    result.weights[static_cast<size_t>(layer)] = std::lerp(weight_max, weight_min, depth);
  }
  return result;
}

}  // namespace ripplekv
