// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// attend_tile: many queries over many rows, as two products of 16-bit integers with 32-bit sums, which processors do at
// least as fast as BF16 and more exactly. Vector lanes are queries, so that softmax needs no sum or maximum across
// lanes. Q and K rows are scaled to length 46300, V's columns to their largest value in a block of rows and then its
// rows to under 4095; a row's scale goes into its weight, so that weights, to 8191, are exact where most is added. No
// sum exceeds 32 bits, and those of a block of rows are added up in f32. What is not a finite number makes all results
// it could reach NaN. Compiled once per instruction set.
#pragma once

#include "kernels/attention_units.h"
#include "kernels/pair_products.h"
#include "kernels/row_reader.h"
#include "kernels/scratch.h"

namespace ripplekv {
namespace {

constexpr float kWeightMax = 8191.0F;
constexpr float kLog2WeightMax = 12.9998239F;
constexpr float kValueMax = 4095.0F;  // kBlockRows * 8192 * 4095 < 2^31
// Logarithms of V rows' scales: at least, and at most so far below their block's largest.
constexpr float kShiftMin = -100.0F;
constexpr float kShiftRange = 40.0F;

// Rows of a block are filled up to a multiple of this with zeros that no query sees.
constexpr size_t kWholeRows = kLanes;
static_assert(kWholeRows % kBroadcasts == 0);

template <RowType type>
void read_rows(const uint8_t* rows, size_t stride, size_t n_rows, size_t head_dim, float* to) {
  using Reader = RowReader<type>;
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t i = 0; i < head_dim; i += Reader::kGranule) {
      F values[Reader::kGranule / kLanes];
      Reader::read(rows + r * stride, i, values);
      for (size_t j = 0; j < Reader::kGranule / kLanes; ++j) store(values[j], to + r * head_dim + i + j * kLanes);
    }
  }
}

// A thread's memory for one tile. Each array begins on a cache line.
struct TileMemory {
  int32_t* q;        // [panel][head_dim / 2][kPanel] pairs
  float* q_scale;    // [query], NaN if the query is not finite
  int32_t* begin;    // [query] the rows it may see
  int32_t* end;      // [query]
  float* largest;    // [query], in units of log 2
  float* sum;        // [query]
  float* out;        // [panel][head_dim][kPanel]
  int32_t* k;        // [kBlockRows][head_dim / 2] pairs
  float* k_scale;    // [kBlockRows]
  int32_t* v;        // [kBlockRows / 2][head_dim] pairs of rows
  float* v_column;   // [head_dim] V is its integers * v_column * 2^v_shift / kValueMax
  float* v_shift;    // [kBlockRows]
  float* v_inverse;  // [kBlockRows] 2^-v_shift
  float* values;     // [kBlockRows][head_dim]
  float* scores;     // [kBlockRows][kPanel]
  int32_t* weights;  // [kBlockRows / 2][kPanel] pairs of rows

  // Returns the bytes used; with null memory, to be asked for.
  int64_t place(uint8_t* memory, int64_t n_lanes, int64_t head_dim) {
    Arrays arrays(memory);
    arrays.take(q, n_lanes * head_dim / 2);
    arrays.take(q_scale, n_lanes);
    arrays.take(begin, n_lanes);
    arrays.take(end, n_lanes);
    arrays.take(largest, n_lanes);
    arrays.take(sum, n_lanes);
    arrays.take(out, n_lanes * head_dim);
    arrays.take(k, kBlockRows * head_dim / 2);
    arrays.take(k_scale, kBlockRows);
    arrays.take(v, kBlockRows / 2 * head_dim);
    arrays.take(v_column, head_dim);
    arrays.take(v_shift, kBlockRows);
    arrays.take(v_inverse, kBlockRows);
    arrays.take(values, kBlockRows * head_dim);
    arrays.take(scores, kBlockRows * static_cast<int64_t>(kPanel));
    arrays.take(weights, kBlockRows / 2 * static_cast<int64_t>(kPanel));
    return arrays.used();
  }
};

int64_t tile_bytes(int64_t n_query, int64_t head_dim) {
  return TileMemory{}.place(nullptr, whole_panels(n_query, kPanel), head_dim);
}

// A block of V as integers, rows 2n and 2n + 1 as pairs, each row divided by 2^v_shift, which is above its largest
// value. values: zeros to whole vectors of rows; changed. Returns 0, or NaN if not all are finite.
float scale_values(float* values, size_t n_rows, size_t head_dim, const TileMemory& memory) {
  F unreal = {};
  for (size_t i = 0; i < head_dim; i += kLanes) {
    F column = {};
    for (size_t r = 0; r < n_rows; ++r) {
      const F x = load(values + r * head_dim + i);
      column = max(column, max(x, -x));
      unreal = mul_add(x, F{}, unreal);
    }
    store(column, memory.v_column + i);
    const F inverse = column > 0.0F ? 1.0F / column : F{};
    for (size_t r = 0; r < n_rows; ++r) store(load(values + r * head_dim + i) * inverse, values + r * head_dim + i);
  }
  float block_largest = 0.0F;
  for (size_t r0 = 0; r0 < n_rows; r0 += kLanes) {
    F largest[kLanes] = {};
    for (size_t r = 0; r < kLanes; ++r) {
      for (size_t i = 0; i < head_dim; i += kLanes) {
        const F x = load(values + (r0 + r) * head_dim + i);
        largest[r] = max(largest[r], max(x, -x));
      }
    }
    const F of_rows = largest_of_each(largest);
    store(of_rows, memory.v_shift + r0);
    const float most = largest_of(of_rows);
    block_largest = most > block_largest ? most : block_largest;
  }
  // A float's bits are its logarithm, 0 to 0.0861 too small.
  const auto log2_above = [](F x) { return to_float(bits(x)) * 0x1p-23F - (127.0F - 0.0862F); };
  const F floor = max(log2_above(set(block_largest)) - kShiftRange, set(kShiftMin));
  for (size_t r = 0; r < n_rows; r += kLanes) {
    const F shift = max(log2_above(load(memory.v_shift + r)), floor);
    store(shift, memory.v_shift + r);
    store(exp2<Exp2::kExact>(-shift), memory.v_inverse + r);
  }
  for (size_t r = 0; r < n_rows; r += 2) {
    const F scale_even = set(memory.v_inverse[r] * kValueMax);
    const F scale_odd = set(memory.v_inverse[r + 1] * kValueMax);
    for (size_t i = 0; i < head_dim; i += kLanes) {
      const I even = nearest(load(values + r * head_dim + i) * scale_even);
      const I odd = nearest(load(values + (r + 1) * head_dim + i) * scale_odd);
      store((even & 0xffff) | (odd << 16), memory.v + r / 2 * head_dim + i);
    }
  }
  float bad = 0.0F;
  for (size_t i = 0; i < kLanes; ++i) bad += unreal[i];
  return bad;
}

// Scores of a panel for n_rows rows from `row` on, plus the exponents of V's scales, and the largest of each query.
template <bool masked>
void score_panel(const TileMemory& memory, size_t panel, int64_t row, size_t n_rows, size_t head_dim, F* largest) {
  const int32_t* q = memory.q + panel * kPanel * head_dim / 2;
  F q_scale[kPanelVectors];
  for (size_t p = 0; p < kPanelVectors; ++p) {
    q_scale[p] = load(memory.q_scale + panel * kPanel + p * kLanes);
    largest[p] = set(-1e30F);  // finite, so that differences are
  }
  for (size_t r = 0; r < n_rows; r += kBroadcasts) {
    I sums[kBroadcasts][kPanelVectors];
    multiply<kBroadcasts>(memory.k + r * head_dim / 2, head_dim / 2, 1, q, head_dim / 2, sums);
#pragma GCC unroll 8
    for (size_t a = 0; a < kBroadcasts; ++a) {
      const F k_scale = set(memory.k_scale[r + a]);
      const F v_shift = set(memory.v_shift[r + a]);
#pragma GCC unroll 4
      for (size_t p = 0; p < kPanelVectors; ++p) {
        F score = mul_add(to_float(sums[a][p]), q_scale[p] * k_scale, v_shift);
        if constexpr (masked) {
          const I at = set(static_cast<int32_t>(row + static_cast<int64_t>(r + a)));
          const I end = load(memory.end + panel * kPanel + p * kLanes);
          const I begin = load(memory.begin + panel * kPanel + p * kLanes);
          score = ((at < end) & (at >= begin)) ? score : set(-__builtin_inff());
        }
        largest[p] = max(largest[p], score);
        store(score, memory.scores + (r + a) * kPanel + p * kLanes);
      }
    }
  }
}

// One panel over the block of rows in memory. bad: 0, or NaN to be handed on.
void attend_panel(const TileMemory& memory, size_t panel, int64_t row, size_t n_rows, bool masked, float bad,
                  size_t head_dim) {
  F block_largest[kPanelVectors];
  if (masked) {
    score_panel<true>(memory, panel, row, n_rows, head_dim, block_largest);
  } else {
    score_panel<false>(memory, panel, row, n_rows, head_dim, block_largest);
  }

  F keep[kPanelVectors];
  F add[kPanelVectors];
  for (size_t p = 0; p < kPanelVectors; ++p) {
    const F shift = set(kLog2WeightMax) - block_largest[p];
    F sum = {};
    for (size_t r = 0; r < n_rows; r += 2) {
      const float* scores = memory.scores + r * kPanel + p * kLanes;
      const F even = exp2<Exp2::kFast>(load(scores) + shift);
      const F odd = exp2<Exp2::kFast>(load(scores + kPanel) + shift);
      sum = mul_add(even, set(memory.v_inverse[r]), sum);
      sum = mul_add(odd, set(memory.v_inverse[r + 1]), sum);
      store(nearest(even) | (nearest(odd) << 16), memory.weights + r / 2 * kPanel + p * kLanes);
    }
    float* query_largest = memory.largest + panel * kPanel + p * kLanes;
    float* query_sum = memory.sum + panel * kPanel + p * kLanes;
    const F before = load(query_largest);
    const F after = max(before, block_largest[p]);
    keep[p] = exp2<Exp2::kExact>(before - after);
    add[p] = exp2<Exp2::kExact>(block_largest[p] - after);
    store(after, query_largest);
    store(mul_add(sum, add[p], load(query_sum) * keep[p]), query_sum);
    add[p] = add[p] * (1.0F / kValueMax) + bad;
  }

  float* out = memory.out + panel * kPanel * head_dim;
  for (size_t i = 0; i < head_dim; i += kBroadcasts) {
    I sums[kBroadcasts][kPanelVectors];
    multiply<kBroadcasts>(memory.v + i, 1, head_dim, memory.weights, n_rows / 2, sums);
#pragma GCC unroll 8
    for (size_t a = 0; a < kBroadcasts; ++a) {
      const F column = set(memory.v_column[i + a]);
#pragma GCC unroll 4
      for (size_t p = 0; p < kPanelVectors; ++p) {
        float* to = out + (i + a) * kPanel + p * kLanes;
        store(mul_add(to_float(sums[a][p]), add[p] * column, load(to) * keep[p]), to);
      }
    }
  }
}

// Reads rows [row, row + n) of the unit's KV head and zeros to the next multiple of kWholeRows.
void read_block(const AttentionRows& rows, int64_t kv_head, int64_t row, size_t n, size_t n_whole, size_t head_dim,
                float* values) {
  const uint8_t* from = row_at(rows, kv_head, row);
  const auto stride = static_cast<size_t>(rows.row_stride);
  for (size_t i = n * head_dim; i < n_whole * head_dim; ++i) values[i] = 0.0F;
  switch (rows.type) {
    case RowType::kF32:
      return read_rows<RowType::kF32>(from, stride, n, head_dim, values);
    case RowType::kF16:
      return read_rows<RowType::kF16>(from, stride, n, head_dim, values);
    case RowType::kQ8_0:
      return read_rows<RowType::kQ8_0>(from, stride, n, head_dim, values);
    case RowType::kQ4_0:
      return read_rows<RowType::kQ4_0>(from, stride, n, head_dim, values);
  }
}

void attend_tile(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit,
                 const PartialSums& partial, uint8_t* work) {
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  const int64_t n_query = unit.query_end - unit.query_begin;
  const int64_t n = n_group * n_query;  // query i of head g of the group: lane g * n_query + i
  const int64_t n_lanes = whole_panels(n, kPanel);
  const auto head_dim = static_cast<size_t>(shape.head_dim);
  const auto query_of = [&](int64_t lane) { return unit.query_begin + lane % n_query; };
  const auto head_of = [&](int64_t lane) { return unit.kv_head * n_group + lane / n_query; };
  TileMemory memory;
  memory.place(work, n_lanes, shape.head_dim);

  const float scale = call.scale * 1.44269504F;  // exponents are powers of 2
  for (int64_t first = 0; first < n_lanes; first += kLanes) {
    float* q = memory.values;  // as memory.k, free until the first block
    for (int64_t lane = first; lane < first + static_cast<int64_t>(kLanes); ++lane) {
      for (size_t i = 0; i < head_dim; ++i) {
        *q++ = lane < n ? call.q[head_of(lane) * call.q_head_stride + query_of(lane) * call.q_query_stride +
                                 static_cast<int64_t>(i)]
                        : 0.0F;
      }
    }
    scale_to_length(memory.values, kLanes, head_dim, reinterpret_cast<int16_t*>(memory.k), memory.q_scale + first);
    const size_t panel = static_cast<size_t>(first) / kPanel;
    int32_t* to = memory.q + panel * kPanel * head_dim / 2 + static_cast<size_t>(first) % kPanel;
    for (size_t i = 0; i < head_dim / 2; ++i) {
      for (size_t lane = 0; lane < kLanes; ++lane) to[i * kPanel + lane] = memory.k[lane * head_dim / 2 + i];
    }
  }
  for (int64_t lane = 0; lane < n_lanes; ++lane) {
    memory.q_scale[lane] *= scale;
    const int64_t end = lane < n ? visible_end(shape, call, unit, query_of(lane)) : 0;
    memory.end[lane] = static_cast<int32_t>(end);
    memory.begin[lane] = static_cast<int32_t>(visible_begin(call, end));
    memory.largest[lane] = -1e30F;
    memory.sum[lane] = memory.q_scale[lane] * 0.0F;
  }
  for (size_t i = 0; i < static_cast<size_t>(n_lanes) * head_dim; ++i) memory.out[i] = 0.0F;

  int64_t row_end = visible_end(shape, call, unit, unit.query_end - 1);
  row_end = row_end < unit.row_end ? row_end : unit.row_end;
  const int64_t seen = visible_begin(call, visible_end(shape, call, unit, unit.query_begin)) / kBlockRows * kBlockRows;
  for (int64_t row = unit.row_begin > seen ? unit.row_begin : seen; row < row_end; row += kBlockRows) {
    const auto n_rows = static_cast<size_t>(row_end - row < kBlockRows ? row_end - row : kBlockRows);
    const size_t n_whole = (n_rows + kWholeRows - 1) / kWholeRows * kWholeRows;
    read_block(call.k, unit.kv_head, row, n_rows, n_whole, head_dim, memory.values);
    scale_to_length(memory.values, n_whole, head_dim, reinterpret_cast<int16_t*>(memory.k), memory.k_scale);
    float bad = 0.0F;
    for (size_t r = 0; r < n_whole; ++r) bad += memory.k_scale[r] * 0.0F;
    read_block(call.v, unit.kv_head, row, n_rows, n_whole, head_dim, memory.values);
    bad += scale_values(memory.values, n_whole, head_dim, memory);
    for (size_t panel = 0; panel < static_cast<size_t>(n_lanes) / kPanel; ++panel) {
      // Rows all its queries see are not masked, rows none of them sees not looked at.
      bool masked = false;
      bool seen_by_any = false;
      for (size_t lane = panel * kPanel; lane < (panel + 1) * kPanel; ++lane) {
        masked |= memory.end[lane] < row + static_cast<int64_t>(n_whole) || memory.begin[lane] > row;
        seen_by_any |= memory.end[lane] > row && memory.begin[lane] < row + static_cast<int64_t>(n_whole);
      }
      if (seen_by_any) attend_panel(memory, panel, row, n_whole, masked, bad, head_dim);
    }
  }

  for (int64_t lane = 0; lane < n; ++lane) {
    const int64_t at = head_of(lane) * shape.n_query + query_of(lane);
    const size_t panel = static_cast<size_t>(lane) / kPanel;
    const float* out = memory.out + panel * kPanel * head_dim + static_cast<size_t>(lane) % kPanel;
    for (size_t i = 0; i < head_dim; ++i) {
      partial.weighted[at * shape.head_dim + static_cast<int64_t>(i)] = out[i * kPanel];
    }
    partial.max[at] = memory.largest[lane];
    partial.sum[at] = memory.sum[lane];
  }
}

}  // namespace
}  // namespace ripplekv
