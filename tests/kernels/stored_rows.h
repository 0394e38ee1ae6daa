// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Rows of a cache as ggml stores them, and the very values that they then stand for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"

namespace ripplekv {
namespace {

constexpr RowType kTypes[] = {RowType::kF32, RowType::kF16, RowType::kQ8_0, RowType::kQ4_0};
const char* name_of(RowType type) {
  constexpr const char* kNames[] = {"f32", "f16", "q8_0", "q4_0"};
  return kNames[static_cast<size_t>(type)];
}

// The nearest half that is not infinite, for |x| in [2^-14, 2^15); smaller ones become 0. Returns what it stands for.
float to_half(float x, uint16_t& half) {
  int exponent = 0;
  const float fraction = std::frexp(std::abs(x), &exponent);  // [1/2, 1)
  if (x == 0.0F || exponent < -13) {
    half = 0;
    return 0.0F;
  }
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));  // [2^10, 2^11]
  half = static_cast<uint16_t>((std::signbit(x) ? 0x8000 : 0) + ((exponent + 14) << 10) + (steps - 1024));
  return std::copysign(std::ldexp(static_cast<float>(steps), exponent - 11), x);
}

// Rows in their stored form, and the values they stand for.
struct Rows {
  RowType type = RowType::kF32;
  int64_t row_stride = 0;
  int64_t head_stride = 0;
  std::vector<uint8_t> bytes;
  std::vector<float> values;  // [head_dim, capacity, n_head_kv]

  const int64_t* first_rows = nullptr;

  AttentionRows view() const { return {type, bytes.data(), row_stride, head_stride, first_rows}; }
};

void append(std::vector<uint8_t>& bytes, const void* from, size_t n) {
  bytes.insert(bytes.end(), static_cast<const uint8_t*>(from), static_cast<const uint8_t*>(from) + n);
}

Rows make_rows(RowType type, std::vector<float> values, int64_t head_dim, int64_t n_head_kv) {
  Rows rows;
  rows.type = type;
  for (size_t i = 0; i < values.size();) {
    if (type == RowType::kF32) {
      append(rows.bytes, &values[i++], 4);
    } else if (type == RowType::kF16) {
      uint16_t half = 0;
      values[i] = to_half(values[i], half);
      append(rows.bytes, &half, 2);
      ++i;
    } else {
      const int limit = type == RowType::kQ8_0 ? 127 : 7;
      float largest = 0.0F;
      for (size_t j = i; j < i + 32; ++j) largest = std::max(largest, std::abs(values[j]));
      uint16_t half = 0;
      const float scale = to_half(largest / static_cast<float>(limit), half);
      append(rows.bytes, &half, 2);
      int whole[32];
      for (size_t j = 0; j < 32; ++j) {
        whole[j] = scale == 0.0F ? 0 : std::clamp(static_cast<int>(std::lround(values[i + j] / scale)), -limit, limit);
        values[i + j] = static_cast<float>(whole[j]) * scale;
      }
      for (size_t j = 0; j < (type == RowType::kQ8_0 ? 32U : 16U); ++j) {
        const auto byte =
            static_cast<uint8_t>(type == RowType::kQ8_0 ? whole[j] : whole[j] + 8 + (whole[j + 16] + 8) * 16);
        rows.bytes.push_back(byte);
      }
      i += 32;
    }
  }
  rows.head_stride = static_cast<int64_t>(rows.bytes.size()) / n_head_kv;
  rows.row_stride = rows.head_stride * head_dim / (static_cast<int64_t>(values.size()) / n_head_kv);
  rows.values = std::move(values);
  return rows;
}

}  // namespace
}  // namespace ripplekv
