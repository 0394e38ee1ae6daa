// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/prefilled.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "engine/machine.h"
#include "model/prefill.h"

namespace ripplekv {

Result<PrefilledPrompt> PrefilledPrompt::create(Engine& engine, std::span<const int32_t> tokens,
                                                const std::vector<SelectorSpec>& selectors, const CachePlan& full_plan,
                                                int64_t n_later,
                                                const std::function<void(int64_t, int64_t)>& on_progress) {
  const ModelConfig& config = engine.model().config();
  const auto n_prompt = static_cast<int64_t>(tokens.size());
  if (tokens.empty()) return invalid_argument("prompt: 0 tokens, expected at least 1");
  RKV_RETURN_IF_ERROR(check_token_ids(tokens, config.n_vocab, "prompt"));
  PrefilledPrompt prompt;
  prompt.config_ = &config;
  prompt.selectors_ = selectors;
  prompt.scores_.resize(selectors.size());
  std::vector<std::unique_ptr<Selector>> made;
  int64_t n_query = 0;
  std::map<int64_t, unsigned> needs_by_query;
  for (const SelectorSpec& spec : selectors) {
    RKV_ASSIGN_OR_RETURN(auto selector, make_selector(spec.name, spec.options));
    n_query = std::max(n_query, selector->n_query(n_prompt));
    needs_by_query[selector->n_query(n_prompt)] |= selector->needs();
    made.push_back(std::move(selector));
  }
  RKV_CHECK(full_plan.keeps_all() && full_plan.format == prefill_formats(full_plan.format));
  RKV_RETURN_IF_ERROR(check_plan(full_plan, config));
  Sequence& full = prompt.full_;
  full.plan = full_plan;
  full.n_decode_left = n_later;
  const MemoryForecast forecast = forecast_memory(full.plan, config, n_later);
  const int64_t scratch = prefill_scratch_bytes(config, n_prompt, n_query);
  if (const int64_t available = available_memory(); forecast.kv_peak + scratch > available) {
    return resource_exhausted(fmt::format("the full cache of {} tokens needs {} of memory, {} are free", n_prompt,
                                          human_bytes(forecast.kv_peak + scratch), human_bytes(available)));
  }
  PrefillRequest request;
  request.tokens = tokens;
  request.cache = &full.cache;
  request.formats = full.plan.format;
  request.extra_rows = n_later;
  request.n_chunk = engine.n_chunk();
  request.n_query = n_query;
  request.on_progress = on_progress;
  request.on_layer = [&](int il, LayerCache& layer, const ViewLayer& view) -> Status {
    const int64_t window = config.window_of(il);
    for (auto& of_selector : prompt.scores_) of_selector.emplace_back();
    if (window == 0) {
      // Selectors that observe the same queries see one view: attention is the dear part of it.
      for (const auto& [n, needs] : needs_by_query) {
        RKV_ASSIGN_OR_RETURN(const LayerView seen, view(needs, n));
        for (size_t s = 0; s < made.size(); ++s) {
          if (made[s]->n_query(n_prompt) == n) prompt.scores_[s].back() = score_parts(*made[s], seen.taps);
        }
      }
    }
    return window > 0 && window < layer.n_rows() ? layer.compact(layer.last_rows(window)) : ok_status();
  };
  RKV_ASSIGN_OR_RETURN(full.logits, prefill(engine.forward(), request));
  return prompt;
}

int64_t PrefilledPrompt::score_bytes() const {
  int64_t n = 0;
  for (const auto& of_selector : scores_) {
    for (const auto& scores : of_selector) n += static_cast<int64_t>(scores.size());
  }
  return n * static_cast<int64_t>(sizeof(float));
}

KeepList PrefilledPrompt::keep(int il, const CachePlan& plan) const {
  const LayerCache& layer = full_.cache.layer(il);
  const int64_t rows = plan.rows[static_cast<size_t>(il)];
  if (plan.window_of(il) > 0 || rows == n_prompt()) return layer.last_rows(rows);
  const SelectorSpec spec = {plan.selector, plan.selector_options};
  const auto found = std::find(selectors_.begin(), selectors_.end(), spec);
  RKV_CHECK(found != selectors_.end());
  const auto selector = std::move(make_selector(spec.name, spec.options)).value();
  return prune_heads(scores_[static_cast<size_t>(found - selectors_.begin())][static_cast<size_t>(il)],
                     layer.head_rows(), plan.rows_of_heads(il, rows, config_->n_head_kv), selector->protected_rows(),
                     spec.options.head_floor);
}

Result<Sequence> PrefilledPrompt::fork(const CachePlan& plan) const {
  RKV_CHECK(plan.n_prompt == n_prompt() && plan.decode_slack == 0);
  RKV_RETURN_IF_ERROR(check_plan(plan, *config_));
  const MemoryForecast forecast = forecast_memory(plan, *config_, /*n_decode=*/0);
  if (const int64_t available = available_memory(); forecast.kv_after_prefill > available) {
    return resource_exhausted(fmt::format("a cache of {} rows beside the full one needs {} of memory, {} are free",
                                          plan.total_rows(), human_bytes(forecast.kv_after_prefill),
                                          human_bytes(available)));
  }
  Sequence sequence;
  sequence.plan = plan;
  sequence.logits = full_.logits;
  sequence.n_decode_left = full_.n_decode_left;
  for (int il = 0; il < config_->n_layer; ++il) {
    const auto layer_index = static_cast<size_t>(il);
    RKV_ASSIGN_OR_RETURN(LayerCache layer, full_.cache.layer(il).gather(keep(il, plan), plan.format[layer_index]));
    KeepList& kept = sequence.kept.emplace_back();
    for (int head = 0; head < layer.shape().n_head_kv; ++head) {
      kept.emplace_back(layer.positions(head).begin(), layer.positions(head).end());
    }
    sequence.receipt.lines.push_back(
        {plan.rows[layer_index], layer.n_rows(), forecast.layers[layer_index], layer.format(), layer.bytes()});
    sequence.cache.push_layer(std::move(layer));
  }
  sequence.cache.set_n_pos(n_prompt());
  RKV_RETURN_IF_ERROR(sequence.receipt.check());
  return sequence;
}

}  // namespace ripplekv
