// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Statistics of measured samples: means, medians, rank correlation and percentile bootstrap intervals. Deterministic:
// the resampling is seeded. Pure functions; what the numbers mean is the callers' business.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ripplekv {

struct Interval {
  double value = 0;
  double low = 0;  // 2.5% and 97.5% quantiles of the bootstrap, and never beyond the value
  double high = 0;
};

// REQUIRES of all: at least one value; of pairs: equally many.
double mean_of(std::span<const double> values);
double median_of(std::span<const double> values);

// 1-based, equal values share the mean of their ranks.
std::vector<double> ranks_of(std::span<const double> values);
// Spearman's rho (Pearson's correlation of the ranks); 0 where one side is constant.
double spearman(std::span<const double> x, std::span<const double> y);

// `statistic` of the samples' indices, and over resamples of them with replacement.
Interval bootstrap(size_t n_sample, const std::function<double(std::span<const size_t>)>& statistic,
                   int n_resample = 2000, uint64_t seed = 0);
Interval bootstrap_mean(std::span<const double> values);
// mean(x) / mean(y) over the same samples; infinite where mean(y) is 0.
Interval bootstrap_ratio(std::span<const double> x, std::span<const double> y);

// Two-sided sign test of paired values: the probability of at least so uneven a split of the pairs that differ, if
// either side were as likely to be the lower one. 1 if none differs.
double sign_test(std::span<const double> x, std::span<const double> y);

}  // namespace ripplekv
