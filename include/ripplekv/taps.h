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
  kTapKeys = 1u << 2,
  kTapFutureAttention = 1u << 3,
  kTapsOfQueries = kTapWindowAttention | kTapFutureAttention,  // those that observe queries
};

// One layer as a selector sees it.
struct LayerTaps {
  int layer = 0;       // index of the layer in the model (seeds `random`)
  int64_t n_rows = 0;  // rows in the cache
  int n_head = 0;      // query heads
  int n_head_kv = 0;   // KV heads; n_head is a multiple of it, query head q reads KV head q / (n_head / n_head_kv)
  int n_window = 0;    // queries observed: those of the last n_window rows
  // Each of these is empty if it was not asked for.
  std::span<const float> window_attention;  // F32 [n_rows, n_head]: softmax attention, mean over the queries observed
  std::span<const float> value_norm;        // F32 [n_rows, n_head_kv]: L2 norm of V
  std::span<const float> keys;              // F32 [head_dim, n_rows, n_head_kv]: K as cached, rotated
  // F32 [n_rows, n_head]: log of the attention weight, before normalisation, that queries of the coming positions are
  // expected to give, if they are distributed as the queries observed (Devoto et al. 2025, "Expected Attention").
  std::span<const float> future_attention;
};

}  // namespace ripplekv
