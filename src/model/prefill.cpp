// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The chunk loop of prefill.h.
#include "model/prefill.h"

#include <fmt/format.h>
#include <ggml.h>

#include <algorithm>

namespace ripplekv {

int64_t prefill_scratch_bytes(const ModelConfig& config, int64_t n_tokens, int64_t n_query) {
  return static_cast<int64_t>(sizeof(float)) *
         (config.n_embd * n_tokens + n_query * config.n_head * (config.head_dim + 1));
}

Status check_token_ids(std::span<const int32_t> tokens, int n_vocab, std::string_view what) {
  for (int32_t token : tokens) {
    if (token < 0 || token >= n_vocab) {
      return invalid_argument(fmt::format("{}: token id {}, expected 0 to {}", what, token, n_vocab - 1));
    }
  }
  return ok_status();
}

Result<std::vector<float>> prefill(Forward& forward, const PrefillRequest& request) {
  const Model& model = forward.model();
  const ModelConfig& config = model.config();
  KvCache& cache = *request.cache;
  const auto n_tokens = static_cast<int64_t>(request.tokens.size());
  RKV_CHECK(n_tokens >= 1 && request.n_chunk >= 1);
  const bool create = cache.n_layer() == 0;
  RKV_CHECK(create || cache.n_layer() == config.n_layer);
  const int64_t pos0 = cache.n_pos();
  const auto n_window = static_cast<int>(request.n_query);
  const bool wants_queries = n_window > 0;
  RKV_CHECK(request.n_query <= n_tokens);

  const TensorSpec specs[] = {{GGML_TYPE_F32, {config.n_embd, n_tokens, 1, 1}},
                              {GGML_TYPE_F32, {config.head_dim, config.n_head, n_window, 1}},
                              {GGML_TYPE_F32, {n_window, config.n_head, 1, 1}}};
  RKV_ASSIGN_OR_RETURN(const auto scratch, forward.scratch(std::span(specs, wants_queries ? 3 : 1)));
  ggml_tensor* hidden = scratch->tensor(0);
  ggml_tensor* queries = wants_queries ? scratch->tensor(1) : nullptr;
  ggml_tensor* log_sums = wants_queries ? scratch->tensor(2) : nullptr;

  std::vector<float> logits;
  for (int il = 0; il < config.n_layer; ++il) {
    if (create) {
      auto layer = request.make_layer
                       ? request.make_layer(il)
                       : LayerCache::create(model.store().layer_buffer_type(il), config.layer_shape(),
                                            request.formats[static_cast<size_t>(il)],
                                            n_tokens + (config.window_of(il) > 0 ? 0 : request.extra_rows));
      if (!layer.ok()) return layer.status();
      cache.push_layer(std::move(*layer));
    }
    LayerCache& layer = cache.layer(il);
    RKV_RETURN_IF_ERROR(layer.reserve_more(n_tokens));  // once, not per chunk
    for (int64_t first = 0; first < n_tokens; first += request.n_chunk) {
      const int64_t n = std::min<int64_t>(request.n_chunk, n_tokens - first);
      ForwardBatch batch;
      batch.segments = {{&cache, n, pos0 + first}};
      batch.layer_begin = il;
      batch.layer_end = il + 1;
      if (il == 0) {
        batch.tokens = request.tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(n));
      } else {
        batch.hidden_in = hidden;
      }
      batch.hidden_row = first;
      if (il + 1 < config.n_layer) batch.hidden_out = hidden;
      if (wants_queries && config.window_of(il) == 0) {
        const int64_t from = std::max(first, n_tokens - n_window);
        batch.query_taps = {{il, from - first, std::max<int64_t>(0, first + n - from), queries,
                             from - (n_tokens - n_window), log_sums}};
      }
      const auto last = static_cast<int32_t>(n - 1);
      if (il + 1 == config.n_layer && first + n == n_tokens) {
        batch.logits_of = {&last, 1};
        batch.logits = &logits;
      }
      RKV_RETURN_IF_ERROR(forward.run(batch));
      if (request.on_progress) request.on_progress(il * n_tokens + first + n, config.n_layer * n_tokens);
    }
    if (!request.on_layer) continue;

    const ViewLayer view = [&](unsigned needs, int64_t n_query) {
      RKV_CHECK(n_query <= n_window && (n_query > 0 || (needs & kTapsOfQueries) == 0) && config.window_of(il) == 0);
      const auto n = static_cast<int>(n_query);
      return view_layer(forward, il, layer, needs, queries, log_sums, n_window - n, n);
    };
    RKV_RETURN_IF_ERROR(request.on_layer(il, layer, view));
  }
  cache.set_n_pos(pos0 + n_tokens);
  return logits;
}

}  // namespace ripplekv
