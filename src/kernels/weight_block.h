// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// WeightBlock: the stored blocks of 32 weights that kernels read by themselves, weight = scale * integer + shift. As
// integers they come in pairs (i, i + 16) of 16 bits, as nibbles lie. Compiled once per instruction set.
#pragma once

#include "kernels/product.h"
#include "kernels/simd.h"

namespace ripplekv {
namespace {

constexpr size_t kBlockValues = 32;
constexpr size_t kBlockPairs = kBlockValues / 2;
constexpr size_t kPairVectors = kBlockPairs / kLanes;

RKV_INLINE I nibble_pairs(const uint8_t* from) {
  const I both = load_u8(from);
  return (both | both << 12) & 0x000f000f;
}

// kBytes: of a block. pairs(): kLanes of its pairs from the i-th on. shift(): from the block's scale and first word.
template <WeightType type>
struct WeightBlock;

// f16 scale, 16 bytes: low nibbles are values 0 to 15, high nibbles 16 to 31, each plus 8
template <>
struct WeightBlock<WeightType::kQ4_0> {
  static constexpr size_t kBytes = 18;
  RKV_INLINE I pairs(const uint8_t* block, size_t i) { return nibble_pairs(block + 2 + i); }
  RKV_INLINE F shift(F scale, I /*word*/) { return scale * -8.0F; }
};

// f16 scale, f16 shift, 16 bytes of nibbles
template <>
struct WeightBlock<WeightType::kQ4_1> {
  static constexpr size_t kBytes = 20;
  RKV_INLINE I pairs(const uint8_t* block, size_t i) { return nibble_pairs(block + 4 + i); }
  RKV_INLINE F shift(F /*scale*/, I word) { return f16_of_low(word >> 16); }
};

// f16 scale, 32 x int8
template <>
struct WeightBlock<WeightType::kQ8_0> {
  static constexpr size_t kBytes = 34;
  RKV_INLINE I pairs(const uint8_t* block, size_t i) {
    const int8_t* from = reinterpret_cast<const int8_t*>(block + 2 + i);
    return (load_i8(from) & 0xffff) | load_i8(from + kBlockPairs) << 16;
  }
  RKV_INLINE F shift(F /*scale*/, I /*word*/) { return F{}; }
};

// Scales and shifts of n blocks that are one behind the other.
template <WeightType type>
RKV_INLINE void read_scales(const uint8_t* blocks, size_t n, float* scales, float* shifts) {
  using Stored = WeightBlock<type>;
  for (size_t i = 0; i < n; i += kLanes) {
    I words = {};
    if (i + kLanes <= n) {
      words = load_strided(blocks + i * Stored::kBytes, static_cast<int32_t>(Stored::kBytes));
    } else {
      for (size_t j = 0; i + j < n; ++j) {
        int32_t word;
        __builtin_memcpy(&word, blocks + (i + j) * Stored::kBytes, sizeof(word));
        words[j] = word;
      }
    }
    const F scale = f16_of_low(words);
    store(scale, scales + i);
    store(Stored::shift(scale, words), shifts + i);
  }
}

}  // namespace
}  // namespace ripplekv
