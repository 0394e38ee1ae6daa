// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// prune(), the one top-k that turns scores into keep lists, and pool_1d(), the smoothing that score functions share.
// Knows no method and no cache.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

// x[i] = combination of x[i - half .. i + half] / divisor, elements out of range being `identity`. The elements are cut
// into blocks as wide as the window, so that any window is the tail of one block and the head of the next (van Herk
// 1992, Gil and Werman 1993): O(n) for every kernel and, unlike a running sum, nothing is subtracted again, so neither
// rounding nor an infinity leaks into other windows.
template <class Combine>
void slide_window(std::span<float> x, size_t half, double identity, double divisor, Combine combine) {
  const size_t width = 2 * half + 1;
  std::vector<double> head(x.size() + 2 * half, identity);  // element j is x[j - half]
  for (size_t i = 0; i < x.size(); ++i) head[i + half] = x[i];
  std::vector<double> tail = head;
  for (size_t j = 1; j < head.size(); ++j) {
    if (j % width != 0) head[j] = combine(head[j - 1], head[j]);
  }
  for (size_t j = tail.size() - 1; j-- > 0;) {
    if ((j + 1) % width != 0) tail[j] = combine(tail[j], tail[j + 1]);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t last = i + 2 * half;  // the window is i .. last
    x[i] = static_cast<float>((i % width == 0 ? tail[i] : combine(tail[i], head[last])) / divisor);
  }
}

}  // namespace

void pool_1d(std::span<float> x, int64_t n, int kernel, Pooling pooling) {
  RKV_CHECK(kernel >= 1 && kernel % 2 == 1);
  RKV_CHECK(n >= 0 && (n == 0 ? x.empty() : x.size() % static_cast<size_t>(n) == 0));
  if (n == 0 || kernel == 1) return;
  // A wider window covers all elements as well, and its padding need not be stored to count in the mean.
  const size_t half = static_cast<size_t>(std::min<int64_t>(kernel / 2, n - 1));
  for (size_t start = 0; start < x.size(); start += static_cast<size_t>(n)) {
    const auto row = x.subspan(start, static_cast<size_t>(n));
    if (pooling == Pooling::kAverage) {
      slide_window(row, half, 0.0, kernel, [](double a, double b) { return a + b; });
    } else {
      // A NaN stays visible: prune() ranks it last, a comparison alone would lose it.
      slide_window(row, half, -std::numeric_limits<double>::infinity(), 1.0,
                   [](double a, double b) { return a > b || std::isnan(a) ? a : b; });
    }
  }
}

KeepList prune(std::span<const float> scores, int64_t n_rows, int n_head_kv, int64_t rows,
               const ProtectedRows& protected_rows) {
  RKV_CHECK(n_rows >= 0 && n_rows <= std::numeric_limits<int32_t>::max());
  RKV_CHECK(n_head_kv >= 0 && rows >= 1);
  RKV_CHECK(protected_rows.n_sink >= 0 && protected_rows.n_window >= 0);
  RKV_CHECK(scores.size() == static_cast<size_t>(n_rows) * static_cast<size_t>(n_head_kv));

  const int64_t n_keep = std::min(rows, n_rows);
  const int64_t n_window = std::min<int64_t>(protected_rows.n_window, n_keep);
  const int64_t n_sink = std::min<int64_t>(protected_rows.n_sink, n_keep - n_window);

  KeepList keep(static_cast<size_t>(n_head_kv));
  for (size_t head = 0; head < keep.size(); ++head) {
    const auto s = scores.subspan(head * static_cast<size_t>(n_rows), static_cast<size_t>(n_rows));
    const auto better = [s](int32_t a, int32_t b) {
      const float score_a = s[static_cast<size_t>(a)];
      const float score_b = s[static_cast<size_t>(b)];
      if (std::isnan(score_a) != std::isnan(score_b)) return std::isnan(score_b);
      if (score_a > score_b || score_a < score_b) return score_a > score_b;
      return a < b;
    };
    // [0, n_sink) stays; the best of the rows between sinks and window move behind it; the window follows.
    std::vector<int32_t>& list = keep[head];
    list.resize(static_cast<size_t>(n_rows - n_window));
    std::iota(list.begin(), list.end(), 0);
    const auto first = list.begin() + n_sink;
    const auto last = list.begin() + (n_keep - n_window);
    if (last != list.end()) std::nth_element(first, last, list.end(), better);
    std::sort(first, last);
    list.resize(static_cast<size_t>(n_keep - n_window));
    for (int64_t row = n_rows - n_window; row < n_rows; ++row) list.push_back(static_cast<int32_t>(row));
    list.shrink_to_fit();
  }
  return keep;
}

}  // namespace ripplekv
