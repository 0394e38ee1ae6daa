// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// prune() and prune_heads(), the one top-k that turns scores into keep lists, and pool_1d(), the smoothing that score
// functions share. Knows no method and no cache.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

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

// What a head keeps whatever the others' scores: its first and last rows, and its best ones up to n in all.
struct OwnRows {
  int64_t n_sink;
  int64_t n_window;
  int64_t n;
};

struct Candidate {
  float score;
  int32_t row;
  size_t head;
};

bool better(const Candidate& a, const Candidate& b) {
  if (std::isnan(a.score) != std::isnan(b.score)) return std::isnan(b.score);
  if (a.score > b.score || a.score < b.score) return a.score > b.score;
  return a.row != b.row ? a.row < b.row : a.head < b.head;
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
  RKV_CHECK(n_head_kv >= 0);
  const auto n_head = static_cast<size_t>(n_head_kv);
  return prune_heads(scores, std::vector<int64_t>(n_head, n_rows), std::vector<int64_t>(n_head, rows), protected_rows,
                     /*head_floor=*/1.0);
}

KeepList prune_heads(std::span<const float> scores, std::span<const int64_t> n_rows, std::span<const int64_t> rows,
                     const ProtectedRows& protected_rows, double head_floor) {
  RKV_CHECK(rows.size() == n_rows.size() && head_floor >= 0.0 && head_floor <= 1.0);
  RKV_CHECK(protected_rows.n_sink >= 0 && protected_rows.n_window >= 0);
  const int64_t most = n_rows.empty() ? 0 : *std::max_element(n_rows.begin(), n_rows.end());
  const auto n_score = static_cast<int64_t>(scores.size());
  RKV_CHECK(std::accumulate(n_rows.begin(), n_rows.end(), int64_t{0}) == n_score);
  int64_t n_shared = 0;  // rows for the best of any head
  for (size_t head = 0; head < n_rows.size(); ++head) {
    RKV_CHECK(rows[head] >= 1 && n_rows[head] >= 0 && n_rows[head] <= std::numeric_limits<int32_t>::max());
    n_shared += std::min(rows[head], n_score);
  }
  n_shared = std::min(n_shared, n_score);
  std::vector<OwnRows> own;
  for (size_t head = 0; head < n_rows.size(); ++head) {
    const int64_t n = n_rows[head];
    const int64_t wanted = std::min(rows[head], std::max<int64_t>(most, 1));
    const auto floor = static_cast<int64_t>(std::floor(head_floor * static_cast<double>(wanted) + 1e-9));
    const int64_t n_most = std::min(wanted, n);
    const int64_t n_window = std::min<int64_t>(protected_rows.n_window, n_most);
    const int64_t n_sink = std::min<int64_t>(protected_rows.n_sink, n_most - n_window);
    own.push_back({n_sink, n_window, std::min(std::max({floor, n_window + n_sink, int64_t{1}}), n_most)});
    n_shared -= own.back().n;
  }

  KeepList keep(n_rows.size());
  std::vector<Candidate> shared;
  for (size_t head = 0; head < keep.size(); ++head) {
    const auto s = scores.first(static_cast<size_t>(n_rows[head]));
    scores = scores.subspan(s.size());
    const auto candidate = [&](int32_t row) { return Candidate{s[static_cast<size_t>(row)], row, head}; };
    // [0, n_sink) stays; the best of the rows between sinks and window move behind it; the window follows.
    std::vector<int32_t>& list = keep[head];
    list.resize(static_cast<size_t>(n_rows[head] - own[head].n_window));
    std::iota(list.begin(), list.end(), 0);
    const auto last = list.begin() + (own[head].n - own[head].n_window);
    if (last != list.end()) {
      std::nth_element(list.begin() + own[head].n_sink, last, list.end(),
                       [&](int32_t a, int32_t b) { return better(candidate(a), candidate(b)); });
    }
    if (n_shared > 0) std::transform(last, list.end(), std::back_inserter(shared), candidate);
    list.erase(last, list.end());
  }
  if (std::cmp_less(n_shared, shared.size())) {
    std::nth_element(shared.begin(), shared.begin() + n_shared, shared.end(), better);
  }
  for (const Candidate& chosen : std::span(shared).first(static_cast<size_t>(n_shared))) {
    keep[chosen.head].push_back(chosen.row);
  }
  for (size_t head = 0; head < keep.size(); ++head) {
    std::vector<int32_t>& list = keep[head];
    std::sort(list.begin(), list.end());
    for (int64_t row = n_rows[head] - own[head].n_window; row < n_rows[head]; ++row) {
      list.push_back(static_cast<int32_t>(row));
    }
    list.shrink_to_fit();
  }
  return keep;
}

}  // namespace ripplekv
