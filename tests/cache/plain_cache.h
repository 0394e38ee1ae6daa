// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// PlainCache: what a LayerCache has to hold, as plain loops over vectors of rows. Rows hold random bytes, so that two
// rows that get mixed up differ. Reads and writes the real cache's tensors with its own arithmetic.
#pragma once

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "ripplekv/kv_cache.h"

namespace ripplekv::test {

constexpr KvType kKvTypes[] = {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0};

inline std::vector<KvFormat> all_formats() {
  std::vector<KvFormat> formats;
  for (const KvType k : kKvTypes) {
    for (const KvType v : kKvTypes) formats.push_back({k, v});
  }
  return formats;
}

struct PlainRow {
  int32_t position = 0;
  std::vector<uint8_t> k;
  std::vector<uint8_t> v;
  bool operator==(const PlainRow&) const = default;
};

using PlainCache = std::vector<std::vector<PlainRow>>;  // [n_head_kv][n_rows]

inline LayerCache make_layer(const LayerShape& shape, const KvFormat& format, int64_t capacity) {
  return LayerCache::create(ggml_backend_cpu_buffer_type(), shape, format, capacity).value();
}

// One row of one head, wherever ggml says it lies.
inline std::vector<uint8_t> row_of(const ggml_tensor* tensor, size_t head, size_t row, size_t bytes) {
  std::vector<uint8_t> values(bytes);
  ggml_backend_tensor_get(tensor, values.data(), head * tensor->nb[2] + row * tensor->nb[1], bytes);
  return values;
}

// Appends `n` rows of random bytes to both, at positions pos0, pos0 + 1, ... The layer must have room.
inline void append_random(LayerCache& layer, PlainCache& plain, int64_t pos0, int64_t n, Random& random) {
  const auto random_row = [&](KvType type) {
    std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes(type, layer.shape().head_dim)));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    return bytes;
  };
  plain.resize(static_cast<size_t>(layer.shape().n_head_kv));
  for (size_t head = 0; head < plain.size(); ++head) {
    for (int64_t i = 0; i < n; ++i) {
      PlainRow row{static_cast<int32_t>(pos0 + i), random_row(layer.format().k), random_row(layer.format().v)};
      const auto at = [&](const ggml_tensor* tensor) {
        return head * tensor->nb[2] + static_cast<size_t>(layer.n_rows() + i) * tensor->nb[1];
      };
      ggml_backend_tensor_set(layer.k(), row.k.data(), at(layer.k()), row.k.size());
      ggml_backend_tensor_set(layer.v(), row.v.data(), at(layer.v()), row.v.size());
      plain[head].push_back(std::move(row));
    }
  }
  layer.append_written(pos0, n);
}

inline void truncate_plain(PlainCache& plain, int64_t n) {
  for (auto& rows : plain) rows.resize(static_cast<size_t>(n));
}

inline PlainCache gather_plain(const PlainCache& plain, const KeepList& keep) {
  PlainCache kept(plain.size());
  for (size_t head = 0; head < plain.size(); ++head) {
    for (const int32_t row : keep[head]) kept[head].push_back(plain[head][static_cast<size_t>(row)]);
  }
  return kept;
}

// `n_keep` of `n_rows`, sorted; other rows for every head unless `same`.
inline KeepList random_keep(int64_t n_rows, int n_head_kv, int64_t n_keep, bool same, Random& random) {
  KeepList keep(static_cast<size_t>(n_head_kv));
  for (size_t head = 0; head < keep.size(); ++head) {
    if (same && head > 0) {
      keep[head] = keep[0];
      continue;
    }
    int64_t wanted = n_keep;
    for (int64_t row = 0; row < n_rows; ++row) {
      if (static_cast<int64_t>(random.below(static_cast<uint64_t>(n_rows - row))) >= wanted) continue;
      keep[head].push_back(static_cast<int32_t>(row));
      --wanted;
    }
  }
  return keep;
}

// Rows, bytes, positions, layout and accounting.
inline void expect_holds(const LayerCache& layer, const PlainCache& plain) {
  const LayerShape shape = layer.shape();
  ASSERT_EQ(plain.size(), static_cast<size_t>(shape.n_head_kv));
  ASSERT_EQ(layer.n_rows(), static_cast<int64_t>(plain[0].size()));
  ASSERT_GE(layer.capacity(), layer.n_rows());
  const auto k_bytes = static_cast<size_t>(row_bytes(layer.format().k, shape.head_dim));
  const auto v_bytes = static_cast<size_t>(row_bytes(layer.format().v, shape.head_dim));
  for (const auto& [tensor, bytes] : {std::pair(layer.k(), k_bytes), std::pair(layer.v(), v_bytes)}) {
    ASSERT_EQ(tensor->ne[0], shape.head_dim);
    ASSERT_EQ(tensor->ne[1], layer.capacity());
    ASSERT_EQ(tensor->ne[2], shape.n_head_kv);
    ASSERT_EQ(tensor->nb[1], bytes);
    ASSERT_EQ(tensor->nb[2], bytes * static_cast<size_t>(layer.capacity()));
  }
  for (size_t head = 0; head < plain.size(); ++head) {
    const auto positions = layer.positions(static_cast<int>(head));
    ASSERT_EQ(positions.size(), plain[head].size());
    for (size_t row = 0; row < plain[head].size(); ++row) {
      ASSERT_EQ(positions[row], plain[head][row].position) << "head " << head << " row " << row;
      ASSERT_EQ(row_of(layer.k(), head, row, k_bytes), plain[head][row].k) << "head " << head << " row " << row;
      ASSERT_EQ(row_of(layer.v(), head, row, v_bytes), plain[head][row].v) << "head " << head << " row " << row;
    }
  }
  const LayerBytes bytes = layer.bytes();
  ASSERT_EQ(bytes.payload + bytes.scales, layer.n_rows() * shape.n_head_kv * static_cast<int64_t>(k_bytes + v_bytes));
  ASSERT_EQ(bytes.scales,
            layer.n_rows() * shape.n_head_kv *
                (scale_bytes(layer.format().k, shape.head_dim) + scale_bytes(layer.format().v, shape.head_dim)));
  ASSERT_GE(bytes.padding, 0);
  ASSERT_LE(bytes.payload + bytes.scales + bytes.index, layer.n_rows() * bytes_per_row(shape, layer.format()));
  ASSERT_GE(bytes.allocated(), layer.capacity() * shape.n_head_kv * static_cast<int64_t>(k_bytes + v_bytes));
}

}  // namespace ripplekv::test
