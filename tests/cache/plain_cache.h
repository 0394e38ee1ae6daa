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

using PlainCache = std::vector<std::vector<PlainRow>>;  // [n_head_kv][rows of the head]

inline int64_t mean_rows(const PlainCache& plain) {
  size_t n = 0;
  for (const auto& rows : plain) n += rows.size();
  EXPECT_EQ(n % plain.size(), 0U);
  return static_cast<int64_t>(n / plain.size());
}

inline int64_t fewest_rows(const PlainCache& plain) {
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  return static_cast<int64_t>(std::min_element(plain.begin(), plain.end(), fewer)->size());
}

inline LayerCache make_layer(const LayerShape& shape, const KvFormat& format, int64_t capacity) {
  return LayerCache::create(ggml_backend_cpu_buffer_type(), shape, format, capacity).value();
}

// One row of one head of a cache that is not ragged, wherever ggml says it lies.
inline std::vector<uint8_t> row_of(const ggml_tensor* tensor, size_t head, size_t row, size_t bytes) {
  std::vector<uint8_t> values(bytes);
  ggml_backend_tensor_get(tensor, values.data(), head * tensor->nb[2] + row * tensor->nb[1], bytes);
  return values;
}

// Where a row of a head lies: behind the rows of the heads before it, and the room that each of them has.
inline size_t offset_of(const PlainCache& plain, int64_t n_room, size_t head, size_t row, size_t bytes) {
  for (size_t before = 0; before < head; ++before) row += plain[before].size() + static_cast<size_t>(n_room);
  return row * bytes;
}

// Appends `n` rows of random bytes to both, at positions pos0, pos0 + 1, ... The layer must have room.
inline void append_random(LayerCache& layer, PlainCache& plain, int64_t pos0, int64_t n, Random& random) {
  const auto random_row = [&](KvType type) {
    std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes(type, layer.shape().head_dim)));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    return bytes;
  };
  plain.resize(static_cast<size_t>(layer.shape().n_head_kv));
  const PlainCache before = plain;
  const int64_t n_room = layer.capacity() - mean_rows(before);
  for (size_t head = 0; head < plain.size(); ++head) {
    for (int64_t i = 0; i < n; ++i) {
      PlainRow row{static_cast<int32_t>(pos0 + i), random_row(layer.format().k), random_row(layer.format().v)};
      const size_t at = before[head].size() + static_cast<size_t>(i);
      ggml_backend_tensor_set(layer.k(), row.k.data(), offset_of(before, n_room, head, at, row.k.size()), row.k.size());
      ggml_backend_tensor_set(layer.v(), row.v.data(), offset_of(before, n_room, head, at, row.v.size()), row.v.size());
      plain[head].push_back(std::move(row));
    }
  }
  layer.append_written(pos0, n);
}

// The last rows of every head, so that n are left on the mean.
inline void truncate_plain(PlainCache& plain, int64_t n) {
  const auto n_gone = static_cast<size_t>(mean_rows(plain) - n);
  for (auto& rows : plain) rows.resize(rows.size() - n_gone);
}

inline PlainCache gather_plain(const PlainCache& plain, const KeepList& keep) {
  PlainCache kept(plain.size());
  for (size_t head = 0; head < plain.size(); ++head) {
    for (const int32_t row : keep[head]) kept[head].push_back(plain[head][static_cast<size_t>(row)]);
  }
  return kept;
}

// `n_keep` of `n_rows`, sorted.
inline std::vector<int32_t> random_rows(int64_t n_rows, int64_t n_keep, Random& random) {
  std::vector<int32_t> rows;
  for (int64_t row = 0; row < n_rows; ++row) {
    if (static_cast<int64_t>(random.below(static_cast<uint64_t>(n_rows - row))) >= n_keep) continue;
    rows.push_back(static_cast<int32_t>(row));
    --n_keep;
  }
  return rows;
}

// `n_keep` of `n_rows` for every head; other rows for each unless `same`.
inline KeepList random_keep(int64_t n_rows, int n_head_kv, int64_t n_keep, bool same, Random& random) {
  KeepList keep(static_cast<size_t>(n_head_kv));
  for (size_t head = 0; head < keep.size(); ++head) {
    keep[head] = same && head > 0 ? keep[0] : random_rows(n_rows, n_keep, random);
  }
  return keep;
}

// `n_keep` per head on the mean, at least one of each. REQUIRES: n_keep is at most the mean of n_rows.
inline KeepList random_ragged_keep(const std::vector<int64_t>& n_rows, int64_t n_keep, Random& random) {
  std::vector<int64_t> counts(n_rows.size(), 1);
  for (int64_t left = (n_keep - 1) * static_cast<int64_t>(n_rows.size()); left > 0;) {
    const size_t head = random.below(n_rows.size());
    const auto more = std::min<int64_t>({left, n_rows[head] - counts[head], 1 + static_cast<int64_t>(random.below(9))});
    counts[head] += more;
    left -= more;
  }
  KeepList keep;
  for (size_t head = 0; head < n_rows.size(); ++head) keep.push_back(random_rows(n_rows[head], counts[head], random));
  return keep;
}

// Rows, bytes, positions, layout and accounting.
inline void expect_holds(const LayerCache& layer, const PlainCache& plain) {
  const LayerShape shape = layer.shape();
  ASSERT_EQ(plain.size(), static_cast<size_t>(shape.n_head_kv));
  ASSERT_EQ(layer.n_rows(), mean_rows(plain));
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
  const int64_t n_room = layer.capacity() - layer.n_rows();
  const auto read_row = [&](const ggml_tensor* tensor, size_t head, size_t row, size_t size) {
    std::vector<uint8_t> values(size);
    ggml_backend_tensor_get(tensor, values.data(), offset_of(plain, n_room, head, row, size), size);
    return values;
  };
  bool ragged = false;
  std::vector<uint8_t> all_k;
  std::vector<uint8_t> all_v;
  for (size_t head = 0; head < plain.size(); ++head) {
    const auto positions = layer.positions(static_cast<int>(head));
    ASSERT_EQ(positions.size(), plain[head].size());
    ASSERT_EQ(layer.head_rows()[head], layer.n_rows(static_cast<int>(head)));
    ASSERT_EQ(static_cast<size_t>(layer.first_rows()[head]) * k_bytes, offset_of(plain, n_room, head, 0, k_bytes));
    ragged |= plain[head].size() != plain[0].size();
    for (size_t row = 0; row < plain[head].size(); ++row) {
      ASSERT_EQ(positions[row], plain[head][row].position) << "head " << head << " row " << row;
      ASSERT_EQ(read_row(layer.k(), head, row, k_bytes), plain[head][row].k) << "head " << head << " row " << row;
      ASSERT_EQ(read_row(layer.v(), head, row, v_bytes), plain[head][row].v) << "head " << head << " row " << row;
      all_k.insert(all_k.end(), plain[head][row].k.begin(), plain[head][row].k.end());
      all_v.insert(all_v.end(), plain[head][row].v.begin(), plain[head][row].v.end());
    }
  }
  ASSERT_EQ(layer.ragged(), ragged);
  ASSERT_EQ(layer.read_k_bytes(), all_k);
  ASSERT_EQ(layer.read_v_bytes(), all_v);
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
