// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The registry of architectures, and the configuration keys and tensors they share.
#include "model/architecture.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ripplekv {
namespace {

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxHeadDim = 1024;
constexpr int64_t kMaxContext = int64_t{1} << 30;
constexpr double kMaxReal = 1e30;           // what a float holds with room to compute
constexpr double kMaxRopeFactor = 1 << 20;  // beyond, the last rotations of a long context drown in rounding

Status read_heads(const GgufFile& file, const std::string& prefix, ModelConfig& config) {
  RKV_ASSIGN_OR_RETURN(const int64_t n_head, file.integer(prefix + "attention.head_count", 1, kMaxHeads));
  RKV_ASSIGN_OR_RETURN(const auto n_head_kv, file.optional_integer(prefix + "attention.head_count_kv", 1, kMaxHeads));
  config.n_head = static_cast<int>(n_head);
  config.n_head_kv = static_cast<int>(n_head_kv.value_or(n_head));
  if (config.n_head % config.n_head_kv != 0) {
    return data_loss(fmt::format("model '{}': {} query heads for {} KV heads, expected a multiple", file.path(),
                                 config.n_head, config.n_head_kv));
  }

  RKV_ASSIGN_OR_RETURN(const auto key_length, file.optional_integer(prefix + "attention.key_length", 1, kMaxHeadDim));
  RKV_ASSIGN_OR_RETURN(const auto value_length,
                       file.optional_integer(prefix + "attention.value_length", 1, kMaxHeadDim));
  if (!key_length && config.n_embd % config.n_head != 0) {
    return data_loss(fmt::format("model '{}': embedding length {} does not divide into {} heads", file.path(),
                                 config.n_embd, config.n_head));
  }
  config.head_dim = static_cast<int>(key_length.value_or(config.n_embd / config.n_head));
  if (value_length.value_or(config.head_dim) != config.head_dim) {
    return unsupported(fmt::format("model '{}': K heads of {} and V heads of {} values; they must be alike",
                                   file.path(), config.head_dim, *value_length));
  }
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  return ok_status();
}

Result<RopeScaling> read_rope_scaling(const GgufFile& file, const std::string& prefix) {
  RKV_ASSIGN_OR_RETURN(const auto found, file.optional_text(prefix + "rope.scaling.type"));
  const std::string name = found.value_or("linear");
  if (name == "linear") return RopeScaling::kLinear;
  if (name == "none") return RopeScaling::kNone;
  if (name == "yarn") return RopeScaling::kYarn;
  if (name == "longrope") return RopeScaling::kLongRope;
  return unsupported(fmt::format(
      "model '{}': RoPE scaling '{}' is not supported; supported: none, linear, yarn, longrope", file.path(), name));
}

// As libllama reads them: a factor without a type is linear, without a factor it is 1, attn_factor counts in any type.
Status read_rope(const GgufFile& file, const std::string& prefix, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  RKV_ASSIGN_OR_RETURN(const auto n_rot, file.optional_integer(prefix + "rope.dimension_count", 2, config.head_dim));
  rope.n_rot = static_cast<int>(n_rot.value_or(config.head_dim));
  if (rope.n_rot % 2 != 0 || config.head_dim % 2 != 0) {
    return unsupported(fmt::format("model '{}': {} rotated of {} values per head, expected even numbers", file.path(),
                                   rope.n_rot, config.head_dim));
  }
  RKV_ASSIGN_OR_RETURN(rope.scaling, read_rope_scaling(file, prefix));
  RKV_ASSIGN_OR_RETURN(const auto freq_base, file.optional_real(prefix + "rope.freq_base"));
  if (freq_base && !(*freq_base > 1 / kMaxReal && *freq_base < kMaxReal)) {
    return data_loss(fmt::format("model '{}': key '{}rope.freq_base' is {}, expected a positive number under {:g}",
                                 file.path(), prefix, *freq_base, kMaxReal));
  }
  rope.freq_base = static_cast<float>(freq_base.value_or(10000.0));
  const bool yarn = rope.scaling == RopeScaling::kYarn;
  if (yarn && !(rope.freq_base > 1)) {  // the ramp divides by its logarithm
    return data_loss(fmt::format("model '{}': key '{}rope.freq_base' is {}, expected more than 1 for YaRN", file.path(),
                                 prefix, rope.freq_base));
  }

  RKV_ASSIGN_OR_RETURN(auto factor, file.optional_real(prefix + "rope.scaling.factor"));
  if (!factor) {
    RKV_ASSIGN_OR_RETURN(factor, file.optional_real(prefix + "rope.scale_linear"));
  }
  if (factor && !(*factor > 0)) {
    return data_loss(
        fmt::format("model '{}': RoPE scaling factor {}, expected a positive number", file.path(), *factor));
  }
  const double smallest = yarn ? 1 : 1 / kMaxRopeFactor;
  if (factor && (*factor < smallest || *factor > kMaxRopeFactor)) {
    return data_loss(fmt::format("model '{}': RoPE scaling factor {}, expected {:g} to {:g}", file.path(), *factor,
                                 smallest, kMaxRopeFactor));
  }
  rope.freq_scale = rope.scaling == RopeScaling::kNone ? 1.0F : 1.0F / static_cast<float>(factor.value_or(1.0));
  RKV_ASSIGN_OR_RETURN(const auto n_ctx_orig,
                       file.optional_integer(prefix + "rope.scaling.original_context_length", 1, kMaxContext));
  rope.n_ctx_orig = n_ctx_orig.value_or(config.n_ctx_train);
  RKV_ASSIGN_OR_RETURN(const auto attn_factor, file.optional_real(prefix + "rope.scaling.attn_factor"));
  if (attn_factor && !(*attn_factor > 1 / kMaxRopeFactor && *attn_factor < kMaxRopeFactor)) {
    return data_loss(fmt::format("model '{}': RoPE attention factor {}, expected a positive number under {:g}",
                                 file.path(), *attn_factor, kMaxRopeFactor));
  }
  rope.attn_factor = static_cast<float>(attn_factor.value_or(1.0));
  return ok_status();
}

}  // namespace

std::span<const Architecture* const> architecture_registry() {
  static constexpr std::array kRegistry = {&kArchGemma3, &kArchLlama, &kArchPhi3, &kArchQwen2, &kArchQwen3};
  return kRegistry;
}

Result<const Architecture*> find_architecture(std::string_view name) {
  std::string known;
  for (const Architecture* architecture : architecture_registry()) {
    if (architecture->name == name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture->name);
  }
  return unsupported(fmt::format("architecture '{}' is not supported; supported: {}", name, known));
}

Status read_common_config(const GgufFile& file, ModelConfig& config) {
  const std::string prefix = config.architecture + ".";
  const auto read = [&](const char* key, int64_t max) { return file.integer(prefix + key, 1, max); };

  RKV_ASSIGN_OR_RETURN(const int64_t n_layer, read("block_count", kMaxLayers));
  RKV_ASSIGN_OR_RETURN(const int64_t n_embd, read("embedding_length", kMaxWidth));
  RKV_ASSIGN_OR_RETURN(const int64_t n_ff, read("feed_forward_length", kMaxWidth));
  RKV_ASSIGN_OR_RETURN(config.n_ctx_train, read("context_length", kMaxContext));
  if (config.n_ctx == 0) config.n_ctx = config.n_ctx_train;
  config.n_layer = static_cast<int>(n_layer);
  config.n_embd = static_cast<int>(n_embd);
  config.n_ff = static_cast<int>(n_ff);
  RKV_RETURN_IF_ERROR(read_heads(file, prefix, config));
  RKV_RETURN_IF_ERROR(read_rope(file, prefix, config));

  RKV_ASSIGN_OR_RETURN(const double eps, file.real(prefix + "attention.layer_norm_rms_epsilon"));
  if (!(eps >= 0 && eps < 1)) {
    return data_loss(fmt::format("model '{}': norm epsilon {}, expected 0 to 1", file.path(), eps));
  }
  config.norm_rms_eps = static_cast<float>(eps);

  RKV_ASSIGN_OR_RETURN(const auto n_expert, file.optional_integer(prefix + "expert_count", 0, INT32_MAX));
  if (n_expert.value_or(0) > 0) {
    return unsupported(
        fmt::format("model '{}': mixture of {} experts; only dense models are supported", file.path(), *n_expert));
  }

  const int64_t embd = file.find_tensor("token_embd.weight");
  if (embd < 0) return data_loss(fmt::format("model '{}': tensor 'token_embd.weight' is missing", file.path()));
  const int64_t n_vocab = file.tensor_shape(embd)[1];
  if (n_vocab < 1 || n_vocab > INT32_MAX) {
    return data_loss(fmt::format("model '{}': {} tokens in the embedding, expected 1 to 2^31", file.path(), n_vocab));
  }
  config.n_vocab = static_cast<int>(n_vocab);
  return ok_status();
}

// libllama attends to all rows whatever this key says (it does not read it for llama, qwen2 and qwen3, and switches the
// window off for phi3). Up to the window that is the model; beyond, it is not what the weights were trained for.
Status refuse_sliding_window(const GgufFile& file, const ModelConfig& config) {
  RKV_ASSIGN_OR_RETURN(const auto window,
                       file.optional_integer(config.architecture + ".attention.sliding_window", 0, INT32_MAX));
  if (window.value_or(0) == 0 || *window >= config.n_ctx) return ok_status();
  return unsupported(
      fmt::format("model '{}': a sliding window of {} tokens in a context of {}; layers with a window are not "
                  "supported, --ctx-size {} stays within it",
                  file.path(), *window, config.n_ctx, *window));
}

Status refuse_long_rope(const GgufFile& file, const ModelConfig& config) {
  if (config.rope.scaling != RopeScaling::kLongRope) return ok_status();
  return unsupported(fmt::format("model '{}': RoPE scaling 'longrope' is not supported for architecture '{}'",
                                 file.path(), config.architecture));
}

std::string layer_tensor(int il, std::string_view suffix) { return fmt::format("blk.{}.{}", il, suffix); }

void bind_embeddings(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights) {
  weights.token_embd = binder.required("token_embd.weight", {config.n_embd, config.n_vocab}, WeightBinder::kInput);
  weights.output_norm = binder.required("output_norm.weight", {config.n_embd}, WeightBinder::kOutput);
  weights.output = binder.optional("output.weight", {config.n_embd, config.n_vocab}, WeightBinder::kOutput);
  if (weights.output == nullptr) weights.output = weights.token_embd;  // tied
}

void bind_qkv(WeightBinder& binder, const ModelConfig& config, int il, LayerWeights& layer) {
  const auto name = [il](const char* suffix) { return layer_tensor(il, suffix); };
  const int64_t n_embd = config.n_embd;
  const int64_t n_q = int64_t{config.head_dim} * config.n_head;
  const int64_t n_kv = int64_t{config.head_dim} * config.n_head_kv;
  layer.attn_qkv = binder.optional(name("attn_qkv.weight"), {n_embd, n_q + 2 * n_kv}, il);
  if (layer.attn_qkv != nullptr) {
    layer.attn_qkv_bias = binder.optional(name("attn_qkv.bias"), {n_q + 2 * n_kv}, il);
    return;
  }
  layer.attn_q = binder.required(name("attn_q.weight"), {n_embd, n_q}, il);
  layer.attn_k = binder.required(name("attn_k.weight"), {n_embd, n_kv}, il);
  layer.attn_v = binder.required(name("attn_v.weight"), {n_embd, n_kv}, il);
  layer.attn_q_bias = binder.optional(name("attn_q.bias"), {n_q}, il);
  layer.attn_k_bias = binder.optional(name("attn_k.bias"), {n_kv}, il);
  layer.attn_v_bias = binder.optional(name("attn_v.bias"), {n_kv}, il);
}

// As libllama chooses: by the length a sequence may have, so that all its rows are rotated alike.
ggml_tensor* bind_long_rope(WeightBinder& binder, const ModelConfig& config) {
  constexpr const char* kLong = "rope_factors_long.weight";
  constexpr const char* kShort = "rope_factors_short.weight";
  const int64_t n = config.rope.n_rot / 2;
  ggml_tensor* if_long = binder.optional(kLong, {n}, WeightBinder::kInput);
  ggml_tensor* if_short = binder.optional(kShort, {n}, WeightBinder::kInput);
  if ((if_long == nullptr) != (if_short == nullptr) ||
      (if_long == nullptr && config.rope.scaling == RopeScaling::kLongRope)) {
    binder.required(if_long == nullptr ? kLong : kShort, {n}, WeightBinder::kInput);
  }
  return config.n_ctx > config.rope.n_ctx_orig ? if_long : if_short;
}

}  // namespace ripplekv
