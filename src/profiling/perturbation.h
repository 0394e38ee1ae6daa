// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The norm-adaptive nudge of RippleKV: V'[h,i,:] = V[h,i,:] + eps * ||V[h,i,:]||_2 * u[h,i,:], u a unit-norm Gaussian
// direction. Pure over host floats; the cache is read and written by the profiler.
#pragma once

#include <cstdint>
#include <span>

namespace ripplekv {

struct NudgeRows {
  int64_t begin = 0;  // rows [begin, end) are nudged
  int64_t end = 0;
};

// Rows a setting nudges: "all", or "evictable" (neither the first n_sink nor the last n_window).
NudgeRows rows_to_nudge(bool evictable_only, int64_t n_rows, int n_sink, int n_window);

// Whether u is drawn for each row, or once for all rows of a head. Independent directions average out in attention over
// many rows, as the errors of dropped rows do not.
enum class NudgeDirection { kRow, kHead };

// v: F32 [head_dim, n_rows, n_head_kv], changed in place. The direction of a row depends on the seed, the head and the
// row only, so a longer prompt with the same beginning is nudged alike.
void nudge(std::span<float> v, int head_dim, int64_t n_rows, int n_head_kv, NudgeRows rows, double eps, uint64_t seed,
           NudgeDirection direction = NudgeDirection::kRow);

}  // namespace ripplekv
