// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/model_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/prefill.h"

namespace ripplekv::test {

std::vector<std::vector<float>> all_logits(Forward& forward, std::span<const int32_t> tokens, const KvFormat& format,
                                           int64_t n_chunk) {
  const Model& model = forward.model();
  const ModelConfig& config = model.config();
  KvCache cache;
  for (int il = 0; il < config.n_layer; ++il) {
    auto layer = LayerCache::create(model.store().layer_buffer_type(il), config.layer_shape(), format, 8);
    EXPECT_TRUE(layer.ok());
    cache.push_layer(std::move(*layer));
  }
  std::vector<std::vector<float>> result;
  for (int64_t first = 0; first < static_cast<int64_t>(tokens.size()); first += n_chunk) {
    const int64_t n = std::min(n_chunk, static_cast<int64_t>(tokens.size()) - first);
    std::vector<int32_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<float> logits;
    ForwardBatch batch;
    batch.segments = {{&cache, n, first}};
    batch.layer_end = config.n_layer;
    batch.tokens = tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(n));
    batch.logits_of = rows;
    batch.logits = &logits;
    const Status status = forward.run(batch);
    EXPECT_TRUE(status.ok()) << status.message();
    for (auto of_token = logits.begin(); of_token != logits.end(); of_token += config.n_vocab) {
      result.emplace_back(of_token, of_token + config.n_vocab);
    }
  }
  return result;
}

Prefilled prefilled(Forward& forward, std::span<const int32_t> tokens, const KvFormat& format, int n_chunk) {
  const std::vector<KvFormat> formats(static_cast<size_t>(forward.model().config().n_layer), format);
  Prefilled result;
  PrefillRequest request;
  request.tokens = tokens;
  request.cache = &result.cache;
  request.formats = formats;
  request.n_chunk = n_chunk;
  auto logits = prefill(forward, request);
  EXPECT_TRUE(logits.ok()) << logits.status().message();
  if (logits.ok()) result.logits = *std::move(logits);
  return result;
}

}  // namespace ripplekv::test
