// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// AttentionOp: the attention kernels of src/kernels as two ops of a ggml graph, whose barrier between nodes separates
// their phases; the result of the first is their scratch memory, so that ggml plans it with the rest. Only the CPU
// backend computes them: other backends, and heads the kernels do not do, keep ggml's own attention.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"

struct ggml_context;
struct ggml_tensor;

namespace ripplekv {

// Where the rows of each KV head begin in the tensors of a ragged layer, and how many there are. [n_head_kv]
struct HeadRows {
  std::vector<int64_t> first;
  std::vector<int64_t> n;
};

// Must stay where it is until the graph is computed.
class AttentionOp {
 public:
  // k, v: [head_dim, n_rows, n_head_kv], views of a cache's tensors; with `ragged`, which is empty otherwise, the
  // tensors themselves.
  static bool supports(const ggml_tensor* k, const ggml_tensor* v);

  // q: F32 [head_dim, n_query, n_head] !! permuted !!, the queries of the last n_query rows -> F32 [head_dim * n_head,
  // n_query]. window: 0, or how many rows a query sees at most.
  ggml_tensor* add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, HeadRows ragged, float scale,
                   int64_t window, int n_threads);

 private:
  static void run_units(ggml_tensor* scratch, int thread, int n_threads, void* op);
  static void run_merge(ggml_tensor* out, int thread, int n_threads, void* op);

  AttentionPlan plan_;
  HeadRows ragged_;
  float scale_ = 1.0F;
  int64_t window_ = 0;
  std::atomic<int64_t> next_unit_ = 0;
};

}  // namespace ripplekv
