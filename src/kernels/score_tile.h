// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Scores of many queries over a block of rows, as products of 16-bit integers with 32-bit sums: what attention over
// tiles (attend_tile.h) and sums of attention (sum_tile.h) have in common. Vector lanes are queries, so that a softmax
// needs no sum or maximum across lanes. Q and K rows are scaled to length 46300. Compiled once per instruction set.
#pragma once

#include "kernels/attention_units.h"
#include "kernels/pair_products.h"
#include "kernels/row_reader.h"
#include "kernels/scratch.h"

namespace ripplekv {
namespace {

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

// A thread's memory for the scores of a tile. Each array begins on a cache line.
struct ScoreMemory {
  int32_t* q;      // [panel][head_dim / 2][kPanel] pairs
  float* q_scale;  // [query], NaN if the query is not finite
  int32_t* begin;  // [query] the rows it may see
  int32_t* end;    // [query]
  int32_t* k;      // [kBlockRows][head_dim / 2] pairs
  float* k_scale;  // [kBlockRows]
  float* shift;    // [kBlockRows] what is added to a row's scores
  float* values;   // [kBlockRows][head_dim]
  float* scores;   // [kBlockRows][kPanel]

  void place(Arrays& arrays, int64_t n_lanes, int64_t head_dim) {
    arrays.take(q, n_lanes * head_dim / 2);
    arrays.take(q_scale, n_lanes);
    arrays.take(begin, n_lanes);
    arrays.take(end, n_lanes);
    arrays.take(k, kBlockRows * head_dim / 2);
    arrays.take(k_scale, kBlockRows);
    arrays.take(shift, kBlockRows);
    arrays.take(values, kBlockRows * head_dim);
    arrays.take(scores, kBlockRows * static_cast<int64_t>(kPanel));
  }
};

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

// Queries as integers, and the rows each may see. query_of(lane): which of the call's queries, or -1 for none;
// head_of(lane): of which head.
template <class QueryOf, class HeadOf>
void pack_queries(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit, int64_t n_lanes,
                  QueryOf query_of, HeadOf head_of, const ScoreMemory& memory) {
  const auto head_dim = static_cast<size_t>(shape.head_dim);
  const float scale = call.scale * 1.44269504F;  // exponents are powers of 2
  for (int64_t first = 0; first < n_lanes; first += kLanes) {
    float* q = memory.values;  // as memory.k, free until the first block
    for (int64_t lane = first; lane < first + static_cast<int64_t>(kLanes); ++lane) {
      const int64_t query = query_of(lane);
      const float* from =
          query < 0 ? nullptr : call.q + head_of(lane) * call.q_head_stride + query * call.q_query_stride;
      for (size_t i = 0; i < head_dim; ++i) *q++ = query < 0 ? 0.0F : from[i];
      const int64_t end = query < 0 ? 0 : visible_end(shape, call, unit, query);
      memory.end[lane] = static_cast<int32_t>(end);
      memory.begin[lane] = static_cast<int32_t>(visible_begin(call, end));
    }
    scale_to_length(memory.values, kLanes, head_dim, reinterpret_cast<int16_t*>(memory.k), memory.q_scale + first);
    store(load(memory.q_scale + first) * scale, memory.q_scale + first);
    const size_t panel = static_cast<size_t>(first) / kPanel;
    int32_t* to = memory.q + panel * kPanel * head_dim / 2 + static_cast<size_t>(first) % kPanel;
    for (size_t i = 0; i < head_dim / 2; ++i) {
      for (size_t lane = 0; lane < kLanes; ++lane) to[i * kPanel + lane] = memory.k[lane * head_dim / 2 + i];
    }
  }
}

// What the queries of a panel see of the rows [row, row + n_rows): rows all of them see need no mask, rows none of them
// sees need not be looked at.
struct PanelView {
  bool masked = false;
  bool seen = false;
};
PanelView view_of(const ScoreMemory& memory, size_t panel, int64_t row, size_t n_rows) {
  PanelView view;
  for (size_t lane = panel * kPanel; lane < (panel + 1) * kPanel; ++lane) {
    view.masked |= memory.end[lane] < row + static_cast<int64_t>(n_rows) || memory.begin[lane] > row;
    view.seen |= memory.end[lane] > row && memory.begin[lane] < row + static_cast<int64_t>(n_rows);
  }
  return view;
}

// Scores of a panel for n_rows rows from `row` on, plus their shift, and the largest of each query.
template <bool masked>
void score_panel_as(const ScoreMemory& memory, size_t panel, int64_t row, size_t n_rows, size_t head_dim, F* largest) {
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
      const F shift = set(memory.shift[r + a]);
#pragma GCC unroll 4
      for (size_t p = 0; p < kPanelVectors; ++p) {
        F score = mul_add(to_float(sums[a][p]), q_scale[p] * k_scale, shift);
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

void score_panel(const ScoreMemory& memory, size_t panel, int64_t row, size_t n_rows, bool masked, size_t head_dim,
                 F* largest) {
  if (masked) {
    score_panel_as<true>(memory, panel, row, n_rows, head_dim, largest);
  } else {
    score_panel_as<false>(memory, panel, row, n_rows, head_dim, largest);
  }
}

}  // namespace
}  // namespace ripplekv
