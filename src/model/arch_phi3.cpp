// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The phi3 architecture: llama's blocks with one product for Q, K and V and one for gate and up, rotating halves (of
// part of a head in Phi-4-mini), with LongRoPE's factors in the models of a long context.
// Phi-3: Abdin et al. 2024, arXiv:2404.14219; LongRoPE: Ding et al. 2024, arXiv:2402.13753.
#include <ggml.h>

#include <cmath>

#include "model/architecture.h"
#include "model/graph.h"

namespace ripplekv {
namespace {

Status read_config(const GgufFile& file, ModelConfig& config) {
  RKV_RETURN_IF_ERROR(read_common_config(file, config));
  RKV_RETURN_IF_ERROR(refuse_sliding_window(file, config));
  config.rope.mode = GGML_ROPE_TYPE_NEOX;
  config.attention_scale = 1;  // build_layer() has scaled Q
  return ok_status();
}

void bind_weights(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights) {
  const int64_t n_embd = config.n_embd;
  const int64_t n_ff = config.n_ff;
  const int64_t n_q = int64_t{config.head_dim} * config.n_head;

  bind_embeddings(binder, config, weights);
  // Whatever type of scaling the file names: older ones name none beside their factors.
  ggml_tensor* rope_factors = bind_long_rope(binder, config);
  for (int il = 0; il < config.n_layer; ++il) {
    const auto name = [il](const char* suffix) { return layer_tensor(il, suffix); };
    LayerWeights layer;
    layer.rope_factors = rope_factors;
    layer.attn_norm = binder.required(name("attn_norm.weight"), {n_embd}, il);
    bind_qkv(binder, config, il, layer);
    layer.attn_out = binder.required(name("attn_output.weight"), {n_q, n_embd}, il);
    layer.ffn_norm = binder.required(name("ffn_norm.weight"), {n_embd}, il);
    layer.ffn_up = binder.required(name("ffn_up.weight"), {n_embd, 2 * n_ff}, il);
    layer.ffn_down = binder.required(name("ffn_down.weight"), {n_ff, n_embd}, il);
    weights.layers.push_back(layer);
  }
}

ggml_tensor* build_layer(LayerGraph& graph, int il, ggml_tensor* x) {
  const LayerWeights& w = graph.layer(il);
  const RopeConfig& rope = graph.config().rope;
  const Qkv qkv = graph.qkv(graph.rms_norm(x, w.attn_norm), w);
  // Scaled where libllama does it: attention rounds Q to F16, and quantised products turn a last bit into a KL of
  // 0.003.
  ggml_tensor* q = graph.scale(graph.rope(qkv.q, rope, w.rope_factors),
                               1.0F / std::sqrt(static_cast<float>(graph.config().head_dim)));
  ggml_tensor* k = graph.rope(qkv.k, rope, w.rope_factors);
  ggml_tensor* residual = graph.add(graph.linear(graph.attention(il, q, k, qkv.v), w.attn_out), x);
  return graph.add(graph.swiglu(graph.rms_norm(residual, w.ffn_norm), w), residual);
}

}  // namespace

const Architecture kArchPhi3 = {"phi3", "Phi-3, Phi-3.5, Phi-4, Phi-4-mini", read_config, bind_weights, build_layer};

}  // namespace ripplekv
