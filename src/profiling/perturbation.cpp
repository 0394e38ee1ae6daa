// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One generator per head and row: reproducible whatever the order.
#include "profiling/perturbation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "ripplekv/status.h"

namespace ripplekv {

NudgeRows rows_to_nudge(bool evictable_only, int64_t n_rows, int n_sink, int n_window) {
  if (!evictable_only) return {0, n_rows};
  const int64_t begin = std::min<int64_t>(n_sink, n_rows);
  return {begin, std::max<int64_t>(begin, n_rows - n_window)};
}

void nudge(std::span<float> v, int head_dim, int64_t n_rows, int n_head_kv, NudgeRows rows, double eps, uint64_t seed,
           NudgeDirection of) {
  RKV_CHECK(static_cast<int64_t>(v.size()) == n_rows * n_head_kv * head_dim);
  RKV_CHECK(rows.begin >= 0 && rows.end <= n_rows);
  const auto n = static_cast<size_t>(head_dim);
  std::vector<double> direction(n);
  for (int head = 0; head < n_head_kv; ++head) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      float* x = v.data() + (head * n_rows + row) * head_dim;
      Random random(of == NudgeDirection::kRow ? seed_from(seed, head, row) : seed_from(seed, head));
      double length = 0;
      double norm = 0;
      for (size_t i = 0; i < n; ++i) {
        direction[i] = random.gaussian();
        length += direction[i] * direction[i];
        norm += static_cast<double>(x[i]) * x[i];
      }
      const double scale = eps * std::sqrt(norm) / std::sqrt(length);
      for (size_t i = 0; i < n; ++i) x[i] += static_cast<float>(scale * direction[i]);
    }
  }
}

}  // namespace ripplekv
