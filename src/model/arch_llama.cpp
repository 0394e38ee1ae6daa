// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The llama architecture: SmolLM2, Llama 2 and 3, Llama 3.x with RoPE frequency factors, Mistral.
// Pre-norm blocks: x + attn(norm(x)), then x + swiglu(norm(x)). Touvron et al. 2023, arXiv:2302.13971.
#include <fmt/format.h>
#include <ggml.h>

#include "model/architecture.h"
#include "model/graph.h"

namespace ripplekv {
namespace {

Status read_config(const GgufFile& file, ModelConfig& config) {
  RKV_RETURN_IF_ERROR(read_common_config(file, config));
  config.rope_mode = GGML_ROPE_TYPE_NORMAL;
  return ok_status();
}

void bind_weights(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights) {
  const int64_t n_embd = config.n_embd;
  const int64_t n_ff = config.n_ff;
  const int64_t n_q = int64_t{config.head_dim} * config.n_head;
  const int64_t n_kv = int64_t{config.head_dim} * config.n_head_kv;

  weights.token_embd = binder.required("token_embd.weight", {n_embd, config.n_vocab}, WeightBinder::kInput);
  weights.output_norm = binder.required("output_norm.weight", {n_embd}, WeightBinder::kOutput);
  weights.output = binder.optional("output.weight", {n_embd, config.n_vocab}, WeightBinder::kOutput);
  if (weights.output == nullptr) weights.output = weights.token_embd;  // tied

  // One table of frequency factors for all layers (Llama 3.1 and later).
  ggml_tensor* rope_factors = binder.optional("rope_freqs.weight", {config.n_rot / 2}, WeightBinder::kInput);
  for (int il = 0; il < config.n_layer; ++il) {
    const auto name = [il](const char* suffix) { return fmt::format("blk.{}.{}", il, suffix); };
    LayerWeights layer;
    layer.rope_factors = rope_factors;
    layer.attn_norm = binder.required(name("attn_norm.weight"), {n_embd}, il);
    layer.attn_q = binder.required(name("attn_q.weight"), {n_embd, n_q}, il);
    layer.attn_k = binder.required(name("attn_k.weight"), {n_embd, n_kv}, il);
    layer.attn_v = binder.required(name("attn_v.weight"), {n_embd, n_kv}, il);
    layer.attn_q_bias = binder.optional(name("attn_q.bias"), {n_q}, il);
    layer.attn_k_bias = binder.optional(name("attn_k.bias"), {n_kv}, il);
    layer.attn_v_bias = binder.optional(name("attn_v.bias"), {n_kv}, il);
    layer.attn_out = binder.required(name("attn_output.weight"), {n_q, n_embd}, il);
    layer.attn_out_bias = binder.optional(name("attn_output.bias"), {n_embd}, il);
    layer.ffn_norm = binder.required(name("ffn_norm.weight"), {n_embd}, il);
    layer.ffn_gate = binder.required(name("ffn_gate.weight"), {n_embd, n_ff}, il);
    layer.ffn_up = binder.required(name("ffn_up.weight"), {n_embd, n_ff}, il);
    layer.ffn_down = binder.required(name("ffn_down.weight"), {n_ff, n_embd}, il);
    weights.layers.push_back(layer);
  }
}

ggml_tensor* build_layer(LayerGraph& graph, int il, ggml_tensor* x) {
  const LayerWeights& w = graph.layer(il);
  ggml_tensor* normed = graph.rms_norm(x, w.attn_norm);
  ggml_tensor* q = graph.rope(graph.heads(graph.linear(normed, w.attn_q, w.attn_q_bias)), w.rope_factors);
  ggml_tensor* k = graph.rope(graph.heads(graph.linear(normed, w.attn_k, w.attn_k_bias)), w.rope_factors);
  ggml_tensor* v = graph.heads(graph.linear(normed, w.attn_v, w.attn_v_bias));
  ggml_tensor* attention = graph.linear(graph.attention(il, q, k, v), w.attn_out, w.attn_out_bias);
  ggml_tensor* residual = graph.add(attention, x);
  ggml_tensor* ffn = graph.swiglu(graph.rms_norm(residual, w.ffn_norm), w.ffn_gate, w.ffn_up, w.ffn_down);
  return graph.add(ffn, residual);
}

}  // namespace

const Architecture kArchLlama = {"llama", "SmolLM2, Llama 2, Llama 3.x, Mistral", read_config, bind_weights,
                                 build_layer};

}  // namespace ripplekv
