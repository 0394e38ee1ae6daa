// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// libllama on the same file in the same process: what our graphs are held against. And the measures of agreement.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

struct llama_model;
struct llama_context;

namespace ripplekv::test {

struct OracleOptions {
  bool f32_cache = false;  // F32 rows, attention by plain matrix products (libllama's flash attention rounds to F16)
  int n_ubatch = 512;
  int n_ctx = 2048;
  int n_threads = 2;
};

class Oracle {
 public:
  Oracle(const std::string& path, const OracleOptions& options);
  ~Oracle();
  bool ok() const { return context_ != nullptr; }
  // Logits after each token, [tokens.size()][n_vocab]. Starts from an empty cache.
  std::vector<std::vector<float>> logits(std::span<const int32_t> tokens);
  // Likewise, after what the cache holds already.
  std::vector<std::vector<float>> more_logits(std::span<const int32_t> tokens);
  std::vector<int32_t> tokenize(const std::string& text, bool parse_special) const;

 private:
  llama_model* model_ = nullptr;
  llama_context* context_ = nullptr;
  int32_t n_pos_ = 0;
};

// Writes `from` with every weight dequantised to F32 to `to`: libllama's side of WeightsMode::kF32.
bool write_f32_gguf(const std::string& from, const std::string& to);

// KL(p || q) of the softmax distributions of two logit vectors, in nats, by a plain loop in double.
double kl_of_logits(std::span<const float> p, std::span<const float> q);
int32_t argmax(std::span<const float> logits);
double margin(std::span<const float> logits);  // first minus second logit

}  // namespace ripplekv::test
