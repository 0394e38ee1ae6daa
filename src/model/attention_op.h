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
#include "kernels/attention_sums.h"

struct ggml_context;
struct ggml_tensor;

namespace ripplekv {

// Where the rows of each KV head begin in the tensors of a ragged layer, and how many there are. [n_head_kv]
struct HeadRows {
  std::vector<int64_t> first;
  std::vector<int64_t> n;
};

// Where an op writes its queries' log sums (kernels/attention.h): F32 [slots, n_head] on host memory, those of the
// queries from first_query on at first_slot and behind. No tensor: nowhere.
struct LogSumsTarget {
  ggml_tensor* tensor = nullptr;
  int64_t first_query = 0;
  int64_t first_slot = 0;
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
                   int64_t window, const LogSumsTarget& log_sums, int n_threads);

 private:
  static void run_units(ggml_tensor* scratch, int thread, int n_threads, void* op);
  static void run_merge(ggml_tensor* out, int thread, int n_threads, void* op);

  AttentionPlan plan_;
  HeadRows ragged_;
  float scale_ = 1.0F;
  int64_t window_ = 0;
  LogSumsTarget log_sums_;
  std::atomic<int64_t> next_unit_ = 0;
};

// What rows are attended to by many queries together (src/kernels/attention_sums.h), as up to three ops. Must stay
// likewise.
class AttentionSumsOp {
 public:
  static bool supports(const ggml_tensor* k);

  // q, k, ragged: as above -> F32 [most rows of a head, n_head]: weights summed over the queries. log_sums: theirs from
  // first_slot on, as AttentionOp wrote them, or no tensor.
  ggml_tensor* add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, HeadRows ragged, float scale,
                   const LogSumsTarget& log_sums, int n_threads);

 private:
  static void run_scores(ggml_tensor* scratch, int thread, int n_threads, void* op);  // none with log sums
  static void run_merge(ggml_tensor* merged, int thread, int n_threads, void* op);
  static void run_weights(ggml_tensor* out, int thread, int n_threads, void* op);

  AttentionSumsPlan plan_;
  HeadRows ragged_;
  float scale_ = 1.0F;
  LogSumsTarget log_sums_;
  std::atomic<int64_t> next_unit_[2] = {0, 0};
};

}  // namespace ripplekv
