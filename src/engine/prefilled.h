// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// PrefilledPrompt: one prompt prefilled once with the full cache, from which compressed caches are forked: each is what
// Engine::prefill() would have made of that plan, without running the model again. For comparing policies. It holds
// the full cache and every selector's scores; a fork is the caller's and independent of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ripplekv/engine.h"

namespace ripplekv {

struct SelectorSpec {
  std::string name;
  SelectorOptions options;
  bool operator==(const SelectorSpec&) const = default;
};

class PrefilledPrompt {
 public:
  // selectors: all that later plans name, `full` apart. full: of plan_full(), in formats of prefill_format(), of which
  // forks are rounded. n_later: tokens that will follow in full(), at most. Errors: as Engine::prefill; a selector that
  // does not exist.
  static Result<PrefilledPrompt> create(Engine& engine, std::span<const int32_t> tokens,
                                        const std::vector<SelectorSpec>& selectors, const CachePlan& full,
                                        int64_t n_later,
                                        const std::function<void(int64_t done, int64_t total)>& on_progress = nullptr);

  Sequence& full() { return full_; }
  int64_t n_prompt() const { return full_.plan.n_prompt; }
  // Bytes of the selectors' scores.
  int64_t score_bytes() const;

  // A compressed sequence with its receipt and the rows kept. Errors: memory, a plan of another model or prompt.
  // REQUIRES: the plan's selector is one of create()'s or keeps all; plan.decode_slack == 0.
  Result<Sequence> fork(const CachePlan& plan) const;

 private:
  // What one layer keeps, as rows of the full cache.
  KeepList keep(int il, const CachePlan& plan) const;

  const ModelConfig* config_ = nullptr;
  Sequence full_;
  std::vector<SelectorSpec> selectors_;
  std::vector<std::vector<std::vector<float>>> scores_;  // [selector][layer] F32 [n_prompt, n_head_kv]; sliding: empty
};

}  // namespace ripplekv
