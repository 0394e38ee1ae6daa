// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Products of 16-bit integers with 32-bit sums: the inner loop that attention over tiles and products with weights have
// in common, and how values become integers. Two vectors of length kUnitLength have a product under 2^31, and so has
// every part of it: no sum exceeds 32 bits. Compiled once per instruction set.
#pragma once

#include "kernels/simd.h"

namespace ripplekv {
namespace {

constexpr float kUnitLength = 46300.0F;  // and what rounding adds to it, squared, is under 2^31
constexpr float kIntegerMax = 32767.0F;
constexpr float kLengthMin = 1e-15F;  // what is shorter is 0: its squares would not be exact enough for that bound

// A panel: queries that the inner loop takes together, kPanelVectors vectors of them; kBroadcasts rows (or columns of
// V) are multiplied with it at once. Their product and a panel's load must fit the registers.
constexpr size_t kPanelVectors = 3;
constexpr size_t kPanel = kPanelVectors * kLanes;
constexpr size_t kBroadcasts = kLanes == 16 ? 8 : 4;
// sums[a][p] = sum over k of pairs at left[a * left_row + k * left_k], broadcast, with right[k][p]
template <size_t n_left>
RKV_INLINE void multiply(const int32_t* left, size_t left_row, size_t left_k, const int32_t* right, size_t n_k,
                         I (&sums)[n_left][kPanelVectors]) {
#pragma GCC unroll 8
  for (size_t a = 0; a < n_left; ++a) {
#pragma GCC unroll 4
    for (size_t p = 0; p < kPanelVectors; ++p) sums[a][p] = I{};
  }
  for (size_t k = 0; k < n_k; ++k) {
    I panel[kPanelVectors];
#pragma GCC unroll 4
    for (size_t p = 0; p < kPanelVectors; ++p) panel[p] = load(right + p * kLanes);
#pragma GCC unroll 8
    for (size_t a = 0; a < n_left; ++a) {
      const I pair = set(left[a * left_row]);
#pragma GCC unroll 4
      for (size_t p = 0; p < kPanelVectors; ++p) sums[a][p] = add_dot(sums[a][p], pair, panel[p]);
    }
    left += left_k;
    right += kPanel;
  }
}

// Rows as integers of length kUnitLength, or less where a value would leave 16 bits; the scale that brings them back.
void scale_to_length(const float* values, size_t n_rows, size_t head_dim, int16_t* to, float* scales) {
  for (size_t r0 = 0; r0 < n_rows; r0 += kLanes) {
    F squares[kLanes] = {};
    F largest[kLanes] = {};
    for (size_t r = 0; r < kLanes && r0 + r < n_rows; ++r) {
      for (size_t i = 0; i < head_dim; i += kLanes) {
        const F x = load(values + (r0 + r) * head_dim + i);
        squares[r] = mul_add(x, x, squares[r]);
        largest[r] = max(largest[r], max(x, -x));
      }
    }
    const F length = sqrt(sums_of(squares));
    const F scale = max(length * (1.0F / kUnitLength), largest_of_each(largest) * (1.0F / kIntegerMax));
    const F inverse = length > kLengthMin ? 1.0F / scale : F{};
    const F scale_or_bad = scale + length * 0.0F;  // what is not a finite number shows in the scale
    for (size_t r = 0; r < kLanes && r0 + r < n_rows; ++r) {
      scales[r0 + r] = scale_or_bad[r];
      for (size_t i = 0; i < head_dim; i += kLanes) {
        store_i16(nearest(load(values + (r0 + r) * head_dim + i) * inverse[r]), to + (r0 + r) * head_dim + i);
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
