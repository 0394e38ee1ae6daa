// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Layer-major prefill: all tokens go through layer 0 in chunks, the caller sees that layer's full cache and may
// compress it, then layer 1, ... At any moment one layer at most holds a full cache; a layer is never compressed before
// its own prefill attention has run over all tokens. The same path extends a cache that already holds (ragged) rows.
// Which rows stay is decided by the caller in on_layer; this file knows no selector.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/forward.h"
#include "model/layer_view.h"
#include "ripplekv/kv_cache.h"
#include "ripplekv/status.h"

namespace ripplekv {

// The layer at hand as a selector sees it: needs: TapBits; n_query: observed by its taps, those of the last n_query
// tokens. REQUIRES: n_query is at most the request's; the layer sees all and has not been compacted.
using ViewLayer = std::function<Result<LayerView>(unsigned needs, int64_t n_query)>;

struct PrefillRequest {
  std::span<const int32_t> tokens;    // at least one
  KvCache* cache = nullptr;           // empty: layers are created; else all layers are there and are appended to
  std::span<const KvFormat> formats;  // [n_layer], for layers that are created
  // Makes layer il of an empty cache in place of an empty layer, with rows for positions before the cache's n_pos and
  // room for the tokens: how a sequence is extended while its own cache stays as it is. Null: layers begin empty.
  std::function<Result<LayerCache>(int il)> make_layer;
  int64_t extra_rows = 0;  // room in a created layer that sees all, for rows after the prompt
  int n_chunk = 512;       // tokens per graph; changes speed and scratch memory, not results

  int64_t n_query = 0;  // queries kept for on_layer: those of the last n_query tokens; at most tokens.size()
  // Called once per layer, in order, when its rows are complete. May view it, and compact or replace it. Null: nothing
  // to do.
  std::function<Status(int il, LayerCache& layer, const ViewLayer& view)> on_layer;
  std::function<void(int64_t done, int64_t total)> on_progress;  // in layer-tokens; may be null
};

// ggml aborts on an id outside the embedding. Error: "what: token id x, expected 0 to y".
Status check_token_ids(std::span<const int32_t> tokens, int n_vocab, std::string_view what);

// Returns the logits of the last token, F32 [n_vocab]; advances the cache's n_pos. Errors: cancelled, out of memory,
// what on_layer returned. After an error the cache holds an unspecified prefix of layers: drop it, or restore a
// snapshot.
Result<std::vector<float>> prefill(Forward& forward, const PrefillRequest& request);

// Scratch bytes prefill holds beside the caches and the compute buffers: activations of the prompt, query window.
int64_t prefill_scratch_bytes(const ModelConfig& config, int64_t n_tokens, int64_t n_query);

}  // namespace ripplekv
