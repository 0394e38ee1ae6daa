// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

double mean_at(std::span<const double> values, std::span<const size_t> indices) {
  double sum = 0;
  for (size_t i : indices) sum += values[i];
  return sum / static_cast<double>(indices.size());
}

}  // namespace

double mean_of(std::span<const double> values) {
  RKV_CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::span<const double> values) {
  RKV_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

double spearman(std::span<const double> x, std::span<const double> y) {
  RKV_CHECK(x.size() == y.size() && !x.empty());
  const std::vector<double> a = ranks_of(x);
  const std::vector<double> b = ranks_of(y);
  const double mean = mean_of(a);  // of both: 1 .. n
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}

Interval bootstrap(size_t n_sample, const std::function<double(std::span<const size_t>)>& statistic, int n_resample,
                   uint64_t seed) {
  RKV_CHECK(n_sample > 0 && n_resample > 0);
  std::vector<size_t> indices(n_sample);
  std::iota(indices.begin(), indices.end(), 0U);
  Interval interval;
  interval.value = statistic(indices);
  Random random(seed);
  std::vector<double> drawn;
  for (int i = 0; i < n_resample; ++i) {
    for (size_t& index : indices) index = random.below(n_sample);
    drawn.push_back(statistic(indices));
  }
  std::sort(drawn.begin(), drawn.end());
  const auto quantile = [&](double q) { return drawn[static_cast<size_t>(q * static_cast<double>(n_resample - 1))]; };
  // Resamples repeat some samples and lack others: what grows with their number may lie beyond nearly all of them.
  interval.low = std::min(interval.value, quantile(0.025));
  interval.high = std::max(interval.value, quantile(0.975));
  return interval;
}

Interval bootstrap_mean(std::span<const double> values) {
  return bootstrap(values.size(), [&](std::span<const size_t> indices) { return mean_at(values, indices); });
}

Interval bootstrap_ratio(std::span<const double> x, std::span<const double> y) {
  RKV_CHECK(x.size() == y.size());
  return bootstrap(x.size(),
                   [&](std::span<const size_t> indices) { return mean_at(x, indices) / mean_at(y, indices); });
}

double sign_test(std::span<const double> x, std::span<const double> y) {
  RKV_CHECK(x.size() == y.size());
  int n_lower = 0;
  int n_differ = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    n_lower += x[i] < y[i] ? 1 : 0;
    n_differ += x[i] != y[i] ? 1 : 0;
  }
  const int n_fewer = std::min(n_lower, n_differ - n_lower);
  double tail = 0;  // P(at most n_fewer of n_differ)
  for (int k = 0; k <= n_fewer; ++k) {
    tail += std::exp(std::lgamma(n_differ + 1) - std::lgamma(k + 1) - std::lgamma(n_differ - k + 1) -
                     n_differ * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace ripplekv
