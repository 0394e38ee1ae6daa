// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Runner: measures every policy and budget on a prompt that is prefilled once. The full cache answers first; each
// compressed cache is forked from it, teacher-forced on that answer (fidelity), and may answer itself. Holds one full
// cache and one fork at a time. What prompts, scores and files are is others' business (suite.h, results.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

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

// What a budget counts: rows, or bytes (K, V and index) as a fraction of the full f16 cache's.
enum class MatchBy { kRows, kBytes };

struct RunnerOptions {
  std::vector<EvalPolicy> policies;
  std::vector<double> kept;  // fractions
  MatchBy match = MatchBy::kRows;
  int n_answer = 32;     // tokens of the full cache's greedy answer that fidelity is measured over, at most
  int n_generate = 0;    // tokens each policy answers itself, at most; 0: none
  KvFormat full_format;  // of the full cache: f16 or f32
};

// One policy at one budget on one prompt.
struct PolicyResult {
  std::string policy;
  double kept = 1;  // of rows or bytes, as asked
  int64_t rows = 0;
  int64_t bytes = 0;   // K, V and index held after prefill
  double kl = 0;       // mean nats over the answer's tokens but the first, of KL(p_full || p_compressed)
  double kl_max = 0;   // the worst of them
  double top1 = 0;     // fraction of them where the likeliest token agrees
  double nll = 0;      // mean -log p of the full cache's answer, its first token included
  std::string answer;  // with n_generate
  int64_t n_answered = 0;
};

struct PromptResult {
  int64_t n_prompt = 0;
  std::vector<int32_t> full_answer;
  std::string full_text;
  std::vector<PolicyResult> results;  // policies in order, each at all budgets in order
};

// Errors: as Engine::prefill; a budget too small for a policy (names both); cancelled.
Result<PromptResult> run_prompt(Engine& engine, std::span<const int32_t> ids, const RunnerOptions& options,
                                const std::function<void(int64_t done, int64_t total)>& on_progress);

}  // namespace ripplekv
