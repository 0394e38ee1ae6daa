// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "model/layer_view.h"

namespace ripplekv {

Result<LayerView> view_layer(Forward& forward, int il, const LayerCache& layer, unsigned needs, ggml_tensor* queries,
                             ggml_tensor* log_sums, int first_slot, int n_window) {
  LayerView view;
  if ((needs & kTapWindowAttention) != 0) {
    RKV_ASSIGN_OR_RETURN(view.window_attention,
                         forward.window_attention(layer, queries, log_sums, first_slot, n_window));
  }
  if ((needs & kTapValueNorm) != 0) {
    RKV_ASSIGN_OR_RETURN(view.value_norm, forward.value_norm(layer));
  }
  if ((needs & kTapKeys) != 0) view.keys = layer.read_k();
  if ((needs & kTapFutureAttention) != 0) {
    RKV_ASSIGN_OR_RETURN(view.future_attention, forward.future_attention(il, layer, queries, first_slot, n_window));
  }
  // A tap of a head lies behind those of the heads before it.
  const int n_part = layer.ragged() ? layer.shape().n_head_kv : 1;
  const int64_t n_all = layer.n_rows() * layer.shape().n_head_kv;
  int64_t first = 0;
  for (int part = 0; part < n_part; ++part) {
    LayerTaps& taps = view.taps.emplace_back();
    taps.layer = il;
    taps.n_rows = layer.n_rows(part);
    taps.n_head = forward.model().config().n_head / n_part;
    taps.n_head_kv = layer.shape().n_head_kv / n_part;
    taps.n_window = n_window;
    const int64_t n = taps.n_rows * taps.n_head_kv;
    const auto of_part = [&](const std::vector<float>& values) {
      const int64_t per_row = static_cast<int64_t>(values.size()) / n_all;
      return std::span(values).subspan(static_cast<size_t>(first * per_row), static_cast<size_t>(n * per_row));
    };
    taps.window_attention = of_part(view.window_attention);
    taps.value_norm = of_part(view.value_norm);
    taps.keys = of_part(view.keys);
    taps.future_attention = of_part(view.future_attention);
    first += n;
  }
  return view;
}

}  // namespace ripplekv
