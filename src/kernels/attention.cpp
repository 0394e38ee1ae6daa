// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// How a call is cut into units, which kernels do them, and how their results are merged. How units are cut follows from
// the shape alone, and results are merged in the order of the rows: threads change nothing.
#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention_units.h"
#include "kernels/scratch.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

constexpr int64_t kRowsUnits = 64;     // to aim for: enough to keep many threads busy to the end
constexpr int64_t kTileUnits = 24;     // likewise; each prepares its queries and keeps as many sums as they have
constexpr int64_t kRowsRowsMin = 256;  // rows of a unit at least: merging costs a few rows' time
constexpr int64_t kTileRowsMin = 2048;
constexpr int64_t kRowsQueries = 48;     // queries x group of one unit of attend_rows: its scores stay in L1
constexpr int64_t kTileQueries = 384;    // likewise of attend_tile: a block's conversion is shared by them
constexpr int64_t kTileQueriesMin = 32;  // from here on attend_tile is faster

struct Layout {
  int64_t partials;  // bytes of one row block's partial sums
  int64_t n_sums;    // n_query * n_head
};

Layout layout_of(const AttentionShape& shape) {
  const int64_t n_sums = shape.n_query * shape.n_head;
  return {whole_lines(n_sums * (shape.head_dim + 2) * static_cast<int64_t>(sizeof(float))), n_sums};
}

PartialSums partials_at(const AttentionPlan& plan, uint8_t* scratch, int64_t row_block) {
  const Layout layout = layout_of(plan.shape);
  auto* base = reinterpret_cast<float*>(scratch + row_block * layout.partials);
  return {base, base + layout.n_sums * plan.shape.head_dim, base + layout.n_sums * (plan.shape.head_dim + 1)};
}

}  // namespace

int64_t rows_of(const AttentionCall& call, int64_t kv_head) {
  return call.n_rows[call.n_rows.size() == 1 ? 0 : static_cast<size_t>(kv_head)];
}

bool attention_supports(int64_t head_dim, RowType k_type, RowType v_type) {
  const auto fits = [&](RowType type) {
    return head_dim % (type == RowType::kQ8_0 || type == RowType::kQ4_0 ? 32 : 16) == 0;
  };
  return head_dim > 0 && head_dim <= 512 && fits(k_type) && fits(v_type);
}

AttentionPlan plan_attention(const AttentionShape& shape, int n_threads, const KernelSet& kernels) {
  RKV_CHECK(attention_supports(shape.head_dim, shape.k_type, shape.v_type));
  RKV_CHECK(shape.n_head_kv > 0 && shape.n_head % shape.n_head_kv == 0 && shape.n_query > 0 && shape.n_rows > 0);
  AttentionPlan plan;
  plan.shape = shape;
  plan.kernels = &kernels;
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  // Rows in f32 are kept exact: whoever pays for them wants that.
  const bool exact = shape.k_type == RowType::kF32 || shape.v_type == RowType::kF32;
  plan.tiles = !exact && shape.n_query * n_group >= kTileQueriesMin;
  const int64_t n_unit_query = std::max<int64_t>(1, (plan.tiles ? kTileQueries : kRowsQueries) / n_group);
  plan.n_query_blocks = blocks_of(shape.n_query, n_unit_query);
  plan.n_unit_query = blocks_of(shape.n_query, plan.n_query_blocks);
  plan.n_query_blocks = blocks_of(shape.n_query, plan.n_unit_query);
  const int64_t n_row_blocks =
      std::min(blocks_of(plan.tiles ? kTileUnits : kRowsUnits, plan.n_query_blocks * shape.n_head_kv),
               blocks_of(shape.n_rows, plan.tiles ? kTileRowsMin : kRowsRowsMin));
  plan.n_unit_rows = blocks_of(blocks_of(shape.n_rows, n_row_blocks), kBlockRows) * kBlockRows;
  plan.n_row_blocks = blocks_of(shape.n_rows, plan.n_unit_rows);
  const int64_t n = plan.n_unit_query * n_group;
  plan.work_bytes =
      plan.tiles ? kernels.tile_bytes(n, shape.head_dim) : whole_lines(n * (2 * shape.head_dim + kBlockRows + 3) * 4);
  plan.scratch_bytes = kCacheLine + plan.n_row_blocks * layout_of(shape).partials + n_threads * plan.work_bytes;
  return plan;
}

void attend(const AttentionPlan& plan, const AttentionCall& call, std::span<uint8_t> scratch,
            std::atomic<int64_t>& next_unit, int thread) {
  const AttentionShape& shape = plan.shape;
  uint8_t* memory = first_line(scratch);
  uint8_t* work = memory + plan.n_row_blocks * layout_of(shape).partials + thread * plan.work_bytes;
  RKV_CHECK(work + plan.work_bytes <= scratch.data() + scratch.size());
  for (int64_t i = next_unit.fetch_add(1); i < plan.n_units(); i = next_unit.fetch_add(1)) {
    // The last queries see the most rows and come first: what is left for the end is small.
    const int64_t block = plan.n_query_blocks - 1 - i / (plan.n_row_blocks * shape.n_head_kv);
    const int64_t row_block = i % plan.n_row_blocks;
    AttentionUnit unit;
    unit.kv_head = i / plan.n_row_blocks % shape.n_head_kv;
    unit.n_rows = rows_of(call, unit.kv_head);
    unit.query_begin = block * plan.n_unit_query;
    unit.query_end = std::min(unit.query_begin + plan.n_unit_query, shape.n_query);
    unit.row_begin = row_block * plan.n_unit_rows;
    unit.row_end = std::min(unit.row_begin + plan.n_unit_rows, unit.n_rows);
    const auto kernel = plan.tiles ? plan.kernels->attend_tile : plan.kernels->attend_rows;
    kernel(shape, call, unit, partials_at(plan, memory, row_block), work);
  }
}

void merge_attention(const AttentionPlan& plan, std::span<const uint8_t> scratch, float* out, const LogSums& log_sums,
                     int64_t first_log_sum, int thread, int n_threads) {
  const AttentionShape& shape = plan.shape;
  uint8_t* memory = first_line(scratch);
  const int64_t n_sums = shape.n_query * shape.n_head;
  for (int64_t at = n_sums * thread / n_threads; at < n_sums * (thread + 1) / n_threads; ++at) {
    float* to = out + (at % shape.n_query * shape.n_head + at / shape.n_query) * shape.head_dim;
    float largest = -INFINITY;
    for (int64_t block = 0; block < plan.n_row_blocks; ++block) {
      const PartialSums partial = partials_at(plan, memory, block);
      if (partial.sum[at] != 0.0F) largest = std::max(largest, partial.max[at]);
    }
    std::fill_n(to, shape.head_dim, 0.0F);
    float sum = 0.0F;
    for (int64_t block = 0; block < plan.n_row_blocks; ++block) {
      const PartialSums partial = partials_at(plan, memory, block);
      if (partial.sum[at] == 0.0F) continue;
      const float factor = std::exp2(partial.max[at] - largest);
      sum += partial.sum[at] * factor;
      const float* weighted = partial.weighted + at * shape.head_dim;
      for (int64_t i = 0; i < shape.head_dim; ++i) to[i] += weighted[i] * factor;
    }
    if (const int64_t i = at % shape.n_query - first_log_sum; log_sums.data != nullptr && i >= 0) {
      log_sums.data[at / shape.n_query * log_sums.head_stride + i] =
          largest + std::log2(sum) - (plan.tiles ? kLog2WeightMax : 0.0F);
    }
    const float inverse = 1.0F / sum;
    for (int64_t i = 0; i < shape.head_dim; ++i) to[i] *= inverse;
  }
}

}  // namespace ripplekv
