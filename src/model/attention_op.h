// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// AttentionOp: the attention kernels of src/kernels as two ops of a ggml graph, whose barrier between nodes separates
// their phases; the result of the first is their scratch memory, so that ggml plans it with the rest. Only the CPU
// backend computes them: other backends, and heads the kernels do not do, keep ggml's own attention.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/attention_sums.h"

struct ggml_context;
struct ggml_tensor;

namespace ripplekv {

// Must stay where it is until the graph is computed.
class AttentionOp {
 public:
  // k, v: [head_dim, n_rows, n_head_kv], views of a cache's tensors.
  static bool supports(const ggml_tensor* k, const ggml_tensor* v);

  // q: F32 [head_dim, n_query, n_head] !! permuted !!, the queries of the last n_query rows -> F32 [head_dim * n_head,
  // n_query]. window: 0, or how many rows a query sees at most.
  ggml_tensor* add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, float scale, int64_t window,
                   int n_threads);

 private:
  static void run_units(ggml_tensor* scratch, int thread, int n_threads, void* op);
  static void run_merge(ggml_tensor* out, int thread, int n_threads, void* op);

  AttentionPlan plan_;
  float scale_ = 1.0F;
  int64_t window_ = 0;
  std::atomic<int64_t> next_unit_ = 0;
};

// What rows are attended to by many queries together (src/kernels/attention_sums.h), as three ops. Must stay likewise.
class AttentionSumsOp {
 public:
  static bool supports(const ggml_tensor* k);

  // q: as above, the queries of the last n_query rows; k: [head_dim, n_rows, n_head_kv] -> F32 [n_rows, n_head]:
  // weights summed over the queries.
  ggml_tensor* add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, float scale, int n_threads);

 private:
  static void run_scores(ggml_tensor* scratch, int thread, int n_threads, void* op);
  static void run_merge(ggml_tensor* merged, int thread, int n_threads, void* op);
  static void run_weights(ggml_tensor* out, int thread, int n_threads, void* op);

  AttentionSumsPlan plan_;
  float scale_ = 1.0F;
  std::atomic<int64_t> next_unit_[2] = {0, 0};
};

}  // namespace ripplekv
