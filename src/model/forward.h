// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Forward: runs layers of a model over a batch. Owns the compute backends, their threads and the scratch memory; the
// caches and windows it reads and writes are the caller's. One Forward belongs to one thread at a time; several may
// share a Model. Nothing here knows selectors, budgets or sampling. Cancelling leaves the caches as they were declared:
// rows become visible only when a run has succeeded.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cache/tensor_arena.h"
#include "model/graph.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"
#include "ripplekv/taps.h"

struct ggml_backend;
struct ggml_backend_sched;

namespace ripplekv {

struct ForwardBatch {
  std::vector<Segment> segments;
  int layer_begin = 0;
  int layer_end = 0;  // exclusive; layer_begin == layer_end: embedding or head only

  // Input of layer_begin: tokens through the embedding, or rows of a stored activation.
  std::span<const int32_t> tokens;
  ggml_tensor* hidden_in = nullptr;   // F32 [n_embd, >= hidden_row + n_tokens]; used if tokens is empty
  ggml_tensor* hidden_out = nullptr;  // likewise: receives the output of layer_end - 1, or null
  int64_t hidden_row = 0;             // first row of both

  std::span<const int32_t> logits_of;    // tokens of the batch whose logits are wanted (through norm and head)
  std::vector<float>* logits = nullptr;  // F32 [n_vocab, logits_of.size()]
  std::span<ggml_tensor* const>
      layer_inputs;  // [n_layer] F32 [n_embd, n_tokens] receiving each layer's input, or empty
  std::vector<QueryTap> query_taps;
};

class Forward {
 public:
  static Result<std::unique_ptr<Forward>> create(std::shared_ptr<const Model> model, int n_threads,
                                                 CpuKernels kernels = CpuKernels::kOurs);
  ~Forward();
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  const Model& model() const { return *model_; }
  int n_threads() const { return n_threads_; }

  // Runs the batch and declares the new rows in each layer run; n_pos of the caches is the caller's to advance.
  // Reserves room in the caches first. Errors: cancelled, out of memory, a mapped file that shrank, logits that are not
  // finite (damaged weights); then no row is declared.
  Status run(const ForwardBatch& batch);

  // What selectors may see of a layer (taps.h has the meaning of each); forward_taps.cpp.
  // Softmax attention of the last n_window queries over all rows, causal, mean over the queries: F32 [n_rows, n_head].
  // Its memory is linear in n_rows and n_window. Of a ragged layer these are, as the other taps' results, [n_rows(0),
  // query heads of KV head 0], [n_rows(1), ...], ... behind each other.
  // REQUIRES: queries F32 [head_dim, n_head, >= first_slot + n_window]; slot first_slot + i is the rotated query of row
  // n_rows(head) - n_window + i in every head, at the position of that row.
  // log_sums: as QueryTap's, if the runs that made the rows filled it; or null. It saves half of the work.
  Result<std::vector<float>> window_attention(const LayerCache& cache, ggml_tensor* queries, ggml_tensor* log_sums,
                                              int first_slot, int n_window);

  // LayerTaps::future_attention, F32 [n_rows, n_head], from the same queries.
  Result<std::vector<float>> future_attention(int il, const LayerCache& cache, ggml_tensor* queries, int first_slot,
                                              int n_window);

  // L2 norm of V per row: F32 [n_rows, n_head_kv].
  Result<std::vector<float>> value_norm(const LayerCache& cache);

  // Scratch tensors on host memory, zeroed.
  Result<std::unique_ptr<TensorArena>> scratch(std::span<const TensorSpec> specs) const;

  // A flag another thread (or a signal handler) may set: runs stop soon with kCancelled. Null: none.
  void set_cancel(const std::atomic<bool>* cancel);

  int64_t compute_bytes() const;  // scratch memory of the graphs so far

 private:
  Forward() = default;
  // Adds nodes to the graph and returns what fills its inputs, to be called after allocation. May be called twice: then
  // the second graph is the one that counts, built of the same nodes in the same order.
  using BuildGraph = std::function<std::function<void()>(ggml_context* context, ggml_cgraph* graph)>;
  // n_nodes: upper bound. Tensors marked as outputs can be read until the next compute().
  Status compute(int64_t n_nodes, const BuildGraph& build);
  // The two ways to window_attention(), before division: with our kernels, all queries at once; with ggml's ops on any
  // backend, one block of queries added to sums.
  Status sum_window_attention(const LayerCache& cache, ggml_tensor* queries, ggml_tensor* log_sums, int64_t first_slot,
                              int64_t n_query, std::span<float> sums);
  Status add_window_attention(const LayerCache& cache, ggml_tensor* queries, int64_t first_slot, int64_t first_row,
                              int64_t n_query, std::span<float> sums);

  // Brings mean_rotation_ up to date: the mean rotation of the positions that follow, which most layers share.
  Status update_mean_rotation(const RopeConfig& rope, ggml_tensor* factors, int64_t next_pos);

  struct MeanRotation {
    int64_t next_pos = -1;
    RopeConfig rope;
    ggml_tensor* factors = nullptr;
    std::vector<float> values;  // F32 [in, out]: head_dim each
  };

  std::shared_ptr<const Model> model_;
  int n_threads_ = 1;
  CpuKernels kernels_ = CpuKernels::kOurs;
  std::vector<ggml_backend*> backends_;  // as WeightStore::devices(), the CPU last
  ggml_backend_sched* sched_ = nullptr;
  int64_t sched_nodes_ = 0;
  std::vector<uint8_t> graph_memory_;
  std::vector<const void*> planned_;  // structure_of() the graph that the scheduler's plan is for; forward.cpp
  MeanRotation mean_rotation_;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace ripplekv
