// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// rows_for(): weights -> whole rows of one prompt. The one place that keeps the invariants sum == B and
// floor <= rows <= n_prompt, whatever allocator made the weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

Status check_arguments(const AllocationWeights& weights, int64_t total_rows, int64_t rows_floor, int64_t n_prompt) {
  if (weights.weights.empty()) return invalid_argument("allocation: got no weights, expected one per layer");
  for (size_t layer = 0; layer < weights.weights.size(); ++layer) {
    const double weight = weights.weights[layer];
    if (!std::isfinite(weight) || weight < 0) {
      return invalid_argument(
          fmt::format("allocation: got weight {} in layer {}, expected a finite number of 0 or more", weight, layer));
    }
  }
  if (*std::max_element(weights.weights.begin(), weights.weights.end()) == 0) {
    return invalid_argument("allocation: got weight 0 in every layer, expected at least one above 0");
  }
  if (!std::isfinite(weights.base_rows) || weights.base_rows < 0) {
    return invalid_argument(fmt::format("allocation: got {} base rows per layer, expected a finite number of 0 or more",
                                        weights.base_rows));
  }
  // Cache rows are counted in 32 bits (KeepList); below that, doubles hold all sums of rows well under one row apart.
  constexpr int64_t kRowsMax = std::numeric_limits<int32_t>::max();
  if (n_prompt < 0 || n_prompt > kRowsMax) {
    return invalid_argument(fmt::format("allocation: got a prompt of {} rows, expected 0 to {}", n_prompt, kRowsMax));
  }
  if (total_rows < 0) return invalid_argument(fmt::format("budget: got {} rows, expected 0 or more", total_rows));
  if (rows_floor < 0) {
    return invalid_argument(fmt::format("allocation: got a floor of {} rows, expected 0 or more", rows_floor));
  }
  return ok_status();
}

Status too_small(int64_t total_rows, int64_t n_layer, int64_t rows_floor, int64_t n_prompt) {
  // Two significant digits or more, rounded up: the percentage has to fit when it is typed in.
  const double percent = 100.0 * static_cast<double>(rows_floor) / static_cast<double>(n_prompt);
  const int n_decimal = std::max(1, 1 - static_cast<int>(std::floor(std::log10(percent))));
  const double unit = std::pow(10.0, -n_decimal);
  const double percent_up = std::ceil(percent / unit * (1 - 1e-12)) * unit;
  return invalid_argument(fmt::format(
      "budget: {} rows in {} layers is {:.6g} rows per layer, expected at least {} (protected rows and a margin); the "
      "smallest budget that fits is {} rows in all ({} per layer, {:.{}f}% of {})",
      total_rows, n_layer, static_cast<double>(total_rows) / static_cast<double>(n_layer), rows_floor,
      rows_floor * n_layer, rows_floor, percent_up, n_decimal, n_prompt));
}

// Real-valued targets with sum B and floor <= target <= n_prompt: clamp(base + weight * level), where `level` is the
// one that gives the sum. Each pass solves for the level of the free layers, then fixes those that are sure to end at
// a bound: if the clamps add more rows than they take, the level has to sink and who is under the floor stays there;
// if they take more, it has to rise and who is over n_prompt stays there. A pass fixes at least one layer or ends.
// REQUIRES: n_layer * floor <= B < n_layer * n_prompt, floor < n_prompt, max(weights) > 0.
std::vector<double> water_fill(const AllocationWeights& weights, int64_t total_rows, int64_t rows_floor,
                               int64_t n_prompt) {
  const size_t n_layer = weights.weights.size();
  const double low = static_cast<double>(rows_floor);
  const double high = static_cast<double>(n_prompt);
  const double weight_max = *std::max_element(weights.weights.begin(), weights.weights.end());
  // With less than the base rows for all, the level would turn negative and take most from the heaviest layer.
  const double base = std::min(weights.base_rows, static_cast<double>(total_rows) / static_cast<double>(n_layer));

  std::vector<double> target(n_layer);
  std::vector<size_t> free(n_layer);
  std::iota(free.begin(), free.end(), size_t{0});
  int64_t rows_free = total_rows;  // B less the layers that are fixed
  while (!free.empty()) {
    const double rows_above_base = static_cast<double>(rows_free) - base * static_cast<double>(free.size());
    double weight_sum = 0;
    for (size_t layer : free) weight_sum += weights.weights[layer] / weight_max;
    double added = 0;  // rows that the clamps add, less those that they take
    bool clamped = false;
    for (size_t layer : free) {
      // Only layers of weight 0 left, all others being full: they share alike.
      const double share =
          weight_sum > 0 ? weights.weights[layer] / weight_max / weight_sum : 1.0 / static_cast<double>(free.size());
      target[layer] = base + share * rows_above_base;
      const double bounded = std::clamp(target[layer], low, high);
      added += bounded - target[layer];
      clamped |= bounded != target[layer];
    }
    if (!clamped) break;
    std::erase_if(free, [&](size_t layer) {
      const bool fixed_low = added >= 0 && target[layer] < low;
      const bool fixed_high = added <= 0 && target[layer] > high;
      if (fixed_low) target[layer] = low;
      if (fixed_high) target[layer] = high;
      if (fixed_low) rows_free -= rows_floor;
      if (fixed_high) rows_free -= n_prompt;
      return fixed_low || fixed_high;
    });
  }
  return target;
}

// Whole numbers with the same sum by largest remainder, ties to the lower layer. Targets at a bound are whole.
std::vector<int64_t> round_to_sum(std::vector<double> target, int64_t total_rows) {
  // Weights and the same weights in another unit differ in the last bits; on a grid of 2^-20 rows they do not, so
  // that equal remainders count as equal.
  for (double& rows : target) rows = std::round(rows * 0x1p20) * 0x1p-20;
  std::vector<int64_t> result(target.size());
  std::vector<size_t> order;
  int64_t rows_left = total_rows;
  for (size_t layer = 0; layer < target.size(); ++layer) {
    result[layer] = static_cast<int64_t>(target[layer]);
    target[layer] -= static_cast<double>(result[layer]);
    rows_left -= result[layer];
    if (target[layer] > 0) order.push_back(layer);
  }
  RKV_CHECK(rows_left >= 0 && rows_left <= static_cast<int64_t>(order.size()));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return target[a] > target[b]; });
  order.resize(static_cast<size_t>(rows_left));
  for (size_t layer : order) ++result[layer];
  return result;
}

}  // namespace

Result<std::vector<int64_t>> rows_for(const AllocationWeights& weights, int64_t total_rows, int64_t rows_floor,
                                      int64_t n_prompt) {
  RKV_RETURN_IF_ERROR(check_arguments(weights, total_rows, rows_floor, n_prompt));
  const auto n_layer = static_cast<int64_t>(weights.weights.size());
  if (n_prompt <= rows_floor || total_rows / n_layer >= n_prompt) {
    return std::vector<int64_t>(weights.weights.size(), n_prompt);
  }
  if (total_rows / n_layer < rows_floor) return too_small(total_rows, n_layer, rows_floor, n_prompt);
  return round_to_sum(water_fill(weights, total_rows, rows_floor, n_prompt), total_rows);
}

}  // namespace ripplekv
