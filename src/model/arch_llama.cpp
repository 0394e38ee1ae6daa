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

constexpr double kMaxAttentionScale = 1000;

Status read_config(const GgufFile& file, ModelConfig& config) {
  RKV_RETURN_IF_ERROR(read_common_config(file, config));
  RKV_RETURN_IF_ERROR(refuse_sliding_window(file, config));  // Mistral 7B v0.1
  config.rope.mode = GGML_ROPE_TYPE_NORMAL;
  // Granite's, in files of this architecture; libllama reads the key for none of the others here. 0: the usual scale.
  RKV_ASSIGN_OR_RETURN(const auto scale, file.optional_real("llama.attention.scale"));
  if (scale && !(*scale >= 0 && *scale <= kMaxAttentionScale)) {
    return data_loss(fmt::format("model '{}': key 'llama.attention.scale' is {}, expected 0 to {:g}", file.path(),
                                 *scale, kMaxAttentionScale));
  }
  if (scale.value_or(0) != 0) config.attention_scale = static_cast<float>(*scale);
  return ok_status();
}

void bind_weights(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights) {
  const int64_t n_embd = config.n_embd;
  const int64_t n_ff = config.n_ff;
  const int64_t n_q = int64_t{config.head_dim} * config.n_head;

  bind_embeddings(binder, config, weights);
  // One table of frequency factors for all layers: LongRoPE's, or that of Llama 3.1 and later.
  ggml_tensor* rope_factors = config.rope.scaling == RopeScaling::kLongRope
                                  ? bind_long_rope(binder, config)
                                  : binder.optional("rope_freqs.weight", {config.rope.n_rot / 2}, WeightBinder::kInput);
  for (int il = 0; il < config.n_layer; ++il) {
    const auto name = [il](const char* suffix) { return layer_tensor(il, suffix); };
    LayerWeights layer;
    layer.rope_factors = rope_factors;
    layer.attn_norm = binder.required(name("attn_norm.weight"), {n_embd}, il);
    bind_qkv(binder, config, il, layer);
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
  const RopeConfig& rope = graph.config().rope;
  const Qkv qkv = graph.qkv(graph.rms_norm(x, w.attn_norm), w);
  ggml_tensor* q = graph.rope(qkv.q, rope, w.rope_factors);
  ggml_tensor* k = graph.rope(qkv.k, rope, w.rope_factors);
  ggml_tensor* attention = graph.linear(graph.attention(il, q, k, qkv.v), w.attn_out, w.attn_out_bias);
  ggml_tensor* residual = graph.add(attention, x);
  return graph.add(graph.swiglu(graph.rms_norm(residual, w.ffn_norm), w), residual);
}

}  // namespace

const Architecture kArchLlama = {"llama", "SmolLM2, Llama 2, Llama 3.x, Mistral", read_config, bind_weights,
                                 build_layer};

}  // namespace ripplekv
