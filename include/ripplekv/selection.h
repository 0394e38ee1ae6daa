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

#include "ripplekv/status.h"

namespace ripplekv {

// What a selector needs to see of a layer. The graph computes only what is asked for.
enum TapBits : unsigned {
  kTapNone = 0,
  kTapWindowAttention = 1u << 0,
  kTapValueNorm = 1u << 1,
};

// One layer as a selector sees it.
struct LayerTaps {
  int layer = 0;       // index of the layer in the model (seeds `random`)
  int64_t n_rows = 0;  // rows in the cache
  int n_head = 0;      // query heads
  int n_head_kv = 0;   // KV heads; n_head is a multiple of it, query head q reads KV head q / (n_head / n_head_kv)
  int n_window = 0;    // queries the window attention was averaged over (<= n_rows)
  std::span<const float> window_attention;  // F32 [n_rows, n_head]: softmax attention, mean over the window; or empty
  std::span<const float> value_norm;        // F32 [n_rows, n_head_kv]: L2 norm of V; or empty
};

// Rows that prune() never drops: the first `n_sink` and the last `n_window`.
struct ProtectedRows {
  int n_sink = 0;
  int n_window = 0;
  int64_t count() const { return int64_t{n_sink} + n_window; }
};

// keep[kv head] = sorted, unique row indices; the same count for every head.
using KeepList = std::vector<std::vector<int32_t>>;

enum class Pooling { kAverage, kMax };
enum class GroupReduce { kMean, kMax };  // query heads of one KV head -> one score

// Settings of all selectors; each method documents which it reads.
struct SelectorOptions {
  int window = 32;  // W: last prompt rows, observed and protected
  int kernel = 5;   // pooling width, odd; 1 = no pooling
  Pooling pooling = Pooling::kAverage;
  GroupReduce group = GroupReduce::kMean;
  bool value_norm = false;  // weight scores by ||V|| of the row
  int n_sink = 4;           // first rows kept by the methods that keep sinks
  uint64_t seed = 0;        // `random`
  bool operator==(const SelectorOptions&) const = default;
};

class Selector {
 public:
  virtual ~Selector() = default;
  virtual std::string_view name() const = 0;
  virtual unsigned needs() const = 0;                // TapBits
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

// Errors: unknown name (lists what exists), window < 1, even or non-positive kernel, negative sinks.
Result<std::unique_ptr<Selector>> make_selector(std::string_view name, const SelectorOptions& options);

// The one top-k: keeps protected rows and the best-scoring others until each head holds `rows`. Ties go to the
// lower row, NaN ranks last: the result depends on nothing but its arguments. O(n_rows) per head on average.
// rows >= n_rows keeps all; protected rows that exceed `rows` are cut to the last window rows first, then sinks.
// REQUIRES: scores.size() == n_rows * n_head_kv, rows >= 1.
KeepList prune(std::span<const float> scores, int64_t n_rows, int n_head_kv, int64_t rows,
               const ProtectedRows& protected_rows);

// 1-D pooling of each of `n_head_kv` score rows with zero padding that counts in the mean (as torch's avg_pool1d).
// x: F32 [n, n_head_kv], pooled in place. REQUIRES: kernel odd.
void pool_1d(std::span<float> x, int64_t n, int kernel, Pooling pooling);

}  // namespace ripplekv
