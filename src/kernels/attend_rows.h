// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// attend_rows: few queries over many rows, in f32. A block of rows is read from memory once; the query heads that share
// a KV head go over it together, up to kTile at a time, so that a load (and dequantisation) serves all of them. Scores
// are summed lane by lane and reduced for a whole vector of rows at once. Compiled once per instruction set.
#pragma once

#include "kernels/attention_units.h"
#include "kernels/row_reader.h"

namespace ripplekv {
namespace {

// Queries whose sums fit the registers beside a block's values.
constexpr size_t kTile = kLanes == 16 ? 4 : 2;

// A block of rows of one side.
struct Block {
  const uint8_t* data;
  size_t stride;
  size_t n;  // 1 to kBlockRows
};

// The row that a block later stands where this one does: blocks of K and V are read in turn, which processors do not
// foresee.
RKV_INLINE void prefetch_next(const uint8_t* row, size_t stride, size_t begin, size_t end) {
  for (size_t at = begin; at < end; at += 64) __builtin_prefetch(row + kBlockRows * stride + at);
}

// scores[h][r] = q[h] . row r, for whole vectors of rows: those past n repeat the last row.
template <RowType type, size_t n_tile>
void score_rows(const Block& block, const float* q, size_t head_dim, float* scores) {
  using Reader = RowReader<type>;
  constexpr size_t kParts = Reader::kGranule / kLanes;
  for (size_t r0 = 0; r0 < block.n; r0 += kLanes) {
    F lanes[n_tile][kLanes];
    for (size_t r = 0; r < kLanes; r += 4) {
      const uint8_t* rows[4];
      for (size_t j = 0; j < 4; ++j) {
        const size_t row = r0 + r + j;
        rows[j] = block.data + (row < block.n ? row : block.n - 1) * block.stride;
        prefetch_next(rows[j], block.stride, 0, block.stride);
      }
      F sums[n_tile][4] = {};
      for (size_t i = 0; i < head_dim; i += Reader::kGranule) {
        F values[4][kParts];
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; ++j) Reader::read(rows[j], i, values[j]);
#pragma GCC unroll 8
        for (size_t part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
          for (size_t h = 0; h < n_tile; ++h) {
            const F query = load(q + h * head_dim + i + part * kLanes);
#pragma GCC unroll 4
            for (size_t j = 0; j < 4; ++j) sums[h][j] = mul_add(values[j][part], query, sums[h][j]);
          }
        }
      }
#pragma GCC unroll 4
      for (size_t h = 0; h < n_tile; ++h) {
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; ++j) lanes[h][r + j] = sums[h][j];
      }
    }
    for (size_t h = 0; h < n_tile; ++h) store(sums_of(lanes[h]), scores + h * kBlockRows + r0);
  }
}

// out[h] = out[h] * keep[h] + sum over r of weights[h][r] * row r
template <RowType type, size_t n_tile, size_t width>
void add_rows(const Block& block, const float* weights, const float* keep, size_t head_dim, float* out) {
  using Reader = RowReader<type>;
  constexpr size_t kParts = width / kLanes;
  for (size_t i = 0; i < head_dim; i += width) {
    F sums[n_tile][kParts];
#pragma GCC unroll 4
    for (size_t h = 0; h < n_tile; ++h) {
#pragma GCC unroll 16
      for (size_t part = 0; part < kParts; ++part) {
        sums[h][part] = load(out + h * head_dim + i + part * kLanes) * keep[h];
      }
    }
    const uint8_t* row = block.data;
    for (size_t r = 0; r < block.n; ++r, row += block.stride) {
      prefetch_next(row, block.stride, i * block.stride / head_dim, (i + width) * block.stride / head_dim);
      F values[kParts];
#pragma GCC unroll 4
      for (size_t j = 0; j < width; j += Reader::kGranule) Reader::read(row, i + j, values + j / kLanes);
#pragma GCC unroll 4
      for (size_t h = 0; h < n_tile; ++h) {
        const F weight = set(weights[h * kBlockRows + r]);
#pragma GCC unroll 16
        for (size_t part = 0; part < kParts; ++part) sums[h][part] = mul_add(values[part], weight, sums[h][part]);
      }
    }
#pragma GCC unroll 4
    for (size_t h = 0; h < n_tile; ++h) {
#pragma GCC unroll 16
      for (size_t part = 0; part < kParts; ++part) {
        store(sums[h][part], out + h * head_dim + i + part * kLanes);
      }
    }
  }
}

template <RowType type>
void score_block(const Block& block, const float* q, size_t n, size_t head_dim, float* scores) {
  size_t h = 0;
  for (; h + kTile <= n; h += kTile) {
    score_rows<type, kTile>(block, q + h * head_dim, head_dim, scores + h * kBlockRows);
  }
  q += h * head_dim;
  scores += h * kBlockRows;
  if (n - h == 1) score_rows<type, 1>(block, q, head_dim, scores);
  if constexpr (kTile > 2) {
    if (n - h == 2) score_rows<type, 2>(block, q, head_dim, scores);
    if (n - h == 3) score_rows<type, 3>(block, q, head_dim, scores);
  }
}

template <RowType type, size_t width>
void add_block(const Block& block, const float* weights, const float* keep, size_t n, size_t head_dim, float* out) {
  size_t h = 0;
  for (; h + kTile <= n; h += kTile) {
    add_rows<type, kTile, width>(block, weights + h * kBlockRows, keep + h, head_dim, out + h * head_dim);
  }
  weights += h * kBlockRows;
  out += h * head_dim;
  if (n - h == 1) add_rows<type, 1, width>(block, weights, keep + h, head_dim, out);
  if constexpr (kTile > 2) {
    if (n - h == 2) add_rows<type, 2, width>(block, weights, keep + h, head_dim, out);
    if (n - h == 3) add_rows<type, 3, width>(block, weights, keep + h, head_dim, out);
  }
}

void score_block(RowType type, const Block& block, const float* q, size_t n, size_t head_dim, float* scores) {
  switch (type) {
    case RowType::kF32:
      return score_block<RowType::kF32>(block, q, n, head_dim, scores);
    case RowType::kF16:
      return score_block<RowType::kF16>(block, q, n, head_dim, scores);
    case RowType::kQ8_0:
      return score_block<RowType::kQ8_0>(block, q, n, head_dim, scores);
    case RowType::kQ4_0:
      return score_block<RowType::kQ4_0>(block, q, n, head_dim, scores);
  }
}

void add_block(RowType type, const Block& block, const float* weights, const float* keep, size_t n, size_t head_dim,
               float* out) {
  // Wider means more independent sums, as long as they fit the registers.
  constexpr size_t kWide = kLanes == 16 ? 64 : 32;
  const bool wide = head_dim % kWide == 0;
  switch (type) {
    case RowType::kF32:
      return wide ? add_block<RowType::kF32, kWide>(block, weights, keep, n, head_dim, out)
                  : add_block<RowType::kF32, 16>(block, weights, keep, n, head_dim, out);
    case RowType::kF16:
      return wide ? add_block<RowType::kF16, kWide>(block, weights, keep, n, head_dim, out)
                  : add_block<RowType::kF16, 16>(block, weights, keep, n, head_dim, out);
    case RowType::kQ8_0:
      return wide ? add_block<RowType::kQ8_0, kWide>(block, weights, keep, n, head_dim, out)
                  : add_block<RowType::kQ8_0, 32>(block, weights, keep, n, head_dim, out);
    case RowType::kQ4_0:
      return wide ? add_block<RowType::kQ4_0, kWide>(block, weights, keep, n, head_dim, out)
                  : add_block<RowType::kQ4_0, 32>(block, weights, keep, n, head_dim, out);
  }
}

// Scores of one query become weights, and its sums what they are with them. Rows outside [begin, end) get weight 0.
// Returns by what its weighted sum must shrink.
float weigh(float* scores, int64_t begin, int64_t end, int64_t n, float& largest, float& sum) {
  const int64_t n_whole = whole_panels(n, kLanes);
  if (begin >= end) {
    for (int64_t r = 0; r < n_whole; ++r) scores[r] = 0.0F;
    return 1.0F;
  }
  for (int64_t r = 0; r < begin; ++r) scores[r] = -__builtin_inff();
  for (int64_t r = end; r < n_whole; ++r) scores[r] = -__builtin_inff();
  F most = load(scores);
  for (int64_t r = kLanes; r < n_whole; r += kLanes) most = max(most, load(scores + r));
  float block_largest = largest_of(most);
  block_largest = largest > block_largest ? largest : block_largest;
  F sums = {};
  for (int64_t r = 0; r < n_whole; r += kLanes) {
    const F weights = exp2<Exp2::kExact>(load(scores + r) - block_largest);
    sums += weights;
    store(weights, scores + r);
  }
  for (int64_t r = 0; r < begin; ++r) scores[r] = 0.0F;
  for (int64_t r = end; r < n_whole; ++r) scores[r] = 0.0F;
  float block_sum = 0.0F;
  for (size_t i = 0; i < kLanes; ++i) block_sum += sums[i];
  const F shrink = exp2<Exp2::kExact>(set(largest - block_largest));  // 0 rows before: -inf, and nothing to shrink
  largest = block_largest;
  sum = sum * shrink[0] + block_sum;
  return shrink[0];
}

void attend_rows(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit,
                 const PartialSums& partial, uint8_t* work) {
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  const int64_t n_query = unit.query_end - unit.query_begin;
  const int64_t n = n_group * n_query;  // query i of head g of the group: [g * n_query + i]
  const auto head_dim = static_cast<size_t>(shape.head_dim);
  float* memory = reinterpret_cast<float*>(work);
  float* q = memory;  // [n][head_dim], scaled
  float* out = q + n * shape.head_dim;
  float* scores = out + n * shape.head_dim;  // [n][kBlockRows]
  float* largest = scores + n * kBlockRows;
  float* sum = largest + n;
  float* keep = sum + n;

  const float scale = call.scale * 1.44269504F;  // exponents are powers of 2
  for (int64_t row = 0; row < n; ++row) {
    const int64_t head = unit.kv_head * n_group + row / n_query;
    const float* from = call.q + head * call.q_head_stride + (unit.query_begin + row % n_query) * call.q_query_stride;
    for (size_t i = 0; i < head_dim; ++i) {
      q[static_cast<size_t>(row) * head_dim + i] = from[i] * scale;
      out[static_cast<size_t>(row) * head_dim + i] = 0.0F;
    }
    largest[row] = -__builtin_inff();
    sum[row] = 0.0F;
  }

  int64_t row_end = visible_end(shape, call, unit, unit.query_end - 1);
  row_end = row_end < unit.row_end ? row_end : unit.row_end;
  const int64_t seen = visible_begin(call, visible_end(shape, call, unit, unit.query_begin)) / kBlockRows * kBlockRows;
  for (int64_t row = unit.row_begin > seen ? unit.row_begin : seen; row < row_end; row += kBlockRows) {
    const int64_t n_rows = row_end - row < kBlockRows ? row_end - row : kBlockRows;
    const auto block = [&](const AttentionRows& rows) {
      return Block{row_at(rows, unit.kv_head, row), static_cast<size_t>(rows.row_stride), static_cast<size_t>(n_rows)};
    };
    score_block(call.k.type, block(call.k), q, static_cast<size_t>(n), head_dim, scores);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t end = visible_end(shape, call, unit, unit.query_begin + i % n_query);
      const int64_t begin = visible_begin(call, end) - row;
      keep[i] = weigh(scores + i * kBlockRows, begin > 0 ? begin : 0, end - row < n_rows ? end - row : n_rows, n_rows,
                      largest[i], sum[i]);
    }
    add_block(call.v.type, block(call.v), scores, keep, static_cast<size_t>(n), head_dim, out);
  }

  for (int64_t row = 0; row < n; ++row) {
    const int64_t head = unit.kv_head * n_group + row / n_query;
    const int64_t at = head * shape.n_query + unit.query_begin + row % n_query;
    __builtin_memcpy(partial.weighted + at * shape.head_dim, out + static_cast<size_t>(row) * head_dim,
                     head_dim * sizeof(float));
    partial.max[at] = largest[row];
    partial.sum[at] = sum[row];
  }
}

}  // namespace
}  // namespace ripplekv
