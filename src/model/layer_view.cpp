// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "model/layer_view.h"

namespace ripplekv {

Result<LayerView> view_layer(Forward& forward, int il, const LayerCache& layer, unsigned needs, ggml_tensor* queries,
                             ggml_tensor* log_sums, int first_slot, int n_window) {
  LayerView view;
  view.taps.layer = il;
  view.taps.n_rows = layer.n_rows();
  view.taps.n_head = forward.model().config().n_head;
  view.taps.n_head_kv = layer.shape().n_head_kv;
  view.taps.n_window = n_window;
  if ((needs & kTapWindowAttention) != 0) {
    RKV_ASSIGN_OR_RETURN(view.window_attention,
                         forward.window_attention(layer, queries, log_sums, first_slot, n_window));
    view.taps.window_attention = view.window_attention;
  }
  if ((needs & kTapValueNorm) != 0) {
    RKV_ASSIGN_OR_RETURN(view.value_norm, forward.value_norm(layer));
    view.taps.value_norm = view.value_norm;
  }
  if ((needs & kTapKeys) != 0) {
    view.keys = layer.read_k();
    view.taps.keys = view.keys;
  }
  if ((needs & kTapFutureAttention) != 0) {
    RKV_ASSIGN_OR_RETURN(view.future_attention, forward.future_attention(il, layer, queries, first_slot, n_window));
    view.taps.future_attention = view.future_attention;
  }
  return view;
}

}  // namespace ripplekv
