// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/variant.h"

#include <fmt/format.h>

namespace ripplekv {

Result<CachePlan> plan_of(const BenchVariant& variant, const Model& model, int64_t n_prompt) {
  const ModelConfig& config = model.config();
  if (variant.policy.allocator == "full") return plan_full(config, n_prompt, variant.policy.kv_format);
  const auto with_context = [&](const Status& status) {
    return status.with_context(
        fmt::format("{} at {} of {} tokens", variant.name, variant.policy.budget.to_string(), n_prompt));
  };
  const Result<Budgets> budgets = make_budgets(model.id(), variant.policy, variant.profile, n_prompt);
  if (!budgets.ok()) return with_context(budgets.status());
  Result<CachePlan> plan = plan_cache(*budgets, config, n_prompt);
  return plan.ok() ? std::move(plan) : Result<CachePlan>(with_context(plan.status()));
}

BenchRecord record_of(std::string work, int64_t context, const BenchVariant& variant) {
  BenchRecord record;
  record.work = std::move(work);
  record.context = context;
  record.policy = variant.name;
  record.budget = variant.policy.allocator == "full" ? "100%" : variant.policy.budget.to_string();
  record.format = variant.policy.kv_format;
  record.auto_format = variant.policy.auto_format;
  return record;
}

void note_cache(BenchRecord& record, int64_t kv_bytes, int64_t rows, const ModelConfig& config) {
  record.kv_bytes = kv_bytes;
  record.rows_per_layer = static_cast<double>(rows) / config.n_layer;
  record.held =
      static_cast<double>(rows) / static_cast<double>(plan_full(config, record.context, KvFormat{}).total_rows());
}

}  // namespace ripplekv
