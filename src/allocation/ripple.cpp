// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `ripple`: rows after sensitivity. x = min-max normalised (transformed) sensitivities, weight = r^x clipped to
// [1 / gamma, gamma]. Measuring sensitivities is profiling's business, clamping rows that of rows_for().
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/statistics.h"
#include "base/text.h"
#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

constexpr std::array<std::pair<Transform, std::string_view>, 4> kTransforms = {{
    {Transform::kLinear, "linear"},
    {Transform::kSqrt, "sqrt"},
    {Transform::kLog, "log"},
    {Transform::kRank, "rank"},
}};

constexpr std::array<std::pair<Signal, std::string_view>, 4> kSignals = {{
    {Signal::kSensitivity, "sensitivity"},
    {Signal::kLocal, "local"},
    {Signal::kIndex, "index"},
    {Signal::kRandom, "random"},
}};

// Added to sensitivities relative to their maximum before the logarithm: layers that tolerate a nudge more than six
// decades better than the worst one are below what a profile resolves, and a 0 must not push all others together.
constexpr double kLogFloor = 1e-6;

// values: relative to their maximum, in [0, 1].
std::vector<double> transformed(std::vector<double> values, Transform transform) {
  if (transform == Transform::kRank) return ranks_of(values);
  for (double& value : values) {
    if (transform == Transform::kSqrt) value = std::sqrt(value);
    if (transform == Transform::kLog) value = std::log(value + kLogFloor);
  }
  return values;
}

}  // namespace

Result<Transform> parse_transform(std::string_view name) {
  for (const auto& [transform, transform_name] : kTransforms) {
    if (name == transform_name) return transform;
  }
  return invalid_argument(fmt::format("transform: got {}, expected linear, sqrt, log or rank", quoted(name)));
}

std::string_view to_string(Transform transform) {
  const auto entry =
      std::find_if(kTransforms.begin(), kTransforms.end(), [&](const auto& e) { return e.first == transform; });
  RKV_CHECK(entry != kTransforms.end());
  return entry->second;
}

Result<Signal> parse_signal(std::string_view name) {
  for (const auto& [signal, signal_name] : kSignals) {
    if (name == signal_name) return signal;
  }
  return invalid_argument(fmt::format("signal: got {}, expected sensitivity, local, index or random", quoted(name)));
}

std::string_view to_string(Signal signal) {
  const auto entry = std::find_if(kSignals.begin(), kSignals.end(), [&](const auto& e) { return e.first == signal; });
  RKV_CHECK(entry != kSignals.end());
  return entry->second;
}

Result<AllocationWeights> ripple_weights(std::span<const double> sensitivity, const RippleOptions& options) {
  if (!std::isfinite(options.r) || options.r < 1) {
    return invalid_argument(fmt::format("ripple: got r {}, expected a finite number of at least 1", options.r));
  }
  if (!std::isfinite(options.gamma) || options.gamma < 1) {
    return invalid_argument(fmt::format("ripple: got gamma {}, expected a finite number of at least 1", options.gamma));
  }
  if (sensitivity.empty()) return invalid_argument("ripple: got no sensitivities, expected one per layer");
  for (size_t layer = 0; layer < sensitivity.size(); ++layer) {
    if (!std::isfinite(sensitivity[layer]) || sensitivity[layer] < 0) {
      return invalid_argument(fmt::format(
          "ripple: got sensitivity {} in layer {}, expected a finite number of 0 or more", sensitivity[layer], layer));
    }
  }

  AllocationWeights result = uniform_weights(static_cast<int>(sensitivity.size()));
  const double sensitivity_max = *std::max_element(sensitivity.begin(), sensitivity.end());
  if (sensitivity_max == 0) return result;
  std::vector<double> x(sensitivity.begin(), sensitivity.end());
  for (double& value : x) value /= sensitivity_max;  // the weights do not depend on the unit of the sensitivities
  x = transformed(std::move(x), options.transform);
  const auto [x_min, x_max] = std::minmax_element(x.begin(), x.end());
  const double low = *x_min;
  const double high = *x_max;
  if (low == high) return result;
  for (size_t layer = 0; layer < x.size(); ++layer) {
    const double multiplier = std::pow(options.r, (x[layer] - low) / (high - low));
    result.weights[layer] = std::clamp(multiplier, 1 / options.gamma, options.gamma);
  }
  return result;
}

}  // namespace ripplekv
