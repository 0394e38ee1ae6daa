// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Builds, allocates and computes graphs; their content is graph.cpp and the architecture's file.
#include "model/forward.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/architecture.h"

namespace ripplekv {
namespace {

// Upper bounds on graph nodes and tensors: generous, they cost a few hundred bytes each.
constexpr int64_t kNodesPerLayer = 64;
constexpr int64_t kNodesPerSegment = 24;
constexpr int64_t kNodesFixed = 64;

bool cancel_requested(void* flag) {
  return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
}

}  // namespace

Result<std::unique_ptr<Forward>> Forward::create(std::shared_ptr<const Model> model, int n_threads) {
  RKV_CHECK(n_threads >= 1);
  std::unique_ptr<Forward> forward(new Forward());
  forward->model_ = std::move(model);
  forward->n_threads_ = n_threads;
  for (ggml_backend_dev_t device : forward->model_->store().devices()) {
    ggml_backend_t backend = ggml_backend_dev_init(device, nullptr);
    if (backend == nullptr) {
      return resource_exhausted(fmt::format("device {}: cannot be initialised", ggml_backend_dev_name(device)));
    }
    forward->backends_.push_back(backend);
  }
  ggml_backend_cpu_set_n_threads(forward->backends_.back(), n_threads);
  return forward;
}

Forward::~Forward() {
  if (sched_ != nullptr) ggml_backend_sched_free(sched_);
  for (ggml_backend_t backend : backends_) ggml_backend_free(backend);
}

void Forward::set_cancel(const std::atomic<bool>* cancel) {
  cancel_ = cancel;
  ggml_backend_cpu_set_abort_callback(backends_.back(), cancel == nullptr ? nullptr : cancel_requested,
                                      const_cast<std::atomic<bool>*>(cancel));
}

int64_t Forward::compute_bytes() const {
  int64_t bytes = 0;
  for (ggml_backend_t backend : backends_) {
    if (sched_ != nullptr) bytes += static_cast<int64_t>(ggml_backend_sched_get_buffer_size(sched_, backend));
  }
  return bytes;
}

Result<std::unique_ptr<TensorArena>> Forward::scratch(std::span<const TensorSpec> specs) const {
  return TensorArena::create(ggml_backend_get_default_buffer_type(backends_.back()), specs);
}

// build(context, graph) adds nodes and returns a callable that fills the inputs; it runs after allocation.
// Tensors marked as outputs can be read until the next compute().
template <class Build>
Status Forward::compute(int64_t n_nodes, Build build) {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) return cancelled("stopped as asked");
  if (sched_ == nullptr || n_nodes > sched_nodes_) {
    if (sched_ != nullptr) ggml_backend_sched_free(sched_);
    sched_nodes_ = n_nodes;
    sched_ = ggml_backend_sched_new(backends_.data(), nullptr, static_cast<int>(backends_.size()),
                                    static_cast<size_t>(n_nodes), /*parallel=*/false, /*op_offload=*/false);
    RKV_CHECK(sched_ != nullptr);
    graph_memory_.resize(ggml_tensor_overhead() * static_cast<size_t>(n_nodes) * 2 +
                         ggml_graph_overhead_custom(static_cast<size_t>(n_nodes), false));
  }
  ggml_context* context = ggml_init({graph_memory_.size(), graph_memory_.data(), /*no_alloc=*/true});
  RKV_CHECK(context != nullptr);
  ggml_cgraph* graph = ggml_new_graph_custom(context, static_cast<size_t>(sched_nodes_), false);
  const auto fill_inputs = build(context, graph);
  ggml_backend_sched_reset(sched_);
  Status status;
  if (!ggml_backend_sched_alloc_graph(sched_, graph)) {
    status = resource_exhausted("out of memory: the compute buffer of a graph does not fit");
  } else {
    fill_inputs();
    const ggml_status computed = ggml_backend_sched_graph_compute(sched_, graph);
    if (computed == GGML_STATUS_ABORTED) {
      status = cancelled("stopped as asked");
    } else if (computed != GGML_STATUS_SUCCESS) {
      status =
          resource_exhausted(fmt::format("the graph failed to compute (ggml status {})", static_cast<int>(computed)));
    }
  }
  ggml_free(context);
  return status;
}

Status Forward::run(const ForwardBatch& batch) {
  const ModelConfig& config = model_->config();
  const ModelWeights& weights = model_->weights();
  for (const Segment& segment : batch.segments) {
    for (int il = batch.layer_begin; il < batch.layer_end; ++il) {
      RKV_RETURN_IF_ERROR(segment.cache->layer(il).reserve_more(segment.n_tokens));
    }
  }

  // Only the wanted tokens go through the last layer's norm and the head.
  const auto n_out = static_cast<int64_t>(batch.logits_of.size());
  if (n_out > 0) batch.logits->resize(static_cast<size_t>(n_out * config.n_vocab));
  const int64_t n_layers = batch.layer_end - batch.layer_begin;
  const auto n_segments = static_cast<int64_t>(batch.segments.size());
  const int64_t n_nodes = kNodesFixed + n_layers * (kNodesPerLayer + kNodesPerSegment * n_segments) +
                          4 * static_cast<int64_t>(batch.query_taps.size());

  ggml_tensor* logits = nullptr;
  std::unique_ptr<LayerGraph> layers;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) {
    layers = std::make_unique<LayerGraph>(context, graph, config, weights, batch.segments, batch.query_taps,
                                          batch.layer_begin, batch.layer_end);
    const int64_t n_tokens = layers->n_tokens();
    const auto rows_of = [&](ggml_tensor* hidden) {
      RKV_CHECK(hidden->ne[1] >= batch.hidden_row + n_tokens);
      return ggml_view_2d(context, hidden, config.n_embd, n_tokens, hidden->nb[1],
                          static_cast<size_t>(batch.hidden_row) * hidden->nb[1]);
    };
    ggml_tensor* ids = nullptr;
    ggml_tensor* out_ids = nullptr;
    ggml_tensor* x = nullptr;
    if (batch.tokens.empty()) {
      x = rows_of(batch.hidden_in);
    } else {
      RKV_CHECK(static_cast<int64_t>(batch.tokens.size()) == n_tokens);
      ids = ggml_new_tensor_1d(context, GGML_TYPE_I32, n_tokens);
      ggml_set_input(ids);
      x = ggml_get_rows(context, weights.token_embd, ids);
    }
    for (int il = batch.layer_begin; il < batch.layer_end; ++il) {
      if (!batch.layer_inputs.empty()) {
        ggml_build_forward_expand(graph, ggml_cpy(context, x, batch.layer_inputs[static_cast<size_t>(il)]));
      }
      x = model_->architecture().build_layer(*layers, il, x);
    }
    if (batch.hidden_out != nullptr) ggml_build_forward_expand(graph, ggml_cpy(context, x, rows_of(batch.hidden_out)));
    if (n_out > 0) {
      out_ids = ggml_new_tensor_1d(context, GGML_TYPE_I32, n_out);
      ggml_set_input(out_ids);
      x = layers->rms_norm(ggml_get_rows(context, x, out_ids), weights.output_norm);
      logits = layers->linear(x, weights.output);
      ggml_set_output(logits);
      ggml_build_forward_expand(graph, logits);
    }
    return [ids, out_ids, &batch, &layers] {
      layers->set_inputs();
      if (ids != nullptr) ggml_backend_tensor_set(ids, batch.tokens.data(), 0, ggml_nbytes(ids));
      if (out_ids != nullptr) ggml_backend_tensor_set(out_ids, batch.logits_of.data(), 0, ggml_nbytes(out_ids));
    };
  };
  RKV_RETURN_IF_ERROR(compute(n_nodes, build));
  if (n_out > 0) {
    ggml_backend_tensor_get(logits, batch.logits->data(), 0, batch.logits->size() * sizeof(float));
    if (!std::all_of(batch.logits->begin(), batch.logits->end(), [](float x) { return std::isfinite(x); })) {
      return data_loss(fmt::format("model '{}': computed a logit that is not a finite number; its weights are damaged",
                                   model_->path()));
    }
  }

  for (const Segment& segment : batch.segments) {
    for (int il = batch.layer_begin; il < batch.layer_end; ++il) {
      segment.cache->layer(il).append_written(segment.pos0, segment.n_tokens);
    }
  }
  return ok_status();
}

Result<std::vector<float>> Forward::window_attention(const LayerCache& cache, ggml_tensor* queries, int first_slot,
                                                     int n_window) {
  const ModelConfig& config = model_->config();
  const int64_t n_rows = cache.n_rows();
  const int64_t n_head_kv = cache.shape().n_head_kv;
  const int64_t n_group = config.n_head / n_head_kv;  // query heads of one KV head
  RKV_CHECK(n_window >= 1 && n_window <= n_rows && first_slot >= 0 && first_slot + n_window <= queries->ne[2]);
  std::vector<float> result(static_cast<size_t>(n_rows * config.n_head));

  std::vector<ggml_tensor*> means;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) {
    ggml_tensor* mask = ggml_new_tensor_2d(context, GGML_TYPE_F32, n_rows, n_window);
    ggml_set_input(mask);
    for (int64_t head = 0; head < n_head_kv; ++head) {
      ggml_tensor* k = ggml_view_2d(context, cache.k(), config.head_dim, n_rows, cache.k()->nb[1],
                                    static_cast<size_t>(head) * cache.k()->nb[2]);
      ggml_tensor* q = ggml_view_3d(
          context, queries, config.head_dim, n_group, n_window, queries->nb[1], queries->nb[2],
          static_cast<size_t>(head * n_group) * queries->nb[1] + static_cast<size_t>(first_slot) * queries->nb[2]);
      q = ggml_permute(context, q, 0, 2, 1, 3);            // [head_dim, W, n_group] !! permuted !!
      ggml_tensor* weights = ggml_mul_mat(context, k, q);  // [n_rows, W, n_group]
      weights = ggml_soft_max_ext(context, weights, mask, config.attention_scale, 0.0F);
      weights = ggml_cont(context, ggml_permute(context, weights, 1, 0, 2, 3));  // [W, n_rows, n_group]
      ggml_tensor* mean = ggml_mean(context, weights);                           // [1, n_rows, n_group]
      ggml_set_output(mean);
      ggml_build_forward_expand(graph, mean);
      means.push_back(mean);
    }
    return [&, mask] {
      std::vector<float> values(static_cast<size_t>(n_rows * n_window), 0.0F);
      for (int64_t i = 0; i < n_window; ++i) {
        std::fill_n(values.begin() + i * n_rows + (n_rows - n_window + i + 1), n_window - i - 1, -INFINITY);
      }
      ggml_backend_tensor_set(mask, values.data(), 0, ggml_nbytes(mask));
    };
  };
  RKV_RETURN_IF_ERROR(compute(kNodesFixed + 16 * n_head_kv, build));
  for (int64_t head = 0; head < n_head_kv; ++head) {
    ggml_backend_tensor_get(means[static_cast<size_t>(head)], result.data() + head * n_group * n_rows, 0,
                            static_cast<size_t>(n_group * n_rows) * sizeof(float));
  }
  return result;
}

Result<std::vector<float>> Forward::value_norm(const LayerCache& cache) {
  const int64_t n_rows = cache.n_rows();
  const int64_t n_head_kv = cache.shape().n_head_kv;
  std::vector<float> result(static_cast<size_t>(n_rows * n_head_kv));
  std::vector<ggml_tensor*> norms;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) {
    ggml_tensor* all = ggml_new_tensor_1d(context, GGML_TYPE_I32, n_rows);
    ggml_set_input(all);
    for (int64_t head = 0; head < n_head_kv; ++head) {
      ggml_tensor* v = ggml_view_2d(context, cache.v(), cache.v()->ne[0], n_rows, cache.v()->nb[1],
                                    static_cast<size_t>(head) * cache.v()->nb[2]);
      v = ggml_get_rows(context, v, all);  // F32 whatever the kv format
      ggml_tensor* norm = ggml_sqrt(context, ggml_sum_rows(context, ggml_sqr(context, v)));
      ggml_set_output(norm);
      ggml_build_forward_expand(graph, norm);
      norms.push_back(norm);
    }
    return [n_rows, all] {
      std::vector<int32_t> rows(static_cast<size_t>(n_rows));
      for (int64_t i = 0; i < n_rows; ++i) rows[static_cast<size_t>(i)] = static_cast<int32_t>(i);
      ggml_backend_tensor_set(all, rows.data(), 0, ggml_nbytes(all));
    };
  };
  RKV_RETURN_IF_ERROR(compute(kNodesFixed + 16 * n_head_kv, build));
  for (int64_t head = 0; head < n_head_kv; ++head) {
    ggml_backend_tensor_get(norms[static_cast<size_t>(head)], result.data() + head * n_rows, 0,
                            static_cast<size_t>(n_rows) * sizeof(float));
  }
  return result;
}

}  // namespace ripplekv
