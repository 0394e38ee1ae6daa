// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Trace: one prompt under a plan, seen closely: which rows each layer kept, what the next token is, and how far the
// compressed cache moves a given answer. Full and compressed cache come from the same prefill. Printing is the CLI's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ripplekv/engine.h"

namespace ripplekv {

struct Trace {
  std::vector<KeepList> kept;                               // [n_layer][kv head] sorted rows
  std::vector<std::pair<int32_t, float>> next_token_top10;  // id, log-probability; from the prefill
  // With an answer:
  std::vector<double> answer_nll;  // [answer] -log p under the compressed cache; the first token is the prefill's
  double kl = 0;                   // mean over the answer's tokens but the last, of KL(p_full || p_compressed)
  double top1 = 0;                 // fraction of those where the likeliest token agrees
  double nll_full = 0;             // mean, full cache
  Receipt receipt;
};

// Needs the memory of a full and of the compressed cache. Errors as Engine::prefill; answer ids out of range.
Result<Trace> trace_prompt(Engine& engine, std::span<const int32_t> ids, std::span<const int32_t> answer,
                           const CachePlan& plan, const std::function<void(int64_t, int64_t)>& on_progress);

}  // namespace ripplekv
