// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/oracle.h"

#include <ggml.h>
#include <gguf.h>
#include <llama.h>

#include <algorithm>
#include <cmath>

namespace ripplekv::test {

Oracle::Oracle(const std::string& path, const OracleOptions& options) {
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  model_params.use_extra_bufts = false;  // the same kernels as the mapped weights
  model_ = llama_model_load_from_file(path.c_str(), model_params);
  if (model_ == nullptr) return;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(options.n_ctx);
  params.n_batch = params.n_ctx;
  params.n_threads = options.n_threads;
  params.n_threads_batch = options.n_threads;
  params.n_ubatch = static_cast<uint32_t>(options.n_ubatch);
  params.flash_attn_type = options.f32_cache ? LLAMA_FLASH_ATTN_TYPE_DISABLED : LLAMA_FLASH_ATTN_TYPE_ENABLED;
  if (options.f32_cache) params.type_k = params.type_v = GGML_TYPE_F32;
  context_ = llama_init_from_model(model_, params);
}

Oracle::~Oracle() {
  if (context_ != nullptr) llama_free(context_);
  if (model_ != nullptr) llama_model_free(model_);
}

std::vector<std::vector<float>> Oracle::logits(std::span<const int32_t> tokens) {
  llama_memory_clear(llama_get_memory(context_), true);
  n_pos_ = 0;
  return more_logits(tokens);
}

std::vector<std::vector<float>> Oracle::more_logits(std::span<const int32_t> tokens) {
  llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens.size()), 0, 1);
  batch.n_tokens = static_cast<int32_t>(tokens.size());
  for (int32_t i = 0; i < batch.n_tokens; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = n_pos_ + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  std::vector<std::vector<float>> result;
  if (llama_decode(context_, batch) == 0) {
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model_));
    for (int32_t i = 0; i < batch.n_tokens; ++i) {
      const float* row = llama_get_logits_ith(context_, i);
      result.emplace_back(row, row + n_vocab);
    }
  }
  n_pos_ += batch.n_tokens;
  llama_batch_free(batch);
  return result;
}

std::vector<int32_t> Oracle::tokenize(const std::string& text, bool parse_special) const {
  std::vector<int32_t> tokens(text.size() + 8);
  const int32_t n = llama_tokenize(llama_model_get_vocab(model_), text.data(), static_cast<int32_t>(text.size()),
                                   tokens.data(), static_cast<int32_t>(tokens.size()), true, parse_special);
  tokens.resize(static_cast<size_t>(std::max(0, n)));
  return tokens;
}

bool write_f32_gguf(const std::string& from, const std::string& to) {
  ggml_context* source = nullptr;
  gguf_context* in = gguf_init_from_file(from.c_str(), {/*no_alloc=*/false, &source});
  if (in == nullptr) return false;
  const int64_t n_tensors = gguf_get_n_tensors(in);
  size_t size = 0;
  for (ggml_tensor* t = ggml_get_first_tensor(source); t != nullptr; t = ggml_get_next_tensor(source, t)) {
    size += static_cast<size_t>(ggml_nelements(t)) * sizeof(float) + ggml_tensor_overhead() + 64;
  }
  ggml_context* target = ggml_init({size, nullptr, false});
  gguf_context* out = gguf_init_empty();
  gguf_set_kv(out, in);
  for (int64_t i = 0; i < n_tensors; ++i) {
    const char* name = gguf_get_tensor_name(in, i);
    const ggml_tensor* t = ggml_get_tensor(source, name);
    ggml_tensor* f32 = ggml_new_tensor(target, GGML_TYPE_F32, 4, t->ne);
    ggml_set_name(f32, name);
    if (t->type == GGML_TYPE_F32) {
      std::copy_n(static_cast<const float*>(t->data), ggml_nelements(t), static_cast<float*>(f32->data));
    } else {
      ggml_get_type_traits(t->type)->to_float(t->data, static_cast<float*>(f32->data), ggml_nelements(t));
    }
    gguf_add_tensor(out, f32);
  }
  const bool written = gguf_write_to_file(out, to.c_str(), /*only_meta=*/false);
  gguf_free(out);
  gguf_free(in);
  ggml_free(target);
  ggml_free(source);
  return written;
}

double kl_of_logits(std::span<const float> p, std::span<const float> q) {
  const auto log_sum = [](std::span<const float> x) {
    const double top = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (float v : x) sum += std::exp(v - top);
    return top + std::log(sum);
  };
  const double norm_p = log_sum(p);
  const double norm_q = log_sum(q);
  double kl = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double log_p = p[i] - norm_p;
    kl += std::exp(log_p) * (log_p - (q[i] - norm_q));
  }
  return kl;
}

int32_t argmax(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double margin(std::span<const float> logits) {
  float first = -INFINITY;
  float second = -INFINITY;
  for (float v : logits) {
    if (v > first) {
      second = first;
      first = v;
    } else {
      second = std::max(second, v);
    }
  }
  return first - second;
}

}  // namespace ripplekv::test
