// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What rows are attended to by many queries together, in two passes over the scores, which are never stored: first the
// largest score of each query and its sum, then each row's weights summed over the queries. Lanes are queries; those of
// a query head fill whole vectors, so that a vector's weights belong to one head. Compiled once per instruction set.
#pragma once

#include "kernels/attention_sums.h"
#include "kernels/score_tile.h"

namespace ripplekv {
namespace {

// A thread's memory: that of the scores of a tile, and this.
struct SumMemory : ScoreMemory {
  float* largest;  // [lane], in units of log 2; in the second pass log sums
  float* sum;      // [lane]
  float* sums;     // [query head of the group][kSumRows][kLanes]: not yet added up over lanes

  int64_t place(uint8_t* memory, int64_t n_lanes, int64_t head_dim, int64_t n_group) {
    Arrays arrays(memory);
    ScoreMemory::place(arrays, n_lanes, head_dim);
    arrays.take(largest, n_lanes);
    arrays.take(sum, n_lanes);
    arrays.take(sums, n_group * kSumRows * static_cast<int64_t>(kLanes));
    return arrays.used();
  }
};

// Query i of head g of the group: lane g * width + i, width being whole vectors.
struct SumLanes {
  int64_t n_query = 0;
  int64_t n_group = 0;
  int64_t width = 0;
  int64_t n_lanes = 0;
};

SumLanes lanes_for(int64_t n_query, int64_t n_group) {
  const int64_t width = whole_panels(n_query, kLanes);
  return {n_query, n_group, width, whole_panels(n_group * width, kPanel)};
}

int64_t sum_bytes(int64_t n_query, int64_t n_group, int64_t head_dim) {
  return SumMemory{}.place(nullptr, lanes_for(n_query, n_group).n_lanes, head_dim, n_group);
}

void pack_lanes(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit,
                const SumLanes& lanes, const SumMemory& memory) {
  pack_queries(
      shape, call, unit, lanes.n_lanes,
      [&](int64_t lane) {
        const int64_t i = lane % lanes.width;
        return lane / lanes.width < lanes.n_group && i < lanes.n_query ? unit.query_begin + i : -1;
      },
      [&](int64_t lane) { return unit.kv_head * lanes.n_group + lane / lanes.width; }, memory);
}

// Scores of all panels for the unit's rows, a block at a time: visit(panel, first row, rows in memory).
template <class Visit>
void visit_scores(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit,
                  const SumLanes& lanes, const SumMemory& memory, Visit visit) {
  const auto head_dim = static_cast<size_t>(shape.head_dim);
  int64_t row_end = visible_end(shape, call, unit, unit.query_end - 1);
  row_end = row_end < unit.row_end ? row_end : unit.row_end;
  for (int64_t row = unit.row_begin; row < row_end; row += kBlockRows) {
    const auto n_rows = static_cast<size_t>(row_end - row < kBlockRows ? row_end - row : kBlockRows);
    const size_t n_whole = (n_rows + kWholeRows - 1) / kWholeRows * kWholeRows;
    read_block(call.k, unit.kv_head, row, n_rows, n_whole, head_dim, memory.values);
    scale_to_length(memory.values, n_whole, head_dim, reinterpret_cast<int16_t*>(memory.k), memory.k_scale);
    for (size_t panel = 0; panel < static_cast<size_t>(lanes.n_lanes) / kPanel; ++panel) {
      const PanelView view = view_of(memory, panel, row, n_whole);
      if (!view.seen) continue;
      F largest[kPanelVectors];
      score_panel(memory, panel, row, n_whole, view.masked, head_dim, largest);
      visit(panel, row, n_whole, largest);
    }
  }
}

// First pass: of each query of the unit the largest score and the sum of weights relative to it.
void score_sums(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit, float* largest,
                float* sum, uint8_t* work) {
  const SumLanes lanes = lanes_for(unit.query_end - unit.query_begin, shape.n_head / shape.n_head_kv);
  SumMemory memory;
  memory.place(work, lanes.n_lanes, shape.head_dim, lanes.n_group);
  pack_lanes(shape, call, unit, lanes, memory);
  for (size_t r = 0; r < static_cast<size_t>(kBlockRows); ++r) memory.shift[r] = 0.0F;
  for (int64_t lane = 0; lane < lanes.n_lanes; ++lane) {
    memory.largest[lane] = -1e30F;
    memory.sum[lane] = memory.q_scale[lane] * 0.0F;
  }
  visit_scores(shape, call, unit, lanes, memory, [&](size_t panel, int64_t, size_t n_rows, const F* block_largest) {
    for (size_t p = 0; p < kPanelVectors; ++p) {
      float* at = memory.largest + panel * kPanel + p * kLanes;
      float* sum_at = memory.sum + panel * kPanel + p * kLanes;
      const F before = load(at);
      const F after = max(before, block_largest[p]);
      F block_sum = {};
      for (size_t r = 0; r < n_rows; ++r) {
        block_sum += exp2<Exp2::kFast>(load(memory.scores + r * kPanel + p * kLanes) - after);
      }
      store(after, at);
      store(mul_add(load(sum_at), exp2<Exp2::kExact>(before - after), block_sum), sum_at);
    }
  });
  for (int64_t g = 0; g < lanes.n_group; ++g) {
    for (int64_t i = 0; i < lanes.n_query; ++i) {
      const int64_t at = (unit.kv_head * lanes.n_group + g) * shape.n_query + unit.query_begin + i;
      largest[at] = memory.largest[g * lanes.width + i];
      sum[at] = memory.sum[g * lanes.width + i];
    }
  }
}

// Second pass: the weights of all queries that see the unit's rows, at most kSumRows, summed over the queries: out,
// [n_out, n_head]. n_block_query: queries taken at once.
void weight_sums(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& rows,
                 int64_t n_block_query, const LogSums& log_sums, float* out, int64_t n_out, uint8_t* work) {
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  SumMemory memory;
  memory.place(work, lanes_for(n_block_query, n_group).n_lanes, shape.head_dim, n_group);
  for (size_t r = 0; r < static_cast<size_t>(kBlockRows); ++r) memory.shift[r] = 0.0F;
  const auto head_sums = static_cast<size_t>(kSumRows) * kLanes;
  for (size_t i = 0; i < static_cast<size_t>(n_group) * head_sums; ++i) memory.sums[i] = 0.0F;

  for (int64_t begin = 0; begin < shape.n_query; begin += n_block_query) {
    AttentionUnit unit = rows;
    unit.query_begin = begin;
    unit.query_end = begin + n_block_query < shape.n_query ? begin + n_block_query : shape.n_query;
    if (visible_end(shape, call, unit, unit.query_end - 1) <= rows.row_begin) continue;
    const SumLanes lanes = lanes_for(unit.query_end - begin, n_group);
    pack_lanes(shape, call, unit, lanes, memory);
    for (int64_t lane = 0; lane < lanes.n_lanes; ++lane) {
      const int64_t i = lane % lanes.width;
      const bool used = lane / lanes.width < n_group && i < lanes.n_query;
      const int64_t head = unit.kv_head * n_group + lane / lanes.width;
      memory.largest[lane] = used ? log_sums.data[head * log_sums.head_stride + begin + i] : 0.0F;
    }
    visit_scores(shape, call, unit, lanes, memory, [&](size_t panel, int64_t row, size_t n_rows, const F*) {
      for (size_t p = 0; p < kPanelVectors; ++p) {
        const size_t lane = panel * kPanel + p * kLanes;
        const auto head = static_cast<int64_t>(lane) / lanes.width;
        if (head >= n_group) break;  // filling of the last panel
        const F log_sum = load(memory.largest + lane);
        float* sums =
            memory.sums + static_cast<size_t>(head) * head_sums + static_cast<size_t>(row - rows.row_begin) * kLanes;
        for (size_t r = 0; r < n_rows; ++r) {
          const F weight = exp2<Exp2::kFast>(load(memory.scores + r * kPanel + p * kLanes) - log_sum);
          store(load(sums + r * kLanes) + weight, sums + r * kLanes);
        }
      }
    });
  }

  for (int64_t head = 0; head < n_group; ++head) {
    float* to = out + (rows.kv_head * n_group + head) * n_out + rows.row_begin;
    const auto n_rows = static_cast<size_t>(rows.row_end - rows.row_begin);
    for (size_t r0 = 0; r0 < n_rows; r0 += kLanes) {
      F lanes[kLanes];
      for (size_t r = 0; r < kLanes; ++r) {
        lanes[r] = load(memory.sums + static_cast<size_t>(head) * head_sums + (r0 + r) * kLanes);
      }
      const F sums = sums_of(lanes);
      for (size_t r = 0; r < kLanes && r0 + r < n_rows; ++r) to[r0 + r] = sums[r];
    }
  }
}

}  // namespace
}  // namespace ripplekv
