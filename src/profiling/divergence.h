// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// How far one next-token distribution is from another. Pure functions over logits; natural logarithms, nats.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ripplekv {

// log softmax of logits. [n_vocab]
std::vector<float> log_softmax(std::span<const float> logits);

// KL(p || q) of two distributions given as logits. Never negative, exactly 0 for equal logits, infinite where q rules
// out (-inf) what p allows, NaN for NaN. REQUIRES: equal sizes, p allows some token.
double kl_divergence(std::span<const float> logits_p, std::span<const float> logits_q);

// Mean over tokens; both F32 [n_vocab, n_tokens].
double mean_kl(std::span<const float> logits_p, std::span<const float> logits_q, int n_vocab);

// Index of the largest; ties to the lower.
int32_t argmax(std::span<const float> values);

// The k likeliest tokens with their log-probabilities, likeliest first.
std::vector<std::pair<int32_t, float>> top_k(std::span<const float> logits, int k);

}  // namespace ripplekv
