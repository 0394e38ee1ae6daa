// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/text.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "eval/prompts_file.h"

namespace ripplekv {
namespace {

constexpr int64_t kUnits = 1000;  // of progress, for one sample

std::vector<QuestionMode> modes_of(const EvalArgs& args) {
  std::vector<QuestionMode> modes;
  if (args.question != "agnostic") modes.push_back(QuestionMode::kAware);
  if (args.question != "aware") modes.push_back(QuestionMode::kAgnostic);
  return modes;
}

// The parts of a group that are tokenized and prefilled at once: whole prompts are each their own.
std::vector<Samples> prefilled_of(Samples group, QuestionMode mode) {
  if (mode == QuestionMode::kAgnostic) return {group};
  std::vector<Samples> parts;
  for (size_t i = 0; i < group.size(); ++i) parts.push_back(group.subspan(i, 1));
  return parts;
}

}  // namespace

std::string name_of(const EvalSample& sample) { return sample.task + ":" + sample.id; }

std::vector<Samples> groups_of(Samples samples, const EvalArgs& args) {
  std::vector<Samples> groups;
  if (args.question == "aware") {
    for (size_t i = 0; i < samples.size(); ++i) groups.push_back(samples.subspan(i, 1));
    return groups;
  }
  for (size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    while (end < samples.size() && samples[end].task == samples[begin].task &&
           samples[end].document == samples[begin].document)
      ++end;
    groups.push_back(samples.subspan(begin, end - begin));
  }
  return groups;
}

Sources::Sources(const std::vector<EvalPolicy>& policies) {
  for (const EvalPolicy& policy : policies) {
    profiles_[policy.name] = policy.profile == nullptr ? "" : hash_of(*policy.profile);
  }
}

std::string Sources::of(const EvalSample& sample, const std::string& policy) const {
  // Lengths keep apart what would read the same one behind the other.
  std::string all = fmt::format("{} {} ", sample.document.size(), sample.question.size());
  all += sample.document + sample.question;
  // What an answer is scored by, and how long it may be.
  for (const auto& [what, texts] :
       {std::pair{"answer", &sample.answers}, {"class", &sample.classes}, {"beside", &sample.questions_beside}}) {
    for (const std::string& text : *texts) all += fmt::format("\n{} {} {}", what, text.size(), text);
  }
  all += fmt::format("\n{} {}", sample.metric, sample.n_answer_max);
  const std::string& profile = profiles_.at(policy);
  if (!profile.empty()) all += "\n" + profile;
  return hash_of_bytes(all);
}

// A file that is gone on with must hold what would be measured again.
Status Evaluation::check_sources(Samples samples) const {
  std::map<std::string, const EvalSample*> by_name;
  for (const EvalSample& sample : samples) by_name[name_of(sample)] = &sample;
  for (const ResultLine& line : results_.lines()) {
    const auto sample = by_name.find(line.sample);
    if (line.source.empty() || sample == by_name.end() || !sources_.knows(line.policy)) continue;
    if (sources_.of(*sample->second, line.policy) == line.source) continue;
    return mismatch(
        fmt::format("{}: holds results of '{}' for sample '{}' from another text or another profile; "
                    "--fresh starts over",
                    args_.output_file, line.policy, line.sample));
  }
  return ok_status();
}

std::string Evaluation::prompts_text(Samples samples) const {
  std::string text = prompts_header(engine_.model(), args_.suite);
  for (const Samples group : groups_of(samples, args_)) {
    for (const QuestionMode mode : modes_of(args_)) {
      for (const Samples part : prefilled_of(group, mode)) {
        const Result<SplitPrompt> prompt = tokenize(part, mode);
        for (size_t i = 0; i < part.size(); ++i) text += prompt_line(name_of(part[i]), part[i], mode, prompt, i);
      }
    }
  }
  return text;
}

Status Evaluation::run(Samples samples) {
  RKV_RETURN_IF_ERROR(check_sources(samples));
  const std::vector<QuestionMode> modes = modes_of(args_);
  const auto n_shared = static_cast<int64_t>(samples.size() * modes.size()) / ranks_.count;
  Progress progress("evaluating", std::max<int64_t>(1, n_shared) * kUnits);
  progress_ = &progress;
  const std::vector<Samples> groups = groups_of(samples, args_);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!ranks_.takes(g)) continue;
    for (const QuestionMode mode : modes) {
      for (const Samples part : prefilled_of(groups[g], mode)) RKV_RETURN_IF_ERROR(measure(part, mode));
    }
  }
  progress.finish();
  if (n_cut_ > 0) print_to_stderr(fmt::format("note: cut in the middle to fit: {}", counted(n_cut_, "prompt")));
  return ok_status();
}

int Evaluation::n_failed(Samples samples) const {
  const std::vector<QuestionMode> modes = modes_of(args_);
  return static_cast<int>(std::count_if(samples.begin(), samples.end(), [&](const EvalSample& sample) {
    return std::any_of(modes.begin(), modes.end(),
                       [&](QuestionMode mode) { return !missing_of(sample, mode).empty(); });
  }));
}

bool Evaluation::asks_for(const ResultLine& line) const {
  const std::vector<QuestionMode> modes = modes_of(args_);
  if (std::find(modes.begin(), modes.end(), line.question) == modes.end()) return false;
  return std::any_of(policies_.begin(), policies_.end(), [&](const EvalPolicy& policy) {
    const std::vector<double> budgets = budgets_of(policy);
    return policy.name == line.policy &&
           std::any_of(budgets.begin(), budgets.end(), [&](double kept) { return std::abs(kept - line.kept) < 1e-12; });
  });
}

std::vector<double> Evaluation::budgets_of(const EvalPolicy& policy) const {
  return policy.policy.allocator == "full" ? std::vector<double>{1.0} : args_.kept;
}

// Policies of which a budget is missing.
std::vector<EvalPolicy> Evaluation::missing_of(const EvalSample& sample, QuestionMode mode) const {
  std::vector<EvalPolicy> missing;
  for (const EvalPolicy& policy : policies_) {
    const auto budgets = budgets_of(policy);
    if (!std::all_of(budgets.begin(), budgets.end(),
                     [&](double kept) { return results_.has(name_of(sample), policy.name, mode, kept); }))
      missing.push_back(policy);
  }
  return missing;
}

// One prefill: of a sample's prompt, or of the document that all the samples ask about.
Status Evaluation::measure(Samples samples, QuestionMode mode) {
  const int64_t begun = n_done_;
  n_done_ += static_cast<int64_t>(samples.size());
  std::vector<std::vector<EvalPolicy>> missing;
  for (const EvalSample& sample : samples) missing.push_back(missing_of(sample, mode));
  const auto is_done = [](const std::vector<EvalPolicy>& of) { return of.empty(); };
  if (!std::all_of(missing.begin(), missing.end(), is_done)) {
    SplitPrompt prompt;
    Result<PromptRunner> runner = prefill(samples, mode, union_of(missing), begun, prompt);
    for (size_t i = 0; i < samples.size(); ++i) {
      if (is_done(missing[i])) continue;
      const Result<PromptResult> measured =
          runner.ok() ? runner->ask(prompt.questions[i], missing[i]) : Result<PromptResult>(runner.status());
      if (measured.status().code() == StatusCode::kCancelled) return measured.status();
      RKV_RETURN_IF_ERROR(record(samples[i], mode, missing[i], measured));
      progress_->update((begun + static_cast<int64_t>(i) + 1) * kUnits);
    }
    if (runner.ok()) cost_.add(runner->cost());
  }
  progress_->update(n_done_ * kUnits);
  return ok_status();
}

std::vector<EvalPolicy> Evaluation::union_of(const std::vector<std::vector<EvalPolicy>>& missing) const {
  std::vector<EvalPolicy> all;
  for (const EvalPolicy& policy : policies_) {
    const auto has = [&](const std::vector<EvalPolicy>& of) {
      return std::any_of(of.begin(), of.end(), [&](const EvalPolicy& other) { return other.name == policy.name; });
    };
    if (std::any_of(missing.begin(), missing.end(), has)) all.push_back(policy);
  }
  return all;
}

// Empty questions where the prompts are whole.
Result<SplitPrompt> Evaluation::tokenize(Samples samples, QuestionMode mode) const {
  const Model& model = engine_.model();
  const int64_t room = context_limit(args_.model, model.config()) - std::max(args_.n_answer, n_generate(samples[0]));
  const int64_t max_tokens = args_.max_tokens > 0 ? std::min(args_.max_tokens, room) : room;
  if (mode == QuestionMode::kAgnostic) return tokenize_apart(model, chat_, samples, max_tokens);
  RKV_ASSIGN_OR_RETURN(EvalPrompt whole, tokenize_prompt(model, chat_, samples[0], max_tokens));
  return SplitPrompt{std::move(whole.ids), {{}}, whole.n_cut};
}

Result<PromptRunner> Evaluation::prefill(Samples samples, QuestionMode mode, std::vector<EvalPolicy> policies,
                                         int64_t begun, SplitPrompt& prompt) {
  RunnerOptions options;
  options.policies = std::move(policies);
  options.kept = args_.kept;
  options.match = args_.match_bytes ? MatchBy::kBytes : MatchBy::kRows;
  options.n_answer = args_.n_answer;
  options.n_generate = n_generate(samples[0]);
  options.n_parallel = args_.n_parallel;
  options.full_format = args_.type.format();
  RKV_ASSIGN_OR_RETURN(prompt, tokenize(samples, mode));
  n_cut_ += prompt.n_cut > 0 ? 1 : 0;
  size_t n_question = 0;
  for (const auto& question : prompt.questions) n_question = std::max(n_question, question.size());
  return PromptRunner::create(
      engine_, prompt.document, options, static_cast<int64_t>(n_question),
      [&](int64_t done, int64_t total) { progress_->update(begun * kUnits + done * (kUnits / 2) / total); });
}

// One line for each measurement that was missing.
Status Evaluation::record(const EvalSample& sample, QuestionMode mode, const std::vector<EvalPolicy>& policies,
                          const Result<PromptResult>& measured) {
  std::vector<ResultLine> lines;
  if (!measured.ok()) {
    print_to_stderr(fmt::format("{}: {}", name_of(sample), measured.status().message()));
    for (const EvalPolicy& policy : policies) {
      for (double kept : budgets_of(policy)) {
        ResultLine& line = lines.emplace_back();
        line.sample = name_of(sample);
        line.task = sample.task;
        line.policy = policy.name;
        line.question = mode;
        line.kept = kept;
        line.source = sources_.of(sample, policy.name);
        line.error = measured.status().message();
      }
    }
    return results_.append(lines);
  }
  for (const PolicyResult& result : measured->results) {
    if (results_.has(name_of(sample), result.policy, mode, result.kept)) continue;
    ResultLine& line = lines.emplace_back(result_line(name_of(sample), sample.task, mode, *measured, result));
    line.source = sources_.of(sample, line.policy);
    if (!line.error.empty()) print_to_stderr(fmt::format("{}: {}", line.sample, line.error));
    if (args_.generate && line.error.empty()) {
      RKV_ASSIGN_OR_RETURN(line.score, score_answer(sample, result.answer));
    }
  }
  return results_.append(lines);
}

}  // namespace ripplekv
