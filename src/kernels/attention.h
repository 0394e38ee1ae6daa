// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Attention of queries over cached rows on the CPU: softmax(scale * Q K^T) V with online softmax, f32 sums. Pure: host
// memory and plain structs, owned by the caller; knows no graph. A call is two phases with a barrier between: first
// every thread takes units (some queries over some rows of one KV head) from a shared counter, then partial results are
// merged. The result depends neither on the number of threads nor on which thread took what. docs/performance.md.
// REQUIRES everywhere: attention_supports(); n_head a multiple of n_head_kv; every query sees at least one row.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "kernels/kernel_set.h"

namespace ripplekv {

// As ggml lays values out; the quantised types are blocks of 32 values with one f16 scale.
enum class RowType { kF32, kF16, kQ8_0, kQ4_0 };

// Row r of KV head h: head_dim values at data + h * head_stride + r * row_stride (bytes), or, where heads of other
// numbers of rows lie behind each other, at data + (first_rows[h] + r) * row_stride.
struct AttentionRows {
  RowType type = RowType::kF32;
  const uint8_t* data = nullptr;
  int64_t row_stride = 0;
  int64_t head_stride = 0;
  const int64_t* first_rows = nullptr;  // [n_head_kv], or null
};

struct AttentionShape {
  int64_t head_dim = 0;
  int64_t n_query = 0;
  int64_t n_head = 0;
  int64_t n_head_kv = 0;
  int64_t n_rows = 0;  // of the KV head that has most
  RowType k_type = RowType::kF32;
  RowType v_type = RowType::kF32;
};

struct AttentionCall {
  const float* q = nullptr;  // [head_dim, n_query, n_head], strides in values
  int64_t q_query_stride = 0;
  int64_t q_head_stride = 0;
  AttentionRows k, v;
  std::span<const int64_t> n_rows;  // [n_head_kv], ragged; or [1]: all alike
  float scale = 1.0F;
  bool causal =
      true;  // the last n_query rows of a head are the queries' own: a query sees its own row and those before
  int64_t window = 0;  // 0: all; else only the last `window` of the rows that causality leaves
};

// Of query i of head h at data[h * head_stride + i]: log2 of the sum of 2^(score * log2(e)) over the rows it sees.
struct LogSums {
  float* data = nullptr;
  int64_t head_stride = 0;
};

bool attention_supports(int64_t head_dim, RowType k_type, RowType v_type);

// How a call is cut into units, and the scratch memory it takes.
struct AttentionPlan {
  AttentionShape shape;
  const KernelSet* kernels = nullptr;
  bool tiles = false;          // many queries: integer dot products over tiles; else f32 over rows
  int64_t n_unit_query = 0;    // queries of a unit
  int64_t n_unit_rows = 0;     // rows of a unit
  int64_t n_query_blocks = 0;  // units are row blocks x KV heads x query blocks
  int64_t n_row_blocks = 0;
  int64_t work_bytes = 0;  // of one thread
  int64_t scratch_bytes = 0;

  int64_t n_units() const { return n_row_blocks * shape.n_head_kv * n_query_blocks; }
};
AttentionPlan plan_attention(const AttentionShape& shape, int n_threads, const KernelSet& kernels = *kernel_sets()[0]);

// Phase 1: thread `thread` of at most the plan's n_threads takes units until there are none. next_unit begins at 0.
void attend(const AttentionPlan& plan, const AttentionCall& call, std::span<uint8_t> scratch,
            std::atomic<int64_t>& next_unit, int thread);
// Phase 2, after all have finished phase 1: merges its share of the results into out, F32 [head_dim, n_head, n_query].
// log_sums: wanted as well, of the queries from first_log_sum on (at i - first_log_sum); or null data.
void merge_attention(const AttentionPlan& plan, std::span<const uint8_t> scratch, float* out, const LogSums& log_sums,
                     int64_t first_log_sum, int thread, int n_threads);

}  // namespace ripplekv
