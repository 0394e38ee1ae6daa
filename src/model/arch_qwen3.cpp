// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The qwen3 architecture: llama's blocks with an RMS norm of every Q and K head before the rotation, which is of
// halves. Yang et al. 2025, arXiv:2505.09388; the norm: Dehghani et al. 2023, arXiv:2302.05442.
#include <ggml.h>

#include "model/architecture.h"
#include "model/graph.h"

namespace ripplekv {
namespace {

Status read_config(const GgufFile& file, ModelConfig& config) {
  RKV_RETURN_IF_ERROR(read_common_config(file, config));
  RKV_RETURN_IF_ERROR(refuse_sliding_window(file, config));
  RKV_RETURN_IF_ERROR(refuse_long_rope(file, config));
  config.rope.mode = GGML_ROPE_TYPE_NEOX;
  return ok_status();
}

void bind_weights(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights) {
  const int64_t n_embd = config.n_embd;
  const int64_t n_ff = config.n_ff;
  const int64_t n_q = int64_t{config.head_dim} * config.n_head;

  bind_embeddings(binder, config, weights);
  for (int il = 0; il < config.n_layer; ++il) {
    const auto name = [il](const char* suffix) { return layer_tensor(il, suffix); };
    LayerWeights layer;
    layer.attn_norm = binder.required(name("attn_norm.weight"), {n_embd}, il);
    bind_qkv(binder, config, il, layer);
    layer.attn_q_norm = binder.required(name("attn_q_norm.weight"), {config.head_dim}, il);
    layer.attn_k_norm = binder.required(name("attn_k_norm.weight"), {config.head_dim}, il);
    layer.attn_out = binder.required(name("attn_output.weight"), {n_q, n_embd}, il);
    layer.ffn_norm = binder.required(name("ffn_norm.weight"), {n_embd}, il);
    layer.ffn_gate = binder.required(name("ffn_gate.weight"), {n_embd, n_ff}, il);
    layer.ffn_up = binder.required(name("ffn_up.weight"), {n_embd, n_ff}, il);
    layer.ffn_down = binder.required(name("ffn_down.weight"), {n_ff, n_embd}, il);
    weights.layers.push_back(layer);
  }
}

ggml_tensor* build_layer(LayerGraph& graph, int il, ggml_tensor* x) {
  const LayerWeights& w = graph.layer(il);
  const RopeConfig& rope = graph.config().rope;
  const Qkv qkv = graph.qkv(graph.rms_norm(x, w.attn_norm), w);
  ggml_tensor* q = graph.rope(graph.rms_norm(qkv.q, w.attn_q_norm), rope, nullptr);
  ggml_tensor* k = graph.rope(graph.rms_norm(qkv.k, w.attn_k_norm), rope, nullptr);
  ggml_tensor* residual = graph.add(graph.linear(graph.attention(il, q, k, qkv.v), w.attn_out), x);
  return graph.add(graph.swiglu(graph.rms_norm(residual, w.ffn_norm), w), residual);
}

}  // namespace

const Architecture kArchQwen3 = {"qwen3", "Qwen3 (dense)", read_config, bind_weights, build_layer};

}  // namespace ripplekv
