// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From a policy and a prompt's length to rows, bytes and a forecast: arithmetic only, no graph.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "ripplekv/engine.h"

namespace ripplekv {
namespace {

constexpr int64_t kPage = 4096;

int64_t allocation(const LayerShape& shape, const KvFormat& format, int64_t rows) {
  const int64_t bytes =
      rows * shape.n_head_kv * (row_bytes(format.k, shape.head_dim) + row_bytes(format.v, shape.head_dim));
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

int64_t CachePlan::total_rows() const { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

bool CachePlan::keeps_all() const {
  return std::all_of(rows.begin(), rows.end(), [&](int64_t r) { return r == n_prompt; });
}

CachePlan plan_full(const ModelConfig& config, int64_t n_prompt, const KvFormat& format) {
  CachePlan plan;
  plan.n_prompt = n_prompt;
  plan.rows.assign(static_cast<size_t>(config.n_layer), n_prompt);
  plan.format.assign(static_cast<size_t>(config.n_layer), format);
  plan.selector = "full";
  return plan;
}

Result<CachePlan> plan_cache(const Budgets& budgets, const ModelConfig& config, int64_t n_prompt) {
  const auto n_layer = static_cast<size_t>(config.n_layer);
  if (budgets.weights.weights.size() != n_layer || budgets.kv_format.size() != n_layer) {
    return mismatch(
        fmt::format("budgets: made for {} layers, the model has {}", budgets.weights.weights.size(), n_layer));
  }
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(budgets.selector, budgets.selector_options));
  double row_bytes_mean = 0;
  for (const KvFormat& format : budgets.kv_format) {
    row_bytes_mean += static_cast<double>(bytes_per_row(config.layer_shape(), format)) / static_cast<double>(n_layer);
  }
  CachePlan plan;
  plan.n_prompt = n_prompt;
  plan.format = budgets.kv_format;
  plan.selector = budgets.selector;
  plan.selector_options = budgets.selector_options;
  const int64_t total = total_rows(budgets.budget, n_prompt, config.n_layer, row_bytes_mean);
  const int64_t floor = selector->protected_rows().count() + budgets.rows_floor_extra;
  auto rows = rows_for(budgets.weights, total, floor, n_prompt);
  if (!rows.ok()) return rows.status().with_context(fmt::format("--kv-budget {}", budgets.budget.to_string()));
  plan.rows = std::move(*rows);
  return plan;
}

MemoryForecast forecast_memory(const CachePlan& plan, const ModelConfig& config, int64_t extra_rows) {
  const LayerShape shape = config.layer_shape();
  MemoryForecast forecast;
  for (size_t il = 0; il < plan.rows.size(); ++il) {
    const bool compressed = plan.rows[il] < plan.n_prompt;
    const int64_t full = allocation(shape, plan.format[il], plan.n_prompt + extra_rows);
    // A layer that keeps all is never copied; one that is compressed stands beside its compressed copy for a moment.
    const int64_t kept = compressed ? allocation(shape, plan.format[il], plan.rows[il]) : full;
    const int64_t during = compressed ? allocation(shape, plan.format[il], plan.n_prompt) + kept : kept;
    forecast.kv_peak = std::max(forecast.kv_peak, forecast.kv_after_prefill + during);
    forecast.kv_after_prefill += kept;
    forecast.kv_full += allocation(shape, plan.format[il], plan.n_prompt);
  }
  forecast.scratch =
      static_cast<int64_t>(sizeof(float)) *
      (config.n_embd * plan.n_prompt + int64_t{plan.selector_options.window} * config.n_head * config.head_dim);
  return forecast;
}

Status Receipt::check() const {
  for (size_t il = 0; il < lines.size(); ++il) {
    const ReceiptLine& line = lines[il];
    if (line.rows_held != line.rows_planned) {
      return data_loss(
          fmt::format("receipt: layer {} holds {} rows, {} were planned", il, line.rows_held, line.rows_planned));
    }
  }
  if (kv_peak_held > kv_peak_planned + kv_peak_planned / 50) {
    return data_loss(fmt::format("receipt: the cache reached {}, {} were planned", human_bytes(kv_peak_held),
                                 human_bytes(kv_peak_planned)));
  }
  return ok_status();
}

}  // namespace ripplekv
