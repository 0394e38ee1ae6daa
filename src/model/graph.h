// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LayerGraph: the blocks an architecture builds a layer from, over a batch of tokens of one or more sequences. Matrix
// products run over all tokens at once; attention runs per sequence, each over its own ragged cache. Attention writes
// the new K and V rows behind the rows held and reads them back with the rest, so a layer always sees its full cache.
// Lives until its graph is computed; owns only what attention ops refer to. Shapes in ggml order; "!! permuted !!"
// where strides are not.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "model/attention_op.h"
#include "model/cpu_compute.h"
#include "model/product_op.h"
#include "model/weights.h"
#include "ripplekv/kv_cache.h"
#include "ripplekv/model.h"

struct ggml_cgraph;
struct ggml_context;
struct ggml_tensor;

namespace ripplekv {

// Consecutive tokens of one sequence in a batch.
struct Segment {
  KvCache* cache = nullptr;  // every layer run must have room for n_tokens more rows
  int64_t n_tokens = 0;
  int64_t pos0 = 0;  // true position of the first token
};

// Copies the rotated queries of some tokens of the batch, all of one segment, into a window that outlives the graph.
struct QueryTap {
  int layer = 0;
  int64_t first_token = 0;        // in the batch
  int64_t n_tokens = 0;           // 0: nothing
  ggml_tensor* window = nullptr;  // F32 [head_dim, n_head, W]
  int64_t first_slot = 0;         // of the window
  // F32 [W, n_head] on host memory: receives the queries' log sums, if our kernels compute the attention; or null.
  ggml_tensor* log_sums = nullptr;
};

// F32 [head_dim, n_head, n_tokens], K and V with n_head_kv heads; strided where one product made all three.
struct Qkv {
  ggml_tensor* q;
  ggml_tensor* k;
  ggml_tensor* v;
};

// x: F32 [head_dim, n, n_tokens], rotated to its positions I32 [n_tokens]; factors: F32 [n_rot / 2] or null.
ggml_tensor* rotate(ggml_context* context, ggml_tensor* x, ggml_tensor* positions, const RopeConfig& rope,
                    ggml_tensor* factors);
// Undoes rotate().
ggml_tensor* rotate_back(ggml_context* context, ggml_tensor* x, ggml_tensor* positions, const RopeConfig& rope,
                         ggml_tensor* factors);

class LayerGraph {
 public:
  LayerGraph(ggml_context* context, ggml_cgraph* graph, const ModelConfig& config, const ModelWeights& weights,
             std::span<const Segment> segments, std::span<const QueryTap> query_taps, int layer_begin, int layer_end,
             const CpuCompute& compute);

  const ModelConfig& config() const { return config_; }
  const LayerWeights& layer(int il) const { return weights_.layers[static_cast<size_t>(il)]; }
  ggml_context* context() const { return context_; }
  ggml_cgraph* graph() const { return graph_; }

  ggml_tensor* rms_norm(ggml_tensor* x, ggml_tensor* weight);  // over ne[0]
  ggml_tensor* linear(ggml_tensor* x, ggml_tensor* weight, ggml_tensor* bias = nullptr);
  ggml_tensor* add(ggml_tensor* a, ggml_tensor* b);
  ggml_tensor* scale(ggml_tensor* x, float factor);
  Qkv qkv(ggml_tensor* x, const LayerWeights& w);  // x: [n_embd, n_tokens]
  // x: [head_dim, n, n_tokens]; factors: F32 [n_rot / 2] or null.
  ggml_tensor* rope(ggml_tensor* x, const RopeConfig& rope, ggml_tensor* factors);
  ggml_tensor* swiglu(ggml_tensor* x, const LayerWeights& w);
  ggml_tensor* geglu(ggml_tensor* x, const LayerWeights& w);  // gate and up are apart
  // q: F32 [head_dim, n_head, n_tokens]; k, v: F32 [head_dim, n_head_kv, n_tokens] -> F32 [head_dim * n_head,
  // n_tokens].
  ggml_tensor* attention(int il, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v);

  // After allocation: fills positions, row indices and masks.
  void set_inputs() const;

  int64_t n_tokens() const { return n_tokens_; }

 private:
  // One product with the rows of several weights, in this order; null where there is none (many tokens, ggml's
  // kernels).
  ggml_tensor* linear_joint(ggml_tensor* x, std::initializer_list<ggml_tensor*> weights);
  // Where the segment of tokens [first, first + n) of the batch leaves its queries' log sums.
  LogSumsTarget log_sums_of(int il, int64_t first, int64_t n) const;
  ggml_tensor* mask(size_t segment, int64_t n_past, int64_t window);
  // ggml's own attention. q: F32 [head_dim, n, heads] !! permuted !!; k, v: [head_dim, n_past + n, KV heads]
  // -> F32 [head_dim, heads, n].
  ggml_tensor* ggml_attention(size_t segment, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int64_t window);

  ggml_context* context_;
  ggml_cgraph* graph_;
  const ModelConfig& config_;
  const ModelWeights& weights_;
  std::span<const Segment> segments_;
  std::span<const QueryTap> query_taps_;
  int layer_begin_;
  int layer_end_;
  CpuCompute compute_;
  std::deque<AttentionOp> attention_ops_;  // never moved: the graph points to them; likewise below
  std::deque<ProductOp> product_ops_;
  std::deque<FewProductOp> few_product_ops_;
  std::vector<uint8_t> scratch_;                         // of these
  std::map<const ggml_tensor*, PackedInputsOp> packed_;  // by the inputs that several products share
  int64_t n_tokens_ = 0;
  ggml_tensor* positions_ = nullptr;  // I32 [n_tokens]
  ggml_tensor* row_index_ = nullptr;  // I64 [n_head_kv * n_tokens, layers of the graph]: rows of K's and V's tensors
  // (segment, rows before that are looked at, window of the layer or 0) -> F16 [n_kv, n_tokens]
  std::map<std::tuple<size_t, int64_t, int64_t>, ggml_tensor*> masks_;
};

}  // namespace ripplekv
