// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Evaluation: the samples of `eval`, grouped by document, tokenized, measured where a result is missing, and recorded.
// What a prompt's measurements are is eval/runner.h's, how lines are kept eval/results.h's business.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/ranks.h"
#include "cli/args.h"
#include "engine/chat_template.h"
#include "eval/prompts.h"
#include "eval/results.h"
#include "eval/runner.h"
#include "eval/suite.h"

namespace ripplekv {

using Samples = std::span<const EvalSample>;

std::string name_of(const EvalSample& sample);  // unique in a run

// What one rank takes at a time: neighbours that ask about one document, where that is read once for all of them.
std::vector<Samples> groups_of(Samples samples, const EvalArgs& args);

// ResultLine::source: hashes of a sample's text and a policy's profile.
class Sources {
 public:
  explicit Sources(const std::vector<EvalPolicy>& policies);
  bool knows(const std::string& policy) const { return profiles_.contains(policy); }
  std::string of(const EvalSample& sample, const std::string& policy) const;

 private:
  std::map<std::string, std::string> profiles_;  // hashes, by the policies' names
};

class Evaluation {
 public:
  // chat: null if the model has no template. What is handed over by reference must outlive it.
  Evaluation(const EvalArgs& args, Engine& engine, const ChatTemplate* chat, std::vector<EvalPolicy> policies,
             ResultsFile& results, const Ranks& ranks)
      : args_(args),
        engine_(engine),
        chat_(chat),
        sources_(policies),
        policies_(std::move(policies)),
        results_(results),
        ranks_(ranks) {}

  // The prompts as another program may read them (eval/prompts_file.h); nothing is measured.
  std::string prompts_text(Samples samples) const;

  // Errors: results of other texts or profiles; cancelled; a file that cannot be written. A sample that fails is a line
  // with its error.
  Status run(Samples samples);

  const SweepCost& cost() const { return cost_; }
  int n_failed(Samples samples) const;  // samples of which something is not measured
  // Of a policy, budget and mode of this command; its sample is not looked at.
  bool asks_for(const ResultLine& line) const;

 private:
  std::vector<double> budgets_of(const EvalPolicy& policy) const;
  Status check_sources(Samples samples) const;
  std::vector<EvalPolicy> missing_of(const EvalSample& sample, QuestionMode mode) const;
  std::vector<EvalPolicy> union_of(const std::vector<std::vector<EvalPolicy>>& missing) const;
  Result<SplitPrompt> tokenize(Samples samples, QuestionMode mode) const;
  int n_generate(const EvalSample& sample) const { return args_.generate ? sample.n_answer_max : 0; }
  Status measure(Samples samples, QuestionMode mode);
  Result<PromptRunner> prefill(Samples samples, QuestionMode mode, std::vector<EvalPolicy> policies, int64_t begun,
                               SplitPrompt& prompt);
  Status record(const EvalSample& sample, QuestionMode mode, const std::vector<EvalPolicy>& policies,
                const Result<PromptResult>& measured);

  const EvalArgs& args_;
  Engine& engine_;
  const ChatTemplate* chat_;
  Sources sources_;
  std::vector<EvalPolicy> policies_;
  ResultsFile& results_;
  const Ranks& ranks_;
  Progress* progress_ = nullptr;
  SweepCost cost_;
  int64_t n_done_ = 0;  // samples, of each mode
  int n_cut_ = 0;
};

}  // namespace ripplekv
