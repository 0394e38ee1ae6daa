// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// How the work is cut into units. That follows from the shape alone, and a unit adds in the order of the queries:
// threads change nothing.
#include "kernels/attention_sums.h"

#include <algorithm>
#include <cmath>

#include "kernels/attention_units.h"
#include "kernels/scratch.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

constexpr int64_t kUnits = 24;          // of the first phase, to aim for
constexpr int64_t kTileQueries = 384;   // queries x group of a unit: a block's conversion is shared by them
constexpr int64_t kQueryMultiple = 16;  // the most lanes a vector has: queries of a head fill whole ones

// [row block][n_query * n_head] each. Merged, log sums over all rows stand in place of the first block's largest.
struct Partials {
  float* largest = nullptr;
  float* sum = nullptr;
};

int64_t n_sums(const AttentionSumsPlan& plan) { return plan.shape.n_query * plan.shape.n_head; }

int64_t partial_bytes(const AttentionSumsPlan& plan) {
  return whole_lines(2 * n_sums(plan) * static_cast<int64_t>(sizeof(float)));
}

Partials partials_at(const AttentionSumsPlan& plan, uint8_t* memory, int64_t row_block) {
  auto* base = reinterpret_cast<float*>(memory + row_block * partial_bytes(plan));
  return {base, base + n_sums(plan)};
}

uint8_t* work_of(const AttentionSumsPlan& plan, std::span<uint8_t> scratch, int thread) {
  uint8_t* work = first_line(scratch) + plan.n_row_blocks * partial_bytes(plan) + thread * plan.work_bytes;
  RKV_CHECK(work + plan.work_bytes <= scratch.data() + scratch.size());
  return work;
}

}  // namespace

bool attention_sums_support(int64_t head_dim, RowType k_type) {
  return k_type != RowType::kF32 && attention_supports(head_dim, k_type, RowType::kF16);
}

AttentionSumsPlan plan_attention_sums(const AttentionShape& shape, int n_threads, const KernelSet& kernels) {
  RKV_CHECK(attention_sums_support(shape.head_dim, shape.k_type));
  RKV_CHECK(shape.n_head_kv > 0 && shape.n_head % shape.n_head_kv == 0 && shape.n_query > 0 && shape.n_rows > 0);
  AttentionSumsPlan plan;
  plan.shape = shape;
  plan.kernels = &kernels;
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  const int64_t most = std::max(kQueryMultiple, kTileQueries / n_group / kQueryMultiple * kQueryMultiple);
  plan.n_unit_query = std::min(most, shape.n_query);
  plan.n_query_blocks = blocks_of(shape.n_query, plan.n_unit_query);
  // Partial sums of many queries over many row blocks would be large; where there are many queries one block will do.
  const int64_t n_row_blocks =
      std::min(blocks_of(kUnits, plan.n_query_blocks * shape.n_head_kv), blocks_of(shape.n_rows, kSumRows));
  plan.n_unit_rows = blocks_of(blocks_of(shape.n_rows, n_row_blocks), kBlockRows) * kBlockRows;
  plan.n_row_blocks = blocks_of(shape.n_rows, plan.n_unit_rows);
  plan.work_bytes = kernels.sum_bytes(plan.n_unit_query, n_group, shape.head_dim);
  plan.scratch_bytes = kCacheLine + plan.n_row_blocks * partial_bytes(plan) + n_threads * plan.work_bytes;
  return plan;
}

void sum_scores(const AttentionSumsPlan& plan, const AttentionCall& call, std::span<uint8_t> scratch,
                std::atomic<int64_t>& next_unit, int thread) {
  uint8_t* work = work_of(plan, scratch, thread);
  for (int64_t i = next_unit.fetch_add(1); i < plan.n_units(); i = next_unit.fetch_add(1)) {
    // The last queries see the most rows and come first: what is left for the end is small.
    const int64_t block = plan.n_query_blocks - 1 - i / (plan.n_row_blocks * plan.shape.n_head_kv);
    const int64_t row_block = i % plan.n_row_blocks;
    AttentionUnit unit;
    unit.kv_head = i / plan.n_row_blocks % plan.shape.n_head_kv;
    unit.n_rows = rows_of(call, unit.kv_head);
    unit.query_begin = block * plan.n_unit_query;
    unit.query_end = std::min(unit.query_begin + plan.n_unit_query, plan.shape.n_query);
    unit.row_begin = row_block * plan.n_unit_rows;
    unit.row_end = std::min(unit.row_begin + plan.n_unit_rows, unit.n_rows);
    const Partials partial = partials_at(plan, first_line(scratch), row_block);
    plan.kernels->score_sums(plan.shape, call, unit, partial.largest, partial.sum, work);
  }
}

void merge_scores(const AttentionSumsPlan& plan, std::span<uint8_t> scratch, int thread, int n_threads) {
  const Partials total = partials_at(plan, first_line(scratch), 0);
  const int64_t n = n_sums(plan);
  for (int64_t at = n * thread / n_threads; at < n * (thread + 1) / n_threads; ++at) {
    float largest = -INFINITY;
    for (int64_t block = 0; block < plan.n_row_blocks; ++block) {
      const Partials partial = partials_at(plan, first_line(scratch), block);
      if (partial.sum[at] != 0.0F) largest = std::max(largest, partial.largest[at]);
    }
    float sum = 0.0F;
    for (int64_t block = 0; block < plan.n_row_blocks; ++block) {
      const Partials partial = partials_at(plan, first_line(scratch), block);
      if (partial.sum[at] != 0.0F) sum += partial.sum[at] * std::exp2(partial.largest[at] - largest);
    }
    total.largest[at] = largest + std::log2(sum);
  }
}

void sum_weights(const AttentionSumsPlan& plan, const AttentionCall& call, LogSums log_sums, std::span<uint8_t> scratch,
                 std::atomic<int64_t>& next_unit, int thread, float* out) {
  const AttentionShape& shape = plan.shape;
  uint8_t* work = work_of(plan, scratch, thread);
  if (log_sums.data == nullptr) log_sums = {partials_at(plan, first_line(scratch), 0).largest, shape.n_query};
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  const int64_t n_row_blocks = blocks_of(shape.n_rows, kSumRows);
  // The first rows are seen by most queries.
  for (int64_t i = next_unit.fetch_add(1); i < n_row_blocks * shape.n_head_kv; i = next_unit.fetch_add(1)) {
    AttentionUnit unit;
    unit.kv_head = i % shape.n_head_kv;
    unit.n_rows = rows_of(call, unit.kv_head);
    unit.row_begin = i / shape.n_head_kv * kSumRows;
    const int64_t row_end = std::min(unit.row_begin + kSumRows, shape.n_rows);
    unit.row_end = std::clamp(unit.n_rows, unit.row_begin, row_end);
    plan.kernels->weight_sums(shape, call, unit, plan.n_unit_query, log_sums, out, shape.n_rows, work);
    for (int64_t head = unit.kv_head * n_group; head < (unit.kv_head + 1) * n_group; ++head) {
      std::fill(out + head * shape.n_rows + unit.row_end, out + head * shape.n_rows + row_end, 0.0F);
    }
  }
}

}  // namespace ripplekv
