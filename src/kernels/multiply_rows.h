// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// multiply_rows: a few tokens with weights as they are stored, each read and unpacked once for some tokens together.
// Tokens are 16-bit integers with a scale per block, so that nothing of the weights is rounded and next to nothing of
// the tokens. Sums of a block are 32-bit integers, the rest is f32, lane by lane; the lanes of kLanes rows are added up
// at once. read_weights: the same blocks as f32. Compiled once per instruction set.
#pragma once

#include "kernels/pair_products.h"
#include "kernels/product_units.h"
#include "kernels/scratch.h"
#include "kernels/weight_block.h"

namespace ripplekv {
namespace {

constexpr size_t kTokensTogether = 8;  // at most: their sums stay in registers

RKV_INLINE size_t whole_vectors(size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

template <WeightType type>
void read_weights(const void* row, float* to, int64_t n) {
  using Stored = WeightBlock<type>;
  const auto* block = static_cast<const uint8_t*>(row);
  for (size_t i = 0; i < static_cast<size_t>(n); i += kBlockValues) {
    I word;
    int32_t first;
    __builtin_memcpy(&first, block, sizeof(first));
    word = set(first);
    const F scale = f16_of_low(word);
    const F shift = Stored::shift(scale, word);
    for (size_t j = 0; j < kBlockPairs; j += kLanes) {
      const I pairs = Stored::pairs(block, j);
      store(mul_add(to_float(pairs << 16 >> 16), scale, shift), to + i + j);
      store(mul_add(to_float(pairs >> 16), scale, shift), to + i + j + kBlockPairs);
    }
    block += Stored::kBytes;
  }
}

// Where the arrays of some tokens begin in memory; the bytes they take.
struct TokenMemory {
  int32_t* values;  // [kBlockPairs, n_blocks, n_tokens] pairs (i, i + 16)
  float* scales;    // [whole vectors of blocks, n_tokens], 0 behind the last
  float* sums;      // likewise: of a block's values
  float* products;  // likewise: scales times those of a row of weights
  float* w_scales;  // [whole vectors of the blocks of kLanes rows]
  float* w_shifts;  // likewise, and one vector more, 0
  float* rows;      // [kLanes, kLanes, n_tokens] the lanes of each row's sum
  size_t n_whole;

  int64_t place(uint8_t* memory, size_t n_in, size_t n_tokens) {
    const size_t n_blocks = n_in / kBlockValues;
    n_whole = whole_vectors(n_blocks);
    Arrays arrays(memory);
    arrays.take(values, static_cast<int64_t>(n_in / 2 * n_tokens));
    arrays.take(scales, static_cast<int64_t>(n_whole * n_tokens));
    arrays.take(sums, static_cast<int64_t>(n_whole * n_tokens));
    arrays.take(products, static_cast<int64_t>(n_whole * n_tokens));
    arrays.take(w_scales, static_cast<int64_t>(whole_vectors(n_blocks * kLanes) + kLanes));
    arrays.take(w_shifts, static_cast<int64_t>(whole_vectors(n_blocks * kLanes) + kLanes));
    arrays.take(rows, static_cast<int64_t>(kLanes * kLanes * n_tokens));
    return arrays.used();
  }
};

int64_t token_bytes(int64_t n_in, int64_t n_tokens) {
  return TokenMemory{}.place(nullptr, static_cast<size_t>(n_in), static_cast<size_t>(n_tokens));
}

void pack_tokens(int64_t n_in, int64_t n_tokens, const float* x, int64_t stride, uint8_t* work) {
  TokenMemory memory;
  memory.place(work, static_cast<size_t>(n_in), static_cast<size_t>(n_tokens));
  const size_t n_blocks = static_cast<size_t>(n_in) / kBlockValues;
  int16_t integers[kLanes * kBlockValues];
  float scale[kLanes];
  for (size_t token = 0; token < static_cast<size_t>(n_tokens); ++token) {
    const float* from = x + static_cast<int64_t>(token) * stride;
    float* scales = memory.scales + token * memory.n_whole;
    float* sums = memory.sums + token * memory.n_whole;
    for (size_t block = 0; block < memory.n_whole; block += kLanes) {
      store(F{}, scales + block);
      store(F{}, sums + block);
      const size_t n = n_blocks - block < kLanes ? n_blocks - block : kLanes;
      scale_to_length(from + block * kBlockValues, n, kBlockValues, integers, scale);
      for (size_t b = 0; b < n; ++b) {
        int32_t* pairs = memory.values + (token * n_blocks + block + b) * kBlockPairs;
        const int16_t* values = integers + b * kBlockValues;
        int32_t sum = 0;
        for (size_t i = 0; i < kBlockPairs; ++i) {
          pairs[i] = (values[i] & 0xffff) | (values[i + kBlockPairs] * 65536);
          sum += values[i] + values[i + kBlockPairs];
        }
        scales[block + b] = scale[b];
        sums[block + b] = scale[b] * static_cast<float>(sum);
      }
    }
  }
}

// One row with n_tokens tokens from `first` on; lanes of the sums of token t to rows[t * kLanes * kLanes].
template <WeightType type, size_t n_tokens>
RKV_INLINE void multiply_row(const TokenMemory& memory, size_t n_blocks, size_t first, const uint8_t* row,
                             const float* w_scales, const float* w_shifts, float* rows) {
  using Stored = WeightBlock<type>;
  F sums[n_tokens];
  for (size_t t = 0; t < n_tokens; ++t) {
    const size_t token = (first + t) * memory.n_whole;
    F sum = {};
    for (size_t b = 0; b < n_blocks; b += kLanes) {
      store(load(w_scales + b) * load(memory.scales + token + b), memory.products + token + b);
      if constexpr (type != WeightType::kQ8_0) {
        sum = mul_add(load(w_shifts + b), load(memory.sums + token + b), sum);
      }
    }
    sums[t] = sum;
  }
  const int32_t* values = memory.values + first * n_blocks * kBlockPairs;
  const float* products = memory.products + first * memory.n_whole;
  for (size_t b = 0; b < n_blocks; ++b) {
    I weights[kPairVectors];
#pragma GCC unroll 4
    for (size_t j = 0; j < kPairVectors; ++j) weights[j] = Stored::pairs(row, j * kLanes);
#pragma GCC unroll 8
    for (size_t t = 0; t < n_tokens; ++t) {
      I product = {};
#pragma GCC unroll 4
      for (size_t j = 0; j < kPairVectors; ++j) {
        product = add_dot(product, weights[j], load(values + t * n_blocks * kBlockPairs + j * kLanes));
      }
      sums[t] = mul_add(to_float(product), set(products[t * memory.n_whole + b]), sums[t]);
    }
    values += kBlockPairs;
    row += Stored::kBytes;
  }
  for (size_t t = 0; t < n_tokens; ++t) store(sums[t], rows + t * kLanes * kLanes);
}

template <WeightType type, size_t n_tokens>
void multiply_some(const TokenMemory& memory, size_t n_blocks, size_t first, const uint8_t* row, size_t n_rows) {
  const size_t row_bytes = n_blocks * WeightBlock<type>::kBytes;
  for (size_t r = 0; r < n_rows; ++r) {
    if (first == 0) {  // the rows that come next, of which processors foresee too little from the scales' gathers
      const uint8_t* next = row + (r + kLanes) * row_bytes;
      for (size_t byte = 0; byte < row_bytes; byte += 64) __builtin_prefetch(next + byte);
    }
    multiply_row<type, n_tokens>(memory, n_blocks, first, row + r * row_bytes, memory.w_scales + r * n_blocks,
                                 memory.w_shifts + r * n_blocks, memory.rows + first * kLanes * kLanes + r * kLanes);
  }
}

// n_rows rows, at most kLanes, one behind the other. out: of row r and token t at [t * out_stride + r].
template <WeightType type>
void multiply_rows(int64_t n_in, int64_t n_tokens, const uint8_t* row, int64_t n_rows, float* out, int64_t out_stride,
                   uint8_t* work) {
  const size_t n_blocks = static_cast<size_t>(n_in) / kBlockValues;
  const auto n = static_cast<size_t>(n_rows);
  TokenMemory memory;
  memory.place(work, static_cast<size_t>(n_in), static_cast<size_t>(n_tokens));
  read_scales<type>(row, n * n_blocks, memory.w_scales, memory.w_shifts);
  store(F{}, memory.w_scales + whole_vectors(n * n_blocks));
  store(F{}, memory.w_shifts + whole_vectors(n * n_blocks));
  const auto end = static_cast<size_t>(n_tokens);
  size_t first = 0;
  for (; first + kTokensTogether <= end; first += kTokensTogether) {
    multiply_some<type, kTokensTogether>(memory, n_blocks, first, row, n);
  }
  for (; first + 2 <= end; first += 2) multiply_some<type, 2>(memory, n_blocks, first, row, n);
  if (first < end) multiply_some<type, 1>(memory, n_blocks, first, row, n);

  for (size_t t = 0; t < end; ++t) {
    F lanes[kLanes] = {};
    for (size_t r = 0; r < n; ++r) lanes[r] = load(memory.rows + (t * kLanes + r) * kLanes);
    const F sums = sums_of(lanes);
    float* to = out + static_cast<int64_t>(t) * out_stride;
    if (n == kLanes) {
      store(sums, to);
    } else {
      for (size_t r = 0; r < n; ++r) to[r] = sums[r];
    }
  }
}

}  // namespace
}  // namespace ripplekv
