// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Sums are in double: damages of 1e-6 nats must not drown in 50,000 terms.
#include "profiling/divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ripplekv/status.h"

namespace ripplekv {
namespace {

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits) sum += std::exp(static_cast<double>(x) - top);
  return top + std::log(sum);
}

}  // namespace

std::vector<float> log_softmax(std::span<const float> logits) {
  const double norm = log_sum_exp(logits);
  std::vector<float> result(logits.size());
  std::transform(logits.begin(), logits.end(), result.begin(), [&](float x) { return static_cast<float>(x - norm); });
  return result;
}

double kl_divergence(std::span<const float> logits_p, std::span<const float> logits_q) {
  RKV_CHECK(logits_p.size() == logits_q.size() && !logits_p.empty());
  // KL = log Zq - log Zp + sum p (lp - lq); the sum runs over differences, so equal logits give 0 exactly.
  const double top = *std::max_element(logits_p.begin(), logits_p.end());
  double sum = 0;
  double weighted = 0;
  for (size_t i = 0; i < logits_p.size(); ++i) {
    const double weight = std::exp(static_cast<double>(logits_p[i]) - top);
    sum += weight;
    // What p rules out counts nothing, even where q rules it out too: 0 times infinity is not a number.
    if (weight != 0) weighted += weight * (static_cast<double>(logits_p[i]) - static_cast<double>(logits_q[i]));
  }
  const double kl = log_sum_exp(logits_q) - (top + std::log(sum)) + weighted / sum;
  return kl < 0 ? 0 : kl;  // rounding; NaN stays NaN
}

double mean_kl(std::span<const float> logits_p, std::span<const float> logits_q, int n_vocab) {
  const auto n = static_cast<size_t>(n_vocab);
  RKV_CHECK(n_vocab >= 1 && logits_p.size() == logits_q.size() && !logits_p.empty() && logits_p.size() % n == 0);
  const size_t n_tokens = logits_p.size() / n;
  double sum = 0;
  for (size_t t = 0; t < n_tokens; ++t) sum += kl_divergence(logits_p.subspan(t * n, n), logits_q.subspan(t * n, n));
  return sum / static_cast<double>(n_tokens);
}

int32_t argmax(std::span<const float> values) {
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::vector<std::pair<int32_t, float>> top_k(std::span<const float> logits, int k) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto n = std::min(static_cast<size_t>(k), order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  const double norm = log_sum_exp(logits);
  std::vector<std::pair<int32_t, float>> result;
  for (size_t i = 0; i < n; ++i) {
    result.emplace_back(order[i], static_cast<float>(logits[static_cast<size_t>(order[i])] - norm));
  }
  return result;
}

}  // namespace ripplekv
