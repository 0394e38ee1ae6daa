// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LayerView: one layer's cache as a selector sees it (taps.h). The one place that fills taps, for prefill and for the
// decode-time budget alike; what the taps are computed from is forward.h's business.
#pragma once

#include <vector>

#include "model/forward.h"
#include "ripplekv/status.h"
#include "ripplekv/taps.h"

namespace ripplekv {

// The taps and the values their spans point to; moving it keeps them valid.
struct LayerView {
  std::vector<LayerTaps> taps;  // one of all KV heads; of a ragged layer one per KV head
  std::vector<float> window_attention;
  std::vector<float> value_norm;
  std::vector<float> keys;
  std::vector<float> future_attention;
  LayerView() = default;
  LayerView(LayerView&&) = default;
  LayerView& operator=(LayerView&&) = default;
};

// needs: TapBits. queries, log_sums, first_slot, n_window: as in Forward::window_attention; queries may be null if
// `needs` has no bit of kTapsOfQueries. Errors: cancelled, out of memory.
Result<LayerView> view_layer(Forward& forward, int il, const LayerCache& layer, unsigned needs, ggml_tensor* queries,
                             ggml_tensor* log_sums, int first_slot, int n_window);

}  // namespace ripplekv
