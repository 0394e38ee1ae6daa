// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The gemma3 architecture (text only): norms before and after attention and feed-forward, norms of Q and K, embeddings
// scaled by the root of their width, geglu, and five layers with a sliding window for each that sees all, with a
// rotation of its own. Gemma Team 2025, arXiv:2503.19786.
#include <fmt/format.h>
#include <ggml.h>

#include <cmath>

#include "model/architecture.h"
#include "model/graph.h"

namespace ripplekv {
namespace {

constexpr int64_t kPattern = 6;               // every sixth layer sees all
constexpr float kSlidingFreqBase = 10000.0F;  // the sliding layers rotate unscaled
constexpr int kLayersOf27B = 62;              // the one size whose scale is not 1 / sqrt(head_dim)

Status read_config(const GgufFile& file, ModelConfig& config) {
  RKV_RETURN_IF_ERROR(read_common_config(file, config));
  RKV_RETURN_IF_ERROR(refuse_long_rope(file, config));
  const std::string prefix = config.architecture + ".";
  RKV_ASSIGN_OR_RETURN(const auto softcap, file.optional_real(prefix + "final_logit_softcapping"));
  if (softcap.value_or(0) != 0) {
    return unsupported(
        fmt::format("model '{}': logits capped at {}; gemma3 is supported without", file.path(), *softcap));
  }
  config.rope.mode = GGML_ROPE_TYPE_NEOX;
  // The query is scaled, not the product: rounding a scaled query to F16 is part of what libllama computes.
  config.attention_scale = 1.0F;
  config.embedding_scale = std::sqrt(static_cast<float>(config.n_embd));

  RKV_ASSIGN_OR_RETURN(const auto window, file.optional_integer(prefix + "attention.sliding_window", 0, INT32_MAX));
  if (window.value_or(0) == 0) return ok_status();
  RKV_ASSIGN_OR_RETURN(const auto pattern,
                       file.optional_integer(prefix + "attention.sliding_window_pattern", 1, config.n_layer));
  RKV_ASSIGN_OR_RETURN(const auto freq_base, file.optional_real(prefix + "rope.freq_base_swa"));
  if (freq_base && !(*freq_base > 1 && *freq_base < 1e12)) {
    return data_loss(fmt::format("model '{}': key '{}rope.freq_base_swa' is {}, expected 1 to 1e12", file.path(),
                                 prefix, *freq_base));
  }
  const int64_t n_pattern = pattern.value_or(kPattern);
  for (int il = 0; il < config.n_layer; ++il) {
    config.windows.push_back(il % n_pattern < n_pattern - 1 ? *window : 0);
  }
  config.rope_sliding = config.rope;
  config.rope_sliding.freq_base = static_cast<float>(freq_base.value_or(kSlidingFreqBase));
  config.rope_sliding.freq_scale = 1;
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
    layer.attn_post_norm = binder.required(name("post_attention_norm.weight"), {n_embd}, il);
    layer.ffn_norm = binder.required(name("ffn_norm.weight"), {n_embd}, il);
    layer.ffn_gate = binder.required(name("ffn_gate.weight"), {n_embd, n_ff}, il);
    layer.ffn_up = binder.required(name("ffn_up.weight"), {n_embd, n_ff}, il);
    layer.ffn_down = binder.required(name("ffn_down.weight"), {n_ff, n_embd}, il);
    layer.ffn_post_norm = binder.required(name("post_ffw_norm.weight"), {n_embd}, il);
    weights.layers.push_back(layer);
  }
}

ggml_tensor* build_layer(LayerGraph& graph, int il, ggml_tensor* x) {
  const LayerWeights& w = graph.layer(il);
  const ModelConfig& config = graph.config();
  const RopeConfig& rope = config.rope_of(il);
  const int width = config.n_layer == kLayersOf27B ? config.n_embd / config.n_head : config.head_dim;
  const Qkv qkv = graph.qkv(graph.rms_norm(x, w.attn_norm), w);
  ggml_tensor* q = graph.rope(graph.rms_norm(qkv.q, w.attn_q_norm), rope, nullptr);
  ggml_tensor* k = graph.rope(graph.rms_norm(qkv.k, w.attn_k_norm), rope, nullptr);
  q = graph.scale(q, 1.0F / std::sqrt(static_cast<float>(width)));
  ggml_tensor* attended = graph.linear(graph.attention(il, q, k, qkv.v), w.attn_out);
  ggml_tensor* residual = graph.add(graph.rms_norm(attended, w.attn_post_norm), x);
  ggml_tensor* fed = graph.geglu(graph.rms_norm(residual, w.ffn_norm), w);
  return graph.add(graph.rms_norm(fed, w.ffn_post_norm), residual);
}

}  // namespace

const Architecture kArchGemma3 = {"gemma3", "Gemma 3 (text)", read_config, bind_weights, build_layer};

}  // namespace ripplekv
