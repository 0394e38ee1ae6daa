// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Taps: what a selector may see of one layer after its prefill. The graph computes only the taps asked for, reduces
// them on the device and hands them over as host spans, in ggml order (first dimension contiguous).
// The spans belong to whoever filled them and live for the length of one call.
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace ripplekv
