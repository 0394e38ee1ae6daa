// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Sampler: the next token from logits, through libllama's sampler chain in llama.cpp's default order (repetition
// penalty, top-k, top-p, min-p, temperature). Holds the random state and the last tokens of one sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/vocab.h"

struct llama_sampler;

namespace ripplekv {

struct SamplingOptions {
  int n_vocab = 0;  // of the model
  uint32_t seed = 0;
  double temperature = 0.8;     // 0: greedy, the likeliest token
  int top_k = 40;               // 0: off
  double top_p = 0.95;          // 1: off
  double min_p = 0.05;          // 0: off
  double repeat_penalty = 1.0;  // 1: off
  int repeat_last_n = 64;       // tokens that the penalty remembers: 4 bytes each; 0: off
};

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Tokens that the penalty should know of, e.g. the prompt.
  void accept(std::span<const int32_t> tokens);
  // Picks a token and accepts it. logits: F32 [n_vocab].
  int32_t sample(std::span<const float> logits);

 private:
  llama_sampler* chain_;
};

}  // namespace ripplekv
