// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The two plain ways through a model, as tests compare them with others: all layers at once, and layer-major prefill.
// An error fails the test that asked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/forward.h"
#include "ripplekv/kv_cache.h"

namespace ripplekv::test {

// Logits after every token, [tokens.size()][n_vocab], in batches of n_chunk through all layers.
std::vector<std::vector<float>> all_logits(Forward& forward, std::span<const int32_t> tokens, const KvFormat& format,
                                           int64_t n_chunk);

struct Prefilled {
  KvCache cache;              // full
  std::vector<float> logits;  // of the last token
};
Prefilled prefilled(Forward& forward, std::span<const int32_t> tokens, const KvFormat& format, int n_chunk = 512);

}  // namespace ripplekv::test
