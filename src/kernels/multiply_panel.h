// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// multiply_panel: all tokens with a panel of weight rows, block by block, so that a block of the panel stays in the
// first cache while every token passes it. Vector lanes are rows. Compiled once per instruction set.
#pragma once

#include "kernels/pair_products.h"
#include "kernels/product_units.h"

namespace ripplekv {
namespace {

void to_integers(const float* values, int64_t n, int64_t n_block, int16_t* to, float* scales) {
  scale_to_length(values, static_cast<size_t>(n / n_block), static_cast<size_t>(n_block), to, scales);
}

// kLanes rows that are one behind the other into lanes of the panel, from first_lane on.
void fill_panel(const ProductShape& shape, const int16_t* rows, int64_t first_lane, int32_t* panel) {
  const auto n_in = static_cast<size_t>(shape.n_in);
  for (size_t k = 0; k < n_in / 2; k += kLanes) {
    F square[kLanes];  // of bits: only moved
    for (size_t r = 0; r < kLanes; ++r) square[r] = from_bits(load_as<I>(rows + r * n_in + 2 * k));
    transpose(square);
    for (size_t i = 0; i < kLanes; ++i) store(bits(square[i]), panel + (k + i) * kPanel + first_lane);
  }
}

// As many tokens as are multiplied with a panel at once, which are one behind the other, side by side.
void fill_group(const ProductShape& shape, const int16_t* tokens, int32_t* group) {
  const auto n_in = static_cast<size_t>(shape.n_in);
  for (size_t k = 0; k < n_in / 2; ++k) {
    for (size_t a = 0; a < kBroadcasts; ++a) {
      __builtin_memcpy(group + k * kBroadcasts + a, tokens + a * n_in + 2 * k, sizeof(int32_t));
    }
  }
}

// out: F32 [kPanel, n_tokens], token i at [i * out_stride]. sums: memory for as much, without strides.
void multiply_panel(const ProductShape& shape, const PackedInputs& inputs, const PackedWeights& weights, float* sums,
                    float* out, int64_t out_stride) {
  const auto block_pairs = static_cast<size_t>(shape.n_block / 2);
  const auto n_blocks = static_cast<size_t>(shape.n_blocks());
  for (size_t block = 0; block < n_blocks; ++block) {
    const int32_t* panel = weights.values + block * block_pairs * kPanel;
    for (size_t group = 0; group < static_cast<size_t>(inputs.n_groups); ++group) {
      const size_t at = group * n_blocks + block;
      I products[kBroadcasts][kPanelVectors];
      multiply<kBroadcasts>(inputs.values + at * block_pairs * kBroadcasts, 1, kBroadcasts, panel, block_pairs,
                            products);
      F w_scale[kPanelVectors];
      for (size_t p = 0; p < kPanelVectors; ++p) w_scale[p] = load(weights.scales + block * kPanel + p * kLanes);
      const bool last = block + 1 == n_blocks;
      const size_t first = group * kBroadcasts;
      const auto n_tokens = static_cast<size_t>(shape.n_tokens) - first;  // those behind them fill the group
#pragma GCC unroll 8
      for (size_t a = 0; a < kBroadcasts; ++a) {
        if (a >= n_tokens) break;
        const F x_scale = set(inputs.scales[at * kBroadcasts + a]);
        float* const sum = sums + (first + a) * kPanel;
        float* const to = last ? out + static_cast<int64_t>(first + a) * out_stride : sum;
#pragma GCC unroll 4
        for (size_t p = 0; p < kPanelVectors; ++p) {
          const F before = block == 0 ? F{} : load(sum + p * kLanes);
          store(mul_add(to_float(products[a][p]), w_scale[p] * x_scale, before), to + p * kLanes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
