// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the last queries of a prompt attend to: the weights softmax(scale * Q K^T) of each row, causal, summed over the
// queries, on the CPU. Scores are computed anew and never stored, so memory is linear in rows and queries. Pure, as
// attention.h, of which it takes shape and call (no V, no window, causal; K not in f32, whose scores are left exact to
// ggml). Phases have barriers between; the result does not depend on threads. Phases 1 and 2 make the queries' log
// sums, which attention over the same rows has made already (LogSums): phase 3 alone is half of the price.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "kernels/attention.h"

namespace ripplekv {

constexpr int64_t kSumRows = 512;  // rows of a unit of the second phase

bool attention_sums_support(int64_t head_dim, RowType k_type);

struct AttentionSumsPlan {
  AttentionShape shape;  // v_type unused
  const KernelSet* kernels = nullptr;
  int64_t n_unit_query = 0;  // queries taken at once
  int64_t n_query_blocks = 0;
  int64_t n_unit_rows = 0;  // rows of a unit of the first phase
  int64_t n_row_blocks = 0;
  int64_t work_bytes = 0;  // of one thread
  int64_t scratch_bytes = 0;

  int64_t n_units() const { return n_row_blocks * shape.n_head_kv * n_query_blocks; }
};
// REQUIRES: attention_sums_support(); n_head a multiple of n_head_kv; 1 <= n_query <= rows of every KV head.
AttentionSumsPlan plan_attention_sums(const AttentionShape& shape, int n_threads,
                                      const KernelSet& kernels = *kernel_sets()[0]);

// Phase 1: each query's largest score and sum of weights, by row blocks. Threads take units until there are none;
// next_unit begins at 0, here and in phase 3 with a counter of its own.
void sum_scores(const AttentionSumsPlan& plan, const AttentionCall& call, std::span<uint8_t> scratch,
                std::atomic<int64_t>& next_unit, int thread);
// Phase 2: this thread's share of bringing row blocks together.
void merge_scores(const AttentionSumsPlan& plan, std::span<uint8_t> scratch, int thread, int n_threads);
// Phase 3: log_sums: of all queries, or null data: those that phase 2 made. out: F32 [shape.n_rows, n_head], 0 behind
// the rows of a KV head that has fewer.
void sum_weights(const AttentionSumsPlan& plan, const AttentionCall& call, LogSums log_sums, std::span<uint8_t> scratch,
                 std::atomic<int64_t>& next_unit, int thread, float* out);

}  // namespace ripplekv
