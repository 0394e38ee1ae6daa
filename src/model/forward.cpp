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
constexpr int64_t kNodesPerRaggedHead = 8;
constexpr int64_t kNodesFixed = 64;

bool cancel_requested(void* flag) {
  return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
}

// How a graph is connected: its nodes and leafs with what they read. Tensors are told apart by their address: built in
// the same order into the same memory, graphs of one structure have the same addresses. Those that have their own
// memory (weights, cache rows) are all alike.
std::vector<const void*> structure_of(ggml_cgraph* graph) {
  std::vector<const void*> structure;
  const auto add = [&](const ggml_tensor* tensor) {
    const bool placed = tensor->data != nullptr || (tensor->view_src != nullptr && tensor->view_src->data != nullptr);
    structure.push_back(placed ? nullptr : tensor);
  };
  for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
    const ggml_tensor* node = ggml_graph_node(graph, i);
    add(node);
    for (const ggml_tensor* source : node->src) {
      if (source != nullptr) add(source);
    }
    structure.push_back(graph);  // ends the node
  }
  return structure;
}

}  // namespace

Result<std::unique_ptr<Forward>> Forward::create(std::shared_ptr<const Model> model, int n_threads,
                                                 CpuKernels kernels) {
  RKV_CHECK(n_threads >= 1);
  std::unique_ptr<Forward> forward(new Forward());
  forward->model_ = std::move(model);
  forward->n_threads_ = n_threads;
  forward->kernels_ = kernels;
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

Status Forward::compute(int64_t n_nodes, const BuildGraph& build) {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) return cancelled("stopped as asked");
  if (sched_ == nullptr || n_nodes > sched_nodes_) {
    if (sched_ != nullptr) ggml_backend_sched_free(sched_);
    sched_nodes_ = n_nodes;
    sched_ = ggml_backend_sched_new(backends_.data(), nullptr, static_cast<int>(backends_.size()),
                                    static_cast<size_t>(n_nodes), /*parallel=*/false, /*op_offload=*/false);
    RKV_CHECK(sched_ != nullptr);
    graph_memory_.resize(ggml_tensor_overhead() * static_cast<size_t>(n_nodes) * 2 +
                         ggml_graph_overhead_custom(static_cast<size_t>(n_nodes), false));
    planned_.clear();
  }
  ggml_context* context = ggml_init({graph_memory_.size(), graph_memory_.data(), /*no_alloc=*/true});
  RKV_CHECK(context != nullptr);
  const auto build_graph = [&](std::function<void()>& fill_inputs) {
    ggml_cgraph* graph = ggml_new_graph_custom(context, static_cast<size_t>(sched_nodes_), false);
    fill_inputs = build(context, graph);
    return graph;
  };
  std::function<void()> fill_inputs;
  ggml_cgraph* graph = build_graph(fill_inputs);
  ggml_backend_sched_reset(sched_);
  Status status;
  bool allocated = true;
  if (std::vector<const void*> structure = structure_of(graph); structure != planned_) {
    // ggml places the tensors of a graph as it planned the graph before, if both have as many nodes, leafs and bytes;
    // that is wrong, or a crash, where they are connected otherwise. Planning uses a graph up: it is built again.
    allocated = ggml_backend_sched_reserve(sched_, graph);
    ggml_reset(context);
    graph = build_graph(fill_inputs);
    planned_ = allocated ? std::move(structure) : std::vector<const void*>();
  }
  if (!allocated || !ggml_backend_sched_alloc_graph(sched_, graph)) {
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
  RKV_RETURN_IF_ERROR(model_->store().check_mapping());
  int64_t n_ragged_heads = 0;
  for (const Segment& segment : batch.segments) {
    for (int il = batch.layer_begin; il < batch.layer_end; ++il) {
      LayerCache& layer = segment.cache->layer(il);
      RKV_RETURN_IF_ERROR(layer.reserve_more(segment.n_tokens));
      if (layer.ragged()) n_ragged_heads += config.n_head_kv;
    }
  }

  // Only the wanted tokens go through the last layer's norm and the head.
  const auto n_out = static_cast<int64_t>(batch.logits_of.size());
  if (n_out > 0) batch.logits->resize(static_cast<size_t>(n_out * config.n_vocab));
  const int64_t n_layers = batch.layer_end - batch.layer_begin;
  const auto n_segments = static_cast<int64_t>(batch.segments.size());
  const int64_t n_nodes = kNodesFixed + n_layers * (kNodesPerLayer + kNodesPerSegment * n_segments) +
                          kNodesPerRaggedHead * n_ragged_heads + 4 * static_cast<int64_t>(batch.query_taps.size());

  ggml_tensor* logits = nullptr;
  std::unique_ptr<LayerGraph> layers;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) {
    layers = std::make_unique<LayerGraph>(context, graph, config, weights, batch.segments, batch.query_taps,
                                          batch.layer_begin, batch.layer_end, CpuCompute{kernels_, n_threads_});
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
      if (config.embedding_scale != 1.0F) x = ggml_scale(context, x, config.embedding_scale);
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

}  // namespace ripplekv
