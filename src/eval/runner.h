// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Runner: measures every policy and budget on a prompt that is prefilled once. The full cache answers first; each
// compressed cache is forked from it, teacher-forced on that answer (fidelity), and may answer itself. Or the prompt is
// a document, compressed before any question is known, and each question is read by forks of its own. Holds one full
// cache and one fork at a time (models with sliding windows: a second full cache while the full one answers).
// What prompts, scores and files are is others' business (suite.h, results.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/generate.h"
#include "engine/policy.h"
#include "engine/prefilled.h"
#include "ripplekv/engine.h"
#include "ripplekv/profile.h"

namespace ripplekv {

struct EvalPolicy {
  std::string name;  // as the user wrote it
  Policy policy;     // its budget is set by the runner; allocator "full": the full cache
  const Profile* profile = nullptr;
};

// What a budget counts: rows, or bytes (K, V and index) as a fraction of the full f16 cache's. Sliding layers, which
// nothing compresses, are not part of the fraction: their windows come on top.
enum class MatchBy { kRows, kBytes };

struct RunnerOptions {
  std::vector<EvalPolicy> policies;
  std::vector<double> kept;  // fractions
  MatchBy match = MatchBy::kRows;
  int n_answer = 32;     // tokens of the full cache's greedy answer that fidelity is measured over, at most
  int n_generate = 0;    // tokens each policy answers itself, at most; 0: none
  int n_parallel = 1;    // forks that answer at once, sharing the products with weights
  KvFormat full_format;  // of the full cache: f16 or f32
};

// One policy at one budget on one prompt.
struct PolicyResult {
  std::string policy;
  double kept = 1;    // of rows or bytes of what was compressed (prompt or document), as asked
  int64_t rows = 0;   // held when the answer begins: a question read afterwards is in it, with all its rows
  int64_t bytes = 0;  // likewise K, V and index
  double held = 1;    // rows over those of the full cache; more than `kept` where a selector's protected rows are more
  // False: the full cache's answer has no token that a policy can move (it ends at once), so that kl, kl_max and top1
  // say nothing. Only where policies answer themselves; else such a prompt is an error.
  bool compared = true;
  double kl = 0;       // mean nats of KL(p_full || p_compressed) over the answer's tokens that a policy can move
  double kl_max = 0;   // the worst of them
  double top1 = 0;     // fraction of them where the likeliest token agrees
  double nll = 0;      // mean -log p of the full cache's answer, its first token included
  std::string answer;  // with n_generate
  int64_t n_answered = 0;
  std::string error;  // why there is no measurement: the budget does not fit this policy; empty if there is one
};

struct PromptResult {
  int64_t n_prompt = 0;  // the question included
  std::vector<int32_t> full_answer;
  std::string full_text;
  std::vector<PolicyResult> results;  // policies in order, each at all budgets in order
};

// Where the time went, in seconds of the clock and of all processors together.
struct Spent {
  double seconds = 0;
  double processor_seconds = 0;
};
struct SweepCost {
  Spent prefill;            // of prompts or documents, selectors' scores included
  Spent forks;              // plans, rows copied and rounded
  Spent questions;          // read after compression
  Spent scoring;            // teacher-forced, of the full cache and all forks
  Spent answers;            // generated
  int64_t full_bytes = 0;   // of the largest: the full cache with room for what follows,
  int64_t score_bytes = 0;  // what selectors said of its rows,
  int64_t fork_bytes = 0;   // and the forks held at once
  void add(const SweepCost& other);
};

class PromptRunner {
 public:
  // Prefills `ids` once: the whole prompt, or a document of which questions of at most n_question_max tokens follow.
  // Errors: as Engine::prefill; cancelled. The engine must outlive it.
  static Result<PromptRunner> create(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options,
                                     int64_t n_question_max,
                                     const std::function<void(int64_t done, int64_t total)>& on_progress);

  // Every policy at every budget, each with a fork of its own that reads the question (empty: the prompt was whole) and
  // keeps all rows of it. The answer's first token is counted in `kl` and `top1` only where there is a question:
  // after a whole prompt it is the prefill's, which no policy can move.
  // A budget that does not fit a policy is that result's error. Errors: memory; cancelled.
  // REQUIRES: policies have selectors that create() was told of.
  Result<PromptResult> ask(std::span<const int32_t> question, const std::vector<EvalPolicy>& policies);

  const SweepCost& cost() const { return cost_; }

 private:
  PromptRunner(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options);
  Status take_in(Sequence& sequence);
  Status with_full(const std::function<Status(Sequence&)>& use);
  GenerateOptions greedy(int n) const;
  Result<Generated> answer_alone(Sequence& sequence, int n);
  Result<std::vector<float>> distributions(Sequence& sequence);
  Status answer_fully();
  Result<CachePlan> plan(const EvalPolicy& policy, double kept) const;
  Status measure(const EvalPolicy& policy, double kept);
  Status decode_forks();
  int64_t bytes_of_forks() const;
  static PolicyResult row_of(const std::string& policy, double kept, const Sequence& sequence);
  double nll_of(std::span<const float> logits) const;
  size_t first_compared() const;
  void compare(std::span<const float> logits, PolicyResult& result) const;

  // A fork that answers.
  struct Answering {
    Sequence fork;
    Generation generation;
    size_t place;                  // in result_.results
    std::optional<int32_t> token;  // to decode next
  };

  Engine* engine_;
  const ModelConfig* config_;
  std::vector<int32_t> ids_;
  RunnerOptions options_;
  int64_t n_later_ = 0;  // tokens that follow in the full cache at most
  std::optional<PrefilledPrompt> prompt_;
  SweepCost cost_;
  // Of the question at hand:
  std::vector<int32_t> question_;
  std::vector<int32_t> scored_;  // of the full cache's answer
  std::vector<float>
      reference_;  // F32 [n_vocab, scored_.size()]: its distributions, each before the token at its place
  PolicyResult full_row_;
  PromptResult result_;
  std::vector<Answering> answering_;
};

// A whole prompt and all of options.policies. Errors: as above.
Result<PromptResult> run_prompt(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options,
                                const std::function<void(int64_t done, int64_t total)>& on_progress);

}  // namespace ripplekv
