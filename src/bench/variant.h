// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A cache that takes part in a benchmark: its plan for a prompt, and what a record says of it.
#pragma once

#include <cstdint>
#include <string>

#include "bench/record.h"
#include "engine/policy.h"
#include "ripplekv/engine.h"
#include "ripplekv/profile.h"

namespace ripplekv {

struct BenchVariant {
  std::string name;                  // as the user wrote the policy
  Policy policy;                     // allocator "full": the full cache in its kv format
  const Profile* profile = nullptr;  // the caller's; null where the policy needs none
};

// Errors: as make_budgets() and plan_cache(), with the variant's name and the prompt's length.
Result<CachePlan> plan_of(const BenchVariant& variant, const Model& model, int64_t n_prompt);

BenchRecord record_of(std::string work, int64_t context, const BenchVariant& variant);

// What the record's cache holds after prefill: all bytes, and rows of all layers together.
void note_cache(BenchRecord& record, int64_t kv_bytes, int64_t rows, const ModelConfig& config);

}  // namespace ripplekv
