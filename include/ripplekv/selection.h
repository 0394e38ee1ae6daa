// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Selection: WHICH rows of one layer stay. Pure functions over host spans; no ggml, no files, no threads of its own.
// A selector only scores rows; prune() alone turns scores into a keep list, so every method shares one top-k.
// How many rows a layer keeps is the allocator's business (allocation.h), what a row weighs in bytes the cache's.
// Spans are in ggml order (first dimension contiguous); the caller owns them for the length of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/keep_list.h"
#include "ripplekv/status.h"
#include "ripplekv/taps.h"

namespace ripplekv {

// Rows that prune() never drops: the first `n_sink` and the last `n_window`.
struct ProtectedRows {
  int n_sink = 0;
  int n_window = 0;
  int64_t count() const { return int64_t{n_sink} + n_window; }
};

enum class Pooling { kAverage, kMax };
enum class GroupReduce { kMean, kMax };  // query heads of one KV head -> one score

constexpr int kWindowMax = 1 << 20;  // of SelectorOptions::window: queries are kept for each of its rows

// Settings of all selectors; each method documents which it reads.
struct SelectorOptions {
  int window = 32;  // W: last prompt rows, observed and protected; at most kWindowMax
  int kernel = 5;   // pooling width, odd; 1 = no pooling
  Pooling pooling = Pooling::kAverage;
  GroupReduce group = GroupReduce::kMean;
  bool value_norm = false;  // weight scores by ||V|| of the row
  int n_sink = 4;           // first rows kept by the methods that keep sinks, and by sinks+<name>
  uint64_t seed = 0;        // `random`
  double head_floor = 1.0;  // share of a layer's rows that each of its KV heads keeps at least; 1: all equally many
  bool operator==(const SelectorOptions&) const = default;
};

class Selector {
 public:
  virtual ~Selector() = default;
  virtual std::string_view name() const = 0;
  virtual unsigned needs() const = 0;  // TapBits
  // Queries it observes through its taps: those of the last so many of n_tokens; 0 to n_tokens.
  virtual int64_t n_query(int64_t n_tokens) const = 0;
  virtual ProtectedRows protected_rows() const = 0;  // for a prompt at least that long; prune() clamps
  // F32 [n_rows, n_head_kv], higher stays. Scores of protected rows are ignored. Never NaN for finite taps.
  // REQUIRES: the taps named by needs() are filled with the sizes given in LayerTaps.
  virtual std::vector<float> score(const LayerTaps& taps) const = 0;
};

struct SelectorInfo {
  std::string_view name;
  std::string_view summary;  // one line, with the paper
};

// All methods, in the order help prints them.
std::span<const SelectorInfo> selector_registry();

// `sinks+<name>` is the method with the first n_sink and the last `window` rows protected besides.
// Errors: unknown name (lists what exists), window < 1 or > kWindowMax, even or non-positive kernel, negative sinks, a
// head_floor outside 0 to 1, or below 1 for a method whose scores do not compare between heads.
Result<std::unique_ptr<Selector>> make_selector(std::string_view name, const SelectorOptions& options);

// The one top-k: keeps protected rows and the best-scoring others until each head holds `rows`. Ties go to the
// lower row, NaN ranks last: the result depends on nothing but its arguments. O(n_rows) per head on average.
// rows >= n_rows keeps all. More protected rows than `rows`: the last rows of the window stay, then the first sinks.
// REQUIRES: scores.size() == n_rows * n_head_kv, n_rows < 2^31, rows >= 1.
KeepList prune(std::span<const float> scores, int64_t n_rows, int n_head_kv, int64_t rows,
               const ProtectedRows& protected_rows);

// As prune(), of heads that may have other numbers of rows than each other, that are to keep rows[head] each, and that
// may share the sum of these by their scores (head-adaptive counts: Feng et al. 2024, "Ada-KV"). Every head keeps its
// protected rows, clamped as above, and its best ones up to head_floor * rows[head] in all, rounded down; the best of
// all other rows, whichever their head, make up the sum, which is exact as far as there are rows. Ties go to the lower
// row, then to the lower head. A head_floor of 1 gives every head its count, and one that has too few what it has.
// O(rows of all heads) on average. scores: F32, n_rows[0] of head 0, then n_rows[1] of head 1, ...
// REQUIRES: as prune(), for each head; rows.size() == n_rows.size(); 0 <= head_floor <= 1.
KeepList prune_heads(std::span<const float> scores, std::span<const int64_t> n_rows, std::span<const int64_t> rows,
                     const ProtectedRows& protected_rows, double head_floor);

// Scores for prune_heads() of a layer seen in parts, each of which has some of its heads in their order.
std::vector<float> score_parts(const Selector& selector, std::span<const LayerTaps> parts);

// 1-D pooling of each of `n_head_kv` score rows with zero padding that counts in the mean (as torch's avg_pool1d).
// x: F32 [n, n_head_kv], pooled in place. kMax: padding never wins. O(n) for any kernel. REQUIRES: kernel odd, >= 1.
void pool_1d(std::span<float> x, int64_t n, int kernel, Pooling pooling);

}  // namespace ripplekv
