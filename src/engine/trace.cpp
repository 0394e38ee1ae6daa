// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/trace.h"

#include "engine/prefilled.h"
#include "model/prefill.h"
#include "profiling/divergence.h"

namespace ripplekv {

Result<Trace> trace_prompt(Engine& engine, std::span<const int32_t> ids, std::span<const int32_t> answer,
                           const CachePlan& plan, const std::function<void(int64_t, int64_t)>& on_progress) {
  const ModelConfig& config = engine.model().config();
  RKV_RETURN_IF_ERROR(check_token_ids(answer, config.n_vocab, "answer"));
  if (ids.empty()) return invalid_argument("prompt: 0 tokens, expected at least 1");
  RKV_RETURN_IF_ERROR(check_plan(plan, config));
  std::vector<SelectorSpec> selectors;
  if (!plan.keeps_all()) selectors.push_back({plan.selector, plan.selector_options});
  const auto n_later = static_cast<int64_t>(answer.size());
  CachePlan full = plan_full(config, plan.n_prompt, {});
  full.format = prefill_formats(plan.format);
  RKV_ASSIGN_OR_RETURN(PrefilledPrompt prompt,
                       PrefilledPrompt::create(engine, ids, selectors, full, n_later, on_progress));
  RKV_ASSIGN_OR_RETURN(Sequence sequence, prompt.fork(plan));
  Trace trace;
  trace.kept = std::move(sequence.kept);
  trace.receipt = std::move(sequence.receipt);
  const std::vector<float>& logits = prompt.full().logits;
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
  RKV_ASSIGN_OR_RETURN(const std::vector<float> p, engine.score(prompt.full().cache, fed));
  RKV_ASSIGN_OR_RETURN(const std::vector<float> q, engine.score(sequence.cache, fed));
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
