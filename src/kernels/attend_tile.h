// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// attend_tile: many queries over many rows, as two products of 16-bit integers with 32-bit sums, which processors do at
// least as fast as BF16 and more exactly. V's columns are scaled to their largest value in a block of rows and then its
// rows to under 4095; a row's scale goes into its weight, so that weights, to 8191, are exact where most is added. No
// sum exceeds 32 bits, and those of a block of rows are added up in f32. What is not a finite number makes all results
// it could reach NaN. Compiled once per instruction set.
#pragma once

#include "kernels/score_tile.h"

namespace ripplekv {
namespace {

constexpr float kWeightMax = 8191.0F;
constexpr float kValueMax = 4095.0F;  // kBlockRows * 8192 * 4095 < 2^31
// Logarithms of V rows' scales: at least, and at most so far below their block's largest.
constexpr float kShiftMin = -100.0F;
constexpr float kShiftRange = 40.0F;

// A thread's memory for one tile: that of its scores, whose shift is the exponent of a row's scale, and this.
struct TileMemory : ScoreMemory {
  float* largest;    // [query], in units of log 2
  float* sum;        // [query]
  float* out;        // [panel][head_dim][kPanel]
  int32_t* v;        // [kBlockRows / 2][head_dim] pairs of rows
  float* v_column;   // [head_dim] V is its integers * v_column * 2^shift / kValueMax
  float* v_inverse;  // [kBlockRows] 2^-shift
  int32_t* weights;  // [kBlockRows / 2][kPanel] pairs of rows

  // Returns the bytes used; with null memory, to be asked for.
  int64_t place(uint8_t* memory, int64_t n_lanes, int64_t head_dim) {
    Arrays arrays(memory);
    ScoreMemory::place(arrays, n_lanes, head_dim);
    arrays.take(largest, n_lanes);
    arrays.take(sum, n_lanes);
    arrays.take(out, n_lanes * head_dim);
    arrays.take(v, kBlockRows / 2 * head_dim);
    arrays.take(v_column, head_dim);
    arrays.take(v_inverse, kBlockRows);
    arrays.take(weights, kBlockRows / 2 * static_cast<int64_t>(kPanel));
    return arrays.used();
  }
};

int64_t tile_bytes(int64_t n_query, int64_t head_dim) {
  return TileMemory{}.place(nullptr, whole_panels(n_query, kPanel), head_dim);
}

// A block of V as integers, rows 2n and 2n + 1 as pairs, each row divided by 2^shift, which is above its largest
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
    store(of_rows, memory.shift + r0);
    const float most = largest_of(of_rows);
    block_largest = most > block_largest ? most : block_largest;
  }
  // A float's bits are its logarithm, 0 to 0.0861 too small.
  const auto log2_above = [](F x) { return to_float(bits(x)) * 0x1p-23F - (127.0F - 0.0862F); };
  const F floor = max(log2_above(set(block_largest)) - kShiftRange, set(kShiftMin));
  for (size_t r = 0; r < n_rows; r += kLanes) {
    const F shift = max(log2_above(load(memory.shift + r)), floor);
    store(shift, memory.shift + r);
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

// One panel over the block of rows in memory. bad: 0, or NaN to be handed on.
void attend_panel(const TileMemory& memory, size_t panel, int64_t row, size_t n_rows, bool masked, float bad,
                  size_t head_dim) {
  F block_largest[kPanelVectors];
  score_panel(memory, panel, row, n_rows, masked, head_dim, block_largest);

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

  pack_queries(
      shape, call, unit, n_lanes, [&](int64_t lane) { return lane < n ? query_of(lane) : -1; }, head_of, memory);
  for (int64_t lane = 0; lane < n_lanes; ++lane) {
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
      const PanelView view = view_of(memory, panel, row, n_whole);
      if (view.seen) attend_panel(memory, panel, row, n_whole, view.masked, bad, head_dim);
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
