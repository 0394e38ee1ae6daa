// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// RowReader: the values of a cached row as f32 vectors, a granule of values at a time. Compiled once per instruction
// set, with internal linkage.
#pragma once

#include "kernels/simd.h"

namespace ripplekv {
namespace {

template <RowType type>
struct RowReader;  // read(row, i, v): values [i, i + kGranule); i: a multiple of kGranule

template <>
struct RowReader<RowType::kF32> {
  static constexpr size_t kGranule = 16;
  RKV_INLINE void read(const uint8_t* row, size_t i, F* v) {
    for (size_t j = 0; j < kGranule / kLanes; ++j) v[j] = load_as<F>(row + (i + j * kLanes) * sizeof(float));
  }
};

template <>
struct RowReader<RowType::kF16> {
  static constexpr size_t kGranule = 16;
  RKV_INLINE void read(const uint8_t* row, size_t i, F* v) {
    const uint16_t* from = reinterpret_cast<const uint16_t*>(row) + i;
    for (size_t j = 0; j < kGranule / kLanes; ++j) v[j] = load_f16(from + j * kLanes);
  }
};

RKV_INLINE F block_scale(const uint8_t* block) {
  uint16_t half;
  __builtin_memcpy(&half, block, sizeof(half));
  return set(f16_value(half));
}

// f16 scale, 32 x int8
template <>
struct RowReader<RowType::kQ8_0> {
  static constexpr size_t kGranule = 32;
  RKV_INLINE void read(const uint8_t* row, size_t i, F* v) {
    const uint8_t* block = row + i / 32 * 34;
    const F scale = block_scale(block);
    const int8_t* values = reinterpret_cast<const int8_t*>(block + 2);
    for (size_t j = 0; j < kGranule / kLanes; ++j) v[j] = to_float(load_i8(values + j * kLanes)) * scale;
  }
};

// f16 scale, 16 bytes: low nibbles are values 0 to 15, high nibbles 16 to 31, each plus 8
template <>
struct RowReader<RowType::kQ4_0> {
  static constexpr size_t kGranule = 32;
  RKV_INLINE void read(const uint8_t* row, size_t i, F* v) {
    const uint8_t* block = row + i / 32 * 18;
    const F scale = block_scale(block);
    constexpr size_t kHalf = 16 / kLanes;
    for (size_t j = 0; j < kHalf; ++j) {
      const I pair = load_u8(block + 2 + j * kLanes);
      v[j] = to_float((pair & 15) - 8) * scale;
      v[kHalf + j] = to_float((pair >> 4) - 8) * scale;
    }
  }
};

}  // namespace
}  // namespace ripplekv
