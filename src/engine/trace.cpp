// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/trace.h"

#include <fmt/format.h>

#include <numeric>

#include "base/text.h"
#include "engine/machine.h"
#include "model/prefill.h"
#include "profiling/divergence.h"

namespace ripplekv {

Result<Trace> trace_prompt(Engine& engine, std::span<const int32_t> ids, std::span<const int32_t> answer,
                           const CachePlan& plan, const std::function<void(int64_t, int64_t)>& on_progress) {
  const ModelConfig& config = engine.model().config();
  if (ids.empty()) return invalid_argument("input: 0 tokens, expected at least 1");
  for (const auto& tokens : {ids, answer}) {
    for (int32_t id : tokens) {
      if (id < 0 || id >= config.n_vocab) {
        return invalid_argument(fmt::format("input: token id {}, expected 0 to {}", id, config.n_vocab - 1));
      }
    }
  }
  RKV_RETURN_IF_ERROR(check_plan(plan, config));
  const MemoryForecast forecast = forecast_memory(plan, config, /*n_decode=*/0);
  const int64_t needed = forecast.kv_full + forecast.kv_after_prefill + forecast.scratch;
  if (needed > available_memory()) {
    return resource_exhausted(fmt::format("a trace of {} tokens needs {} of memory, {} are free", ids.size(),
                                          human_bytes(needed), human_bytes(available_memory())));
  }

  Trace trace;
  KvCache full;
  KvCache compressed;
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(plan.selector, plan.selector_options));
  PrefillRequest request;
  request.tokens = ids;
  request.cache = &full;
  request.formats = plan.format;
  request.n_chunk = engine.n_chunk();
  request.taps = plan.keeps_all() ? static_cast<unsigned>(kTapNone) : selector->needs();
  request.n_query = plan.keeps_all() ? 0 : selector->n_query(plan.n_prompt);
  request.on_progress = on_progress;
  request.on_layer = [&](int il, LayerCache& layer, const LayerTaps& taps) -> Status {
    const int64_t rows = plan.rows[static_cast<size_t>(il)];
    KeepList keep;
    if (rows < layer.n_rows() && plan.window_of(il) == 0) {
      keep = prune(selector->score(taps), taps.n_rows, taps.n_head_kv, rows, selector->protected_rows());
    } else {
      // All of them, or the window.
      keep.assign(static_cast<size_t>(taps.n_head_kv), std::vector<int32_t>(static_cast<size_t>(rows)));
      for (auto& head : keep) std::iota(head.begin(), head.end(), static_cast<int32_t>(layer.n_rows() - rows));
    }
    RKV_ASSIGN_OR_RETURN(LayerCache kept, layer.gather(keep));
    trace.receipt.lines.push_back(
        {rows, kept.n_rows(), forecast.layers[static_cast<size_t>(il)], kept.format(), kept.bytes()});
    compressed.push_layer(std::move(kept));
    trace.kept.push_back(std::move(keep));
    return ok_status();
  };
  RKV_ASSIGN_OR_RETURN(const std::vector<float> logits, prefill(engine.forward(), request));
  RKV_RETURN_IF_ERROR(trace.receipt.check());
  compressed.set_n_pos(full.n_pos());
  trace.next_token_top10 = top_k(logits, 10);
  if (answer.empty()) return trace;

  const auto n_vocab = static_cast<size_t>(config.n_vocab);
  const auto nll = [&](std::span<const float> distribution, int32_t token) {
    return -static_cast<double>(log_softmax(distribution)[static_cast<size_t>(token)]);
  };
  trace.answer_nll.push_back(nll(logits, answer[0]));
  trace.nll_full = trace.answer_nll[0];
  const auto fed = answer.first(answer.size() - 1);
  if (fed.empty()) return trace;
  RKV_ASSIGN_OR_RETURN(const std::vector<float> p, engine.score(full, fed));
  RKV_ASSIGN_OR_RETURN(const std::vector<float> q, engine.score(compressed, fed));
  for (size_t t = 0; t < fed.size(); ++t) {
    const auto of_full = std::span(p).subspan(t * n_vocab, n_vocab);
    const auto of_compressed = std::span(q).subspan(t * n_vocab, n_vocab);
    trace.answer_nll.push_back(nll(of_compressed, answer[t + 1]));
    trace.nll_full += nll(of_full, answer[t + 1]);
    trace.top1 += argmax(of_full) == argmax(of_compressed) ? 1 : 0;
  }
  trace.kl = mean_kl(p, q, config.n_vocab);
  trace.top1 /= static_cast<double>(fed.size());
  trace.nll_full /= static_cast<double>(answer.size());
  return trace;
}

}  // namespace ripplekv
