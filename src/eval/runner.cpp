// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

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

// Adds what passes while it lives.
class Stopwatch {
 public:
  explicit Stopwatch(Spent& spent) : spent_(spent) {}
  ~Stopwatch() {
    spent_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    spent_.processor_seconds += static_cast<double>(std::clock() - processor_begin_) / CLOCKS_PER_SEC;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Spent& spent_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::clock_t processor_begin_ = std::clock();
};

// The plan that keeps n more tokens beside what `plan` keeps.
CachePlan with_rows_after(CachePlan plan, int64_t n) {
  plan.n_prompt += n;
  for (size_t il = 0; il < plan.rows.size(); ++il) {
    const int64_t window = plan.window_of(static_cast<int>(il));
    plan.rows[il] = window > 0 ? std::min(window, plan.n_prompt) : plan.rows[il] + n;
    if (plan.head_rows.empty()) continue;
    for (int64_t& of_head : plan.head_rows[il]) of_head += n;
  }
  return plan;
}

}  // namespace

void SweepCost::add(const SweepCost& other) {
  for (const auto& [to, from] :
       {std::pair{&prefill, &other.prefill}, std::pair{&forks, &other.forks}, std::pair{&questions, &other.questions},
        std::pair{&scoring, &other.scoring}, std::pair{&answers, &other.answers}}) {
    to->seconds += from->seconds;
    to->processor_seconds += from->processor_seconds;
  }
  full_bytes = std::max(full_bytes, other.full_bytes);
  score_bytes = std::max(score_bytes, other.score_bytes);
  fork_bytes = std::max(fork_bytes, other.fork_bytes);
}

PromptRunner::PromptRunner(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options)
    : engine_(&engine), config_(&engine.model().config()), ids_(ids.begin(), ids.end()), options_(options) {}

Result<PromptRunner> PromptRunner::create(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options,
                                          int64_t n_question_max,
                                          const std::function<void(int64_t, int64_t)>& on_progress) {
  PromptRunner runner(engine, ids, options);
  runner.n_later_ = n_question_max + std::max(options.n_answer, options.n_generate);
  {
    const Stopwatch watch(runner.cost_.prefill);
    const CachePlan full = plan_full(*runner.config_, static_cast<int64_t>(ids.size()), options.full_format);
    RKV_ASSIGN_OR_RETURN(runner.prompt_, PrefilledPrompt::create(engine, ids, selectors_of(options.policies), full,
                                                                 runner.n_later_, on_progress));
  }
  runner.cost_.full_bytes = runner.prompt_->full().cache.bytes().total();
  runner.cost_.score_bytes = runner.prompt_->score_bytes();
  return runner;
}

Result<PromptResult> PromptRunner::ask(std::span<const int32_t> question, const std::vector<EvalPolicy>& policies) {
  question_.assign(question.begin(), question.end());
  result_ = {};
  answering_.clear();
  result_.n_prompt = static_cast<int64_t>(ids_.size() + question_.size());
  RKV_RETURN_IF_ERROR(answer_fully());
  for (const EvalPolicy& policy : policies) {
    if (policy.policy.allocator == "full") {
      result_.results.push_back(full_row_);
      result_.results.back().policy = policy.name;
      continue;
    }
    for (double kept : options_.kept) {
      while (std::cmp_greater_equal(answering_.size(), options_.n_parallel)) RKV_RETURN_IF_ERROR(decode_forks());
      const Status status = measure(policy, kept);
      if (status.ok()) continue;
      if (status.code() != StatusCode::kInvalidArgument) return status;
      PolicyResult& refused = result_.results.emplace_back();
      refused.policy = policy.name;
      refused.kept = kept;
      refused.error = status.message();
    }
  }
  while (!answering_.empty()) RKV_RETURN_IF_ERROR(decode_forks());
  return std::move(result_);
}

// The question, read behind what the sequence holds; no row is dropped for it.
Status PromptRunner::take_in(Sequence& sequence) {
  if (question_.empty()) return ok_status();
  const Stopwatch watch(cost_.questions);
  const auto n = static_cast<int64_t>(question_.size());
  return engine_->extend(sequence, question_, with_rows_after(sequence.plan, n), {.n_decode = n_later_ - n});
}

// The full cache with the question taken in, for `use`; afterwards it is as it was. A window that slid cannot go back:
// such caches lend a copy.
Status PromptRunner::with_full(const std::function<Status(Sequence&)>& use) {
  Sequence& full = prompt_->full();
  if (std::any_of(config_->windows.begin(), config_->windows.end(), [](int64_t window) { return window > 0; })) {
    RKV_ASSIGN_OR_RETURN(Sequence copy, prompt_->fork(full.plan));
    RKV_RETURN_IF_ERROR(take_in(copy));
    return use(copy);
  }
  const KvSnapshot before = full.cache.snapshot();
  const CachePlan plan = full.plan;
  const std::vector<float> logits = full.logits;
  const int64_t n_decode_left = full.n_decode_left;
  Status status = take_in(full);
  if (status.ok()) status = use(full);
  RKV_RETURN_IF_ERROR(full.cache.restore(before));
  full.plan = plan;
  full.logits = logits;
  full.n_decode_left = n_decode_left;
  return status;
}

GenerateOptions PromptRunner::greedy(int n) const {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.n_predict = n;
  options.n_ctx = result_.n_prompt + n;
  return options;
}

Result<Generated> PromptRunner::answer_alone(Sequence& sequence, int n) {
  const Stopwatch watch(cost_.answers);
  RKV_ASSIGN_OR_RETURN(Generated answer, generate(*engine_, sequence, ids_, greedy(n), /*on_text=*/nullptr));
  if (answer.stopped_by == "interrupt") return cancelled("stopped as asked");  // part of an answer is no measurement
  return answer;
}

// Before each token of the scored answer, the first one included. F32 [n_vocab, scored_.size()]
Result<std::vector<float>> PromptRunner::distributions(Sequence& sequence) {
  const Stopwatch watch(cost_.scoring);
  std::vector<float> all = sequence.logits;
  if (scored_.size() == 1) return all;
  RKV_ASSIGN_OR_RETURN(const std::vector<float> later,
                       engine_->score(sequence.cache, std::span<const int32_t>(scored_).first(scored_.size() - 1)));
  all.insert(all.end(), later.begin(), later.end());
  return all;
}

// The full cache's own answer, and its distributions over the tokens that fidelity is measured on.
Status PromptRunner::answer_fully() {
  RKV_RETURN_IF_ERROR(with_full([&](Sequence& full) -> Status {
    RKV_ASSIGN_OR_RETURN(Generated answer, answer_alone(full, std::max(options_.n_answer, options_.n_generate)));
    result_.full_text = std::move(answer.text);
    result_.full_answer = std::move(answer.ids);
    return ok_status();
  }));
  scored_ = result_.full_answer;
  if (static_cast<int>(scored_.size()) > options_.n_answer) scored_.resize(static_cast<size_t>(options_.n_answer));
  if (options_.n_generate == 0 && scored_.size() == first_compared()) {
    return invalid_argument(fmt::format(
        "the full cache's answer has {} token, expected at least 2 to measure fidelity on", scored_.size()));
  }
  return with_full([&](Sequence& full) -> Status {
    RKV_ASSIGN_OR_RETURN(reference_, distributions(full));
    // What the others are compared with: nothing is lost, and its answer is known.
    full_row_ = row_of("full", 1.0, full);
    full_row_.top1 = 1;
    full_row_.compared = scored_.size() > first_compared();
    full_row_.nll = nll_of(reference_);
    if (options_.n_generate > 0) {
      full_row_.answer = result_.full_text;
      full_row_.n_answered = static_cast<int64_t>(result_.full_answer.size());
    }
    return ok_status();
  });
}

Result<CachePlan> PromptRunner::plan(const EvalPolicy& policy, double kept) const {
  const auto n_prompt = static_cast<int64_t>(ids_.size());
  Policy at_budget = policy.policy;
  at_budget.budget = {KvBudget::Kind::kFraction, kept};
  if (options_.match == MatchBy::kBytes) {
    const CachePlan full = plan_full(*config_, n_prompt, KvFormat{});
    double rows = 0;
    for (size_t il = 0; il < full.rows.size(); ++il) {
      const bool slides = full.window_of(static_cast<int>(il)) > 0;
      rows += static_cast<double>(full.rows[il]) * (slides ? 1 : kept);
    }
    at_budget.budget = {KvBudget::Kind::kBytes,
                        std::floor(rows * static_cast<double>(bytes_per_row(config_->layer_shape(), KvFormat{})))};
  }
  RKV_ASSIGN_OR_RETURN(const Budgets budgets, make_budgets(engine_->model().id(), at_budget, policy.profile, n_prompt));
  return plan_cache(budgets, *config_, n_prompt);
}

PolicyResult PromptRunner::row_of(const std::string& policy, double kept, const Sequence& sequence) {
  PolicyResult result;
  result.policy = policy;
  result.kept = kept;
  result.rows = sequence.plan.total_rows();
  const LayerBytes bytes = sequence.cache.bytes();
  result.bytes = bytes.payload + bytes.scales + bytes.index;
  return result;
}

// Mean -log p of the scored answer.
double PromptRunner::nll_of(std::span<const float> logits) const {
  const auto n_vocab = static_cast<size_t>(config_->n_vocab);
  double sum = 0;
  for (size_t t = 0; t < scored_.size(); ++t) {
    sum -= static_cast<double>(log_softmax(logits.subspan(t * n_vocab, n_vocab))[static_cast<size_t>(scored_[t])]);
  }
  return sum / static_cast<double>(scored_.size());
}

Status PromptRunner::measure(const EvalPolicy& policy, double kept) {
  const auto with_context = [&](const Status& status) {
    return status.with_context(fmt::format("{} at {:g}%", policy.name, kept * 100));
  };
  Result<Sequence> fork = [&]() -> Result<Sequence> {
    const Stopwatch watch(cost_.forks);
    RKV_ASSIGN_OR_RETURN(const CachePlan planned, plan(policy, kept));
    return prompt_->fork(planned);
  }();
  if (!fork.ok()) return with_context(fork.status());
  if (const Status status = take_in(*fork); !status.ok()) return with_context(status);
  PolicyResult result = row_of(policy.name, kept, *fork);
  result.held = static_cast<double>(result.rows) / static_cast<double>(full_row_.rows);
  RKV_ASSIGN_OR_RETURN(const std::vector<float> logits, distributions(*fork));
  compare(logits, result);
  result_.results.push_back(std::move(result));
  cost_.fork_bytes = std::max(cost_.fork_bytes, bytes_of_forks() + fork->cache.bytes().total());
  if (options_.n_generate == 0) return ok_status();
  RKV_ASSIGN_OR_RETURN(Generation generation, Generation::create(engine_->model().vocab(), ids_,
                                                                 greedy(options_.n_generate), /*on_text=*/nullptr));
  answering_.push_back({std::move(*fork), std::move(generation), result_.results.size() - 1, std::nullopt});
  return ok_status();
}

// One token of every answer, in one batch; answers that end leave with their forks.
Status PromptRunner::decode_forks() {
  const Stopwatch watch(cost_.answers);
  cost_.fork_bytes = std::max(cost_.fork_bytes, bytes_of_forks());
  for (Answering& of : answering_) {
    of.token = of.generation.next(of.fork);
    if (of.token) continue;
    const Generated answer = of.generation.finish();
    result_.results[of.place].answer = answer.text;
    result_.results[of.place].n_answered = static_cast<int64_t>(answer.ids.size());
  }
  std::erase_if(answering_, [](const Answering& of) { return !of.token; });
  std::vector<DecodeStep> steps;
  for (Answering& of : answering_) steps.push_back({&of.fork, *of.token});
  return steps.empty() ? ok_status() : engine_->decode(steps);
}

int64_t PromptRunner::bytes_of_forks() const {
  int64_t bytes = 0;
  for (const Answering& of : answering_) bytes += of.fork.cache.bytes().total();
  return bytes;
}

// The first token of the answer that a policy can move.
size_t PromptRunner::first_compared() const { return question_.empty() ? 1 : 0; }

void PromptRunner::compare(std::span<const float> logits, PolicyResult& result) const {
  result.nll = nll_of(logits);
  const auto n_vocab = static_cast<size_t>(config_->n_vocab);
  const size_t first = first_compared();
  result.compared = scored_.size() > first;
  if (!result.compared) return;
  const auto n = static_cast<double>(scored_.size() - first);
  int n_agreed = 0;
  for (size_t t = first; t < scored_.size(); ++t) {
    const auto p = std::span<const float>(reference_).subspan(t * n_vocab, n_vocab);
    const auto q = logits.subspan(t * n_vocab, n_vocab);
    const double kl = kl_divergence(p, q);
    result.kl += kl / n;
    result.kl_max = std::max(result.kl_max, kl);
    n_agreed += argmax(p) == argmax(q) ? 1 : 0;
  }
  result.top1 = n_agreed / n;
}

Result<PromptResult> run_prompt(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options,
                                const std::function<void(int64_t, int64_t)>& on_progress) {
  RKV_ASSIGN_OR_RETURN(PromptRunner runner,
                       PromptRunner::create(engine, ids, options, /*n_question_max=*/0, on_progress));
  return runner.ask({}, options.policies);
}

}  // namespace ripplekv
