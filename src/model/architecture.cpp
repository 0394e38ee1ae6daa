// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The registry of architectures and the configuration keys they share.
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

}  // namespace

std::span<const Architecture* const> architecture_registry() {
  static constexpr std::array kRegistry = {&kArchLlama};
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
  RKV_ASSIGN_OR_RETURN(const int64_t n_head, read("attention.head_count", kMaxHeads));
  RKV_ASSIGN_OR_RETURN(const auto n_head_kv, file.optional_integer(prefix + "attention.head_count_kv", 1, kMaxHeads));
  RKV_ASSIGN_OR_RETURN(config.n_ctx_train, read("context_length", kMaxContext));
  config.n_layer = static_cast<int>(n_layer);
  config.n_embd = static_cast<int>(n_embd);
  config.n_ff = static_cast<int>(n_ff);
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

  RKV_ASSIGN_OR_RETURN(const auto n_rot, file.optional_integer(prefix + "rope.dimension_count", 2, config.head_dim));
  config.n_rot = static_cast<int>(n_rot.value_or(config.head_dim));
  if (config.n_rot % 2 != 0 || config.head_dim % 2 != 0) {
    return unsupported(fmt::format("model '{}': {} rotated of {} values per head, expected even numbers", file.path(),
                                   config.n_rot, config.head_dim));
  }
  RKV_ASSIGN_OR_RETURN(const auto freq_base, file.optional_real(prefix + "rope.freq_base"));
  config.rope_freq_base = static_cast<float>(freq_base.value_or(10000.0));
  if (!(config.rope_freq_base > 0)) {
    return data_loss(fmt::format("model '{}': key '{}rope.freq_base' is {}, expected a positive number", file.path(),
                                 prefix, config.rope_freq_base));
  }
  RKV_ASSIGN_OR_RETURN(const auto scaling, file.optional_text(prefix + "rope.scaling.type"));
  RKV_ASSIGN_OR_RETURN(auto factor, file.optional_real(prefix + "rope.scaling.factor"));
  if (!factor) {
    RKV_ASSIGN_OR_RETURN(factor, file.optional_real(prefix + "rope.scale_linear"));
  }
  if (scaling && *scaling != "none" && *scaling != "linear") {
    return unsupported(
        fmt::format("model '{}': RoPE scaling '{}' is not supported; supported: none, linear", file.path(), *scaling));
  }
  if (factor && !(*factor > 0)) {
    return data_loss(
        fmt::format("model '{}': RoPE scaling factor {}, expected a positive number", file.path(), *factor));
  }
  RKV_ASSIGN_OR_RETURN(const auto attn_factor, file.optional_real(prefix + "rope.scaling.attn_factor"));
  if (attn_factor.value_or(1.0) != 1.0) {
    return unsupported(
        fmt::format("model '{}': RoPE attention factor {} is not supported, only 1", file.path(), *attn_factor));
  }
  config.rope_freq_scale = (scaling && *scaling == "none") ? 1.0F : static_cast<float>(1.0 / factor.value_or(1.0));

  RKV_ASSIGN_OR_RETURN(const double eps, file.real(prefix + "attention.layer_norm_rms_epsilon"));
  if (!(eps >= 0 && eps < 1)) {
    return data_loss(fmt::format("model '{}': norm epsilon {}, expected 0 to 1", file.path(), eps));
  }
  config.norm_rms_eps = static_cast<float>(eps);
  RKV_ASSIGN_OR_RETURN(const auto scale, file.optional_real(prefix + "attention.scale"));
  config.attention_scale =
      scale && *scale != 0 ? static_cast<float>(*scale) : 1.0F / std::sqrt(static_cast<float>(config.head_dim));

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

}  // namespace ripplekv
