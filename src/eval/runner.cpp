// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/generate.h"
#include "model/vocab.h"
#include "profiling/divergence.h"

namespace ripplekv {
namespace {

std::vector<SelectorSpec> selectors_of(const std::vector<EvalPolicy>& policies) {
  std::vector<SelectorSpec> specs;
  for (const EvalPolicy& policy : policies) {
    const SelectorSpec spec = {policy.policy.selector, policy.policy.selector_options};
    if (policy.policy.allocator != "full" && std::find(specs.begin(), specs.end(), spec) == specs.end())
      specs.push_back(spec);
  }
  return specs;
}

class PromptRunner {
 public:
  PromptRunner(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options)
      : engine_(engine), ids_(ids), options_(options), config_(engine.model().config()) {}

  Result<PromptResult> run(const std::function<void(int64_t, int64_t)>& on_progress) {
    const auto n_prompt = static_cast<int64_t>(ids_.size());
    const int n_later = std::max(options_.n_answer, options_.n_generate);
    RKV_ASSIGN_OR_RETURN(
        prompt_, PrefilledPrompt::create(engine_, ids_, selectors_of(options_.policies),
                                         plan_full(config_, n_prompt, options_.full_format), n_later, on_progress));
    result_.n_prompt = n_prompt;
    RKV_RETURN_IF_ERROR(answer_fully());
    for (const EvalPolicy& policy : options_.policies) {
      if (policy.policy.allocator == "full") {
        add_full(policy);
        continue;
      }
      for (double kept : options_.kept) RKV_RETURN_IF_ERROR(measure(policy, kept));
    }
    return std::move(result_);
  }

 private:
  Result<Generated> generate_greedily(Sequence& sequence, int n) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.n_predict = n;
    options.n_ctx = static_cast<int64_t>(ids_.size()) + n;
    return generate(engine_, sequence, ids_, options, [](std::string_view) {});
  }

  // Leaves the full cache as it was. A window that slid cannot go back: such caches answer from a copy.
  Result<Generated> generate_fully(int n) {
    Sequence& full = prompt_->full();
    if (std::any_of(config_.windows.begin(), config_.windows.end(), [](int64_t window) { return window > 0; })) {
      RKV_ASSIGN_OR_RETURN(Sequence copy, prompt_->fork(full.plan));
      return generate_greedily(copy, n);
    }
    const KvSnapshot before = full.cache.snapshot();
    const std::vector<float> logits = full.logits;
    const int64_t n_decode_left = full.n_decode_left;
    Result<Generated> answer = generate_greedily(full, n);
    RKV_RETURN_IF_ERROR(full.cache.restore(before));
    full.logits = logits;
    full.n_decode_left = n_decode_left;
    return answer;
  }

  // The full cache's own answer, and its distributions over the tokens that fidelity is measured on.
  Status answer_fully() {
    const int n = std::max(options_.n_answer, options_.n_generate);
    RKV_ASSIGN_OR_RETURN(const Generated answer, generate_fully(n));
    result_.full_text = answer.text;
    result_.full_answer = answer.ids;
    scored_ = answer.ids;
    if (static_cast<int>(scored_.size()) > options_.n_answer) scored_.resize(static_cast<size_t>(options_.n_answer));
    if (scored_.size() < 2) {
      return invalid_argument(fmt::format(
          "the full cache's answer has {} token, expected at least 2 to measure fidelity on", scored_.size()));
    }
    const auto fed = std::span<const int32_t>(scored_).first(scored_.size() - 1);
    RKV_ASSIGN_OR_RETURN(reference_, engine_.score(prompt_->full().cache, fed));
    return ok_status();
  }

  Result<CachePlan> plan(const EvalPolicy& policy, double kept) const {
    const auto n_prompt = static_cast<int64_t>(ids_.size());
    Policy at_budget = policy.policy;
    at_budget.budget = {KvBudget::Kind::kFraction, kept};
    if (options_.match == MatchBy::kBytes) {
      const double full = static_cast<double>(bytes_per_row(config_.layer_shape(), KvFormat{})) *
                          static_cast<double>(n_prompt * config_.n_layer);
      at_budget.budget = {KvBudget::Kind::kBytes, kept * full};
    }
    RKV_ASSIGN_OR_RETURN(const Budgets budgets, make_budgets(engine_.model().id(), at_budget, policy.profile,
                                                             {config_.layer_shape(), n_prompt}));
    return plan_cache(budgets, config_, n_prompt);
  }

  // What it is compared with: nothing is lost, and its answer is known.
  void add_full(const EvalPolicy& policy) {
    const Sequence& full = prompt_->full();
    PolicyResult result = row_of(policy, 1.0, full);
    result.top1 = 1;
    result.nll = nll_of(full.logits, reference_);
    if (options_.n_generate > 0) {
      result.answer = result_.full_text;
      result.n_answered = static_cast<int64_t>(result_.full_answer.size());
    }
    result_.results.push_back(std::move(result));
  }

  static PolicyResult row_of(const EvalPolicy& policy, double kept, const Sequence& sequence) {
    PolicyResult result;
    result.policy = policy.name;
    result.kept = kept;
    result.rows = sequence.plan.total_rows();
    const LayerBytes bytes = sequence.cache.bytes();
    result.bytes = bytes.payload + bytes.scales + bytes.index;
    return result;
  }

  // Mean -log p of the answer: its first token from the prefill, the others from `logits`.
  double nll_of(std::span<const float> first, std::span<const float> logits) const {
    const auto n_vocab = static_cast<size_t>(config_.n_vocab);
    double sum = 0;
    for (size_t t = 0; t < scored_.size(); ++t) {
      const auto of_token = t == 0 ? first : logits.subspan((t - 1) * n_vocab, n_vocab);
      sum -= static_cast<double>(log_softmax(of_token)[static_cast<size_t>(scored_[t])]);
    }
    return sum / static_cast<double>(scored_.size());
  }

  Status measure(const EvalPolicy& policy, double kept) {
    const auto with_context = [&](const Status& status) {
      return status.with_context(fmt::format("{} at {:g}%", policy.name, kept * 100));
    };
    const Result<CachePlan> planned = plan(policy, kept);
    if (!planned.ok()) return with_context(planned.status());
    Result<Sequence> fork = prompt_->fork(*planned);
    if (!fork.ok()) return with_context(fork.status());
    PolicyResult result = row_of(policy, kept, *fork);
    RKV_RETURN_IF_ERROR(score(*fork, result));
    if (options_.n_generate > 0) {
      RKV_ASSIGN_OR_RETURN(const Generated answer, generate_greedily(*fork, options_.n_generate));
      result.answer = answer.text;
      result.n_answered = static_cast<int64_t>(answer.ids.size());
    }
    result_.results.push_back(std::move(result));
    return ok_status();
  }

  Status score(Sequence& fork, PolicyResult& result) {
    const auto n_vocab = static_cast<size_t>(config_.n_vocab);
    const auto fed = std::span<const int32_t>(scored_).first(scored_.size() - 1);
    RKV_ASSIGN_OR_RETURN(const std::vector<float> logits, engine_.score(fork.cache, fed));
    result.nll = nll_of(fork.logits, logits);
    for (size_t t = 0; t < fed.size(); ++t) {
      const auto p = std::span<const float>(reference_).subspan(t * n_vocab, n_vocab);
      const auto q = std::span<const float>(logits).subspan(t * n_vocab, n_vocab);
      const double kl = kl_divergence(p, q);
      result.kl += kl / static_cast<double>(fed.size());
      result.kl_max = std::max(result.kl_max, kl);
      result.top1 += argmax(p) == argmax(q) ? 1.0 / static_cast<double>(fed.size()) : 0.0;
    }
    return ok_status();
  }

  Engine& engine_;
  std::span<const int32_t> ids_;
  const RunnerOptions& options_;
  const ModelConfig& config_;
  std::optional<PrefilledPrompt> prompt_;
  std::vector<int32_t> scored_;
  std::vector<float> reference_;  // F32 [n_vocab, scored_.size() - 1]
  PromptResult result_;
};

}  // namespace

Result<PromptResult> run_prompt(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options,
                                const std::function<void(int64_t, int64_t)>& on_progress) {
  return PromptRunner(engine, ids, options).run(on_progress);
}

}  // namespace ripplekv
