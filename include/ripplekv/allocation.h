// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Allocation: HOW MANY rows each compressible layer keeps. Pure functions: no ggml, no files, no threads.
// An allocator makes length-free weights once per model (make_weights); rows_for() turns weights into whole rows
// for a prompt, in microseconds and without evaluating the model. Units: rows per layer; B is their sum.
// Invariants, kept in one place (rows_for): sum == B exactly, floor <= rows <= n_prompt, layers in model order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

// A global budget as the user says it: 10%, 512 (mean rows per compressible layer) or 256MiB (the whole cache).
struct KvBudget {
  enum class Kind { kFraction, kRowsPerLayer, kBytes };
  Kind kind = Kind::kFraction;
  double value = 1.0;  // fraction in (0, 1], rows >= 1, or bytes >= 1

  std::string to_string() const;  // parses back to the same budget
};

// "10%", "0.5%", "512", "8k" (rows; k, m, g of 1024), "256MiB", "2GiB", "100MB", "4096B"; units in any case.
// Errors: empty, anything but digits, a point and a unit, zero, > 100%, under one row or byte.
Result<KvBudget> parse_kv_budget(std::string_view text);

// B in rows for a prompt, rounded down. bytes_per_row: K, V and index bytes of one row of one layer, mean over layers.
// More than the whole cache is the whole cache. A product within 1e-12 of a whole number counts as whole.
// REQUIRES: a budget as parse_kv_budget() makes it, 0 <= n_prompt < 2^31, bytes_per_row > 0 for kBytes.
int64_t total_rows(const KvBudget& budget, int64_t n_prompt, int n_layer, double bytes_per_row);

// What an allocation fixes for all prompt lengths: layer l's target is
//   base_rows + weight_l * (B - n_layer * base_rows) / sum(weights).
struct AllocationWeights {
  std::vector<double> weights;  // [n_layer], finite, >= 0, sum > 0
  double base_rows = 0;         // rows every layer gets before the weights apply (pyramid: the window)
};

// Monotone transform of sensitivities before normalisation. kLinear is the published one; kLog is
// log(s / max s + 1e-6), finite for s = 0; kRank gives equal sensitivities the mean of their ranks.
enum class Transform { kLinear, kSqrt, kLog, kRank };
Result<Transform> parse_transform(std::string_view name);
std::string_view to_string(Transform transform);

struct RippleOptions {
  double r = 4.0;      // disparity: multiplier of the most sensitive layer before clipping; >= 1
  double gamma = 4.0;  // multipliers are clipped to [1 / gamma, gamma]; >= 1
  Transform transform = Transform::kLinear;
  bool operator==(const RippleOptions&) const = default;
};

// What `ripple` is given. The measured one is the method; the others are the paper's ablations, and controls: a
// layer's own response to the nudge, its index, seeded random numbers (must not help).
enum class Signal { kSensitivity, kLocal, kIndex, kRandom };
Result<Signal> parse_signal(std::string_view name);
std::string_view to_string(Signal signal);

struct PyramidOptions {
  double beta = 20.0;  // PyramidKV: min = mean / beta on the evictable rows; > 1
  int window = 32;     // rows of the observation window, outside the pyramid
  bool operator==(const PyramidOptions&) const = default;
};

AllocationWeights uniform_weights(int n_layer);

// PyramidKV (Cai et al. 2024): linear over depth on the evictable rows, first layer the most. n_layer == 1: all.
Result<AllocationWeights> pyramid_weights(int n_layer, const PyramidOptions& options);

// RippleKV: x = min-max normalised (transformed) sensitivities, w = clip(r^x, 1/gamma, gamma). All equal: uniform.
// Errors: empty, NaN or infinite (names the layer), negative, r < 1 or gamma < 1.
Result<AllocationWeights> ripple_weights(std::span<const double> sensitivity, const RippleOptions& options);

// Damage of really compressing one layer alone, as a profile measured it at several kept fractions.
struct DamageCurves {
  std::vector<double> kept;                 // ascending, in (0, 1)
  std::vector<std::vector<double>> damage;  // [kept][n_layer] nats
};

// Shares that minimise the summed damage at a mean kept fraction: curves interpolated as powers of the rows dropped per
// row kept, made convex, then spent greedily by marginal gain. They hold for that budget only: a small one goes to
// other layers than a large one. Errors: no curves, sizes that disagree, values that are not finite or negative.
Result<AllocationWeights> curves_weights(const DamageCurves& curves, double kept_fraction);
// What the same curves say of rows that were allotted: the sum of the layers' damages. Real damage differs from it by
// what layers do to each other. kept: [n_layer] fractions. Errors: as curves_weights().
Result<double> predicted_damage(const DamageCurves& curves, std::span<const double> kept);

// Whole rows for a prompt: targets from the weights, clamped to [floor, n_prompt]; what a clamp frees or takes is
// redistributed over the layers still free (water-filling); whole numbers by largest remainder (ties: lower layer).
// n_prompt <= floor: every layer keeps n_prompt rows. B > n_layer * n_prompt: every layer keeps all.
// Base rows count up to B / n_layer. Weight 0 gets the base rows or floor, and more only once all others are full.
// Errors: B < n_layer * floor names the smallest budget that fits, in rows and as a fraction kept; weights that break
// the contract above; negative numbers; n_prompt >= 2^31.
Result<std::vector<int64_t>> rows_for(const AllocationWeights& weights, int64_t total_rows, int64_t rows_floor,
                                      int64_t n_prompt);

struct AllocatorInfo {
  std::string_view name;
  std::string_view summary;  // one line, with the paper
  bool needs_profile = false;
};

// uniform, pyramid, ripple, curves, head_curves; `file` (a budgets.json) is read by artefact.h and ends in the same
// rows_for().
std::span<const AllocatorInfo> allocator_registry();
bool needs_profile(std::string_view allocator);  // false for one that does not exist
// curves, head_curves: their shares hold for one budget, and they can choose kv formats.
bool goes_by_damage(std::string_view allocator);

}  // namespace ripplekv
