// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A saved conversation, given as its content: the checksum that seals it is put behind it, so that mutations meet the
// reader and not the seal. What is accepted must fit together.
#include <ggml-backend.h>

#include "base/hash.h"
#include "engine/session.h"
#include "targets.h"

namespace ripplekv::fuzz {
namespace {

std::span<const uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

KvCache small_cache(const KvFormat& format, int64_t n_rows) {
  const LayerShape shape = {32, 2};
  KvCache cache;
  for (int il = 0; il < 2; ++il) {
    auto layer = LayerCache::create(ggml_backend_cpu_buffer_type(), shape, format, n_rows);
    RKV_CHECK(layer.ok());
    layer->append_written(0, n_rows);
    if (il == 1) RKV_CHECK(layer->compact({{0, 1, 2}, {2}}).ok());  // 2 rows on the mean
    cache.push_layer(std::move(*layer));
  }
  cache.set_n_pos(n_rows);
  return cache;
}

}  // namespace

int fuzz_session(const uint8_t* data, size_t size) {
  const std::string content(text_of(data, size));
  const std::string sealed = content + hash_of_bytes(content);
  const auto parsed = parse_session(span_of(sealed), "talk.session");
  expect_sentence(parsed.status());
  if (!parsed.ok()) return 0;
  const SessionState& state = parsed->state;
  RKV_CHECK(static_cast<int>(parsed->layers.size()) == state.model.n_layer);
  RKV_CHECK(state.n_prompt >= 1 && state.n_prompt <= static_cast<int64_t>(state.tokens.size()));
  for (const SessionLayer& layer : parsed->layers) {
    int64_t n = 0;
    for (const auto& positions : layer.positions) n += static_cast<int64_t>(positions.size());
    RKV_CHECK(n > 0 && n % layer.shape.n_head_kv == 0);
    RKV_CHECK(static_cast<int64_t>(layer.k.size()) == n * row_bytes(layer.format.k, layer.shape.head_dim));
    RKV_CHECK(static_cast<int64_t>(layer.v.size()) == n * row_bytes(layer.format.v, layer.shape.head_dim));
    for (const auto& positions : layer.positions) RKV_CHECK(!positions.empty());
  }
  return 0;
}

std::vector<std::string> session_seeds() {
  SessionState state;
  state.model = {.fingerprint = "xxh3:" + std::string(32, '0'), .name = "m", .architecture = "llama", .n_layer = 2};
  state.messages = {{"user", "h\xC3\xA9"}, {"assistant", "yes"}};
  state.prompt_text = "<user>h\xC3\xA9";
  state.n_prompt = 2;
  state.tokens = {1, 2, 3};
  state.logits = {0, 1, -1, 2};
  std::vector<std::string> seeds;
  for (const KvFormat& format : {KvFormat{KvType::kF16, KvType::kF16}, KvFormat{KvType::kQ8_0, KvType::kQ4_0}}) {
    std::string bytes = *session_bytes(state, small_cache(format, 3));
    bytes.resize(bytes.size() - hash_of_bytes("").size());
    seeds.push_back(std::move(bytes));
    state.model.sliding_layers = {0};
    state.model.sliding_window = 2;
  }
  return seeds;
}

}  // namespace ripplekv::fuzz
