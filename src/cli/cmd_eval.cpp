// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv eval: policies x budgets on the samples of a suite.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/mpi.h"
#include "cli/places.h"
#include "cli/policies.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/prompt.h"
#include "eval/prompts.h"
#include "eval/results.h"
#include "eval/runner.h"
#include "eval/suite.h"
#include "eval/summary.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

Result<std::vector<EvalPolicy>> make_policies(const EvalArgs& args, Profiles& profiles) {
  std::vector<EvalPolicy> policies;
  for (const PolicyArgs& of : args.policies) {
    EvalPolicy policy;
    policy.name = of.text;
    // The budget is the runner's.
    RKV_ASSIGN_OR_RETURN(policy.policy, policy_of(of, args.type.format(), {KvBudget::Kind::kFraction, 1.0}));
    RKV_ASSIGN_OR_RETURN(policy.profile, profiles.of(of, args.profile_file));
    if (policy.profile != nullptr) {
      const std::string note = curves_note(*policy.profile, policy.policy);
      if (!note.empty()) print_to_stderr(fmt::format("note: {}: {}", of.text, note));
    }
    policies.push_back(std::move(policy));
  }
  return policies;
}

Result<std::vector<EvalSample>> read_samples(const EvalArgs& args, const Model& model) {
  SuiteOptions options;
  options.data_dir = args.data_dir;
  options.tasks = args.tasks;
  options.n_samples = args.n_sample;
  options.seed = args.seed;
  options.lengths = args.lengths;
  options.depths = args.depths;
  options.count_tokens = [&model](std::string_view text) {
    return static_cast<int64_t>(model.vocab().tokenize(text, false, false).size());
  };
  return read_suite(args.suite, options);
}

std::string name_of(const EvalSample& sample) { return sample.task + ":" + sample.id; }

// ResultLine::source.
class Sources {
 public:
  explicit Sources(const std::vector<EvalPolicy>& policies) {
    for (const EvalPolicy& policy : policies) {
      profiles_[policy.name] = policy.profile == nullptr ? "" : hash_of(*policy.profile);
    }
  }
  bool knows(const std::string& policy) const { return profiles_.contains(policy); }
  std::string of(const EvalSample& sample, const std::string& policy) const {
    // Lengths keep apart what would read the same one behind the other.
    std::string all = fmt::format("{} {} ", sample.document.size(), sample.question.size());
    all += sample.document + sample.question;
    for (const std::string& answer : sample.answers) all += fmt::format("\n{} {}", answer.size(), answer);
    const std::string& profile = profiles_.at(policy);
    if (!profile.empty()) all += "\n" + profile;
    return hash_of_bytes(all);
  }

 private:
  std::map<std::string, std::string> profiles_;  // hashes, by the policies' names
};

// A file that is gone on with must hold what would be measured again.
Status check_sources(const ResultsFile& results, std::span<const EvalSample> samples, const Sources& sources,
                     const std::string& path) {
  std::map<std::string, const EvalSample*> by_name;
  for (const EvalSample& sample : samples) by_name[name_of(sample)] = &sample;
  for (const ResultLine& line : results.lines()) {
    const auto sample = by_name.find(line.sample);
    if (line.source.empty() || sample == by_name.end() || !sources.knows(line.policy)) continue;
    if (sources.of(*sample->second, line.policy) == line.source) continue;
    return mismatch(
        fmt::format("{}: holds results of '{}' for sample '{}' from another text or another profile; "
                    "--fresh starts over",
                    path, line.policy, line.sample));
  }
  return ok_status();
}

// What results of one file must have in common.
nlohmann::ordered_json header_of(const EvalArgs& args, const Model& model) {
  return {{"model", model.id().name},
          {"fingerprint", model.id().fingerprint},
          {"weights", args.model.weights},
          {"suite", args.suite},
          {"data", std::filesystem::path(args.data_dir).filename().string()},
          {"seed", args.seed},
          {"max_tokens", args.max_tokens},
          {"answer_tokens", args.n_answer},
          {"generate", args.generate},
          {"match", args.match_bytes ? "bytes" : "rows"},
          {"full_k", to_string(args.type.format().k)},
          {"full_v", to_string(args.type.format().v)}};
}

std::vector<QuestionMode> modes_of(const EvalArgs& args) {
  std::vector<QuestionMode> modes;
  if (args.question != "agnostic") modes.push_back(QuestionMode::kAware);
  if (args.question != "aware") modes.push_back(QuestionMode::kAgnostic);
  return modes;
}

using Samples = std::span<const EvalSample>;

// What one rank takes at a time: neighbours that ask about one document, where that is read once for all of them.
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

class Evaluation {
 public:
  Evaluation(const EvalArgs& args, Engine& engine, std::vector<EvalPolicy> policies, ResultsFile& results,
             const Ranks& ranks)
      : args_(args),
        engine_(engine),
        sources_(policies),
        policies_(std::move(policies)),
        results_(results),
        ranks_(ranks) {}

  Status run(Samples samples) {
    RKV_RETURN_IF_ERROR(check_sources(results_, samples, sources_, args_.output_file));
    auto chat = model_chat_template(engine_.model());
    if (!chat.ok() && chat.status().code() != StatusCode::kNotFound) return chat.status();
    if (chat.ok()) chat_ = &*chat;
    const std::vector<QuestionMode> modes = modes_of(args_);
    const auto n_shared = static_cast<int64_t>(samples.size() * modes.size()) / ranks_.count;
    Progress progress("evaluating", std::max<int64_t>(1, n_shared) * kUnits);
    progress_ = &progress;
    const std::vector<Samples> groups = groups_of(samples, args_);
    for (size_t g = 0; g < groups.size(); ++g) {
      const Samples group = groups[g];
      if (!ranks_.takes(g)) continue;
      for (const QuestionMode mode : modes) {
        if (mode == QuestionMode::kAgnostic) {
          RKV_RETURN_IF_ERROR(measure(group, mode));
          continue;
        }
        for (size_t i = 0; i < group.size(); ++i) RKV_RETURN_IF_ERROR(measure(group.subspan(i, 1), mode));
      }
    }
    progress.finish();
    if (n_cut_ > 0) print_to_stderr(fmt::format("note: cut in the middle to fit: {}", counted(n_cut_, "prompt")));
    return ok_status();
  }
  const SweepCost& cost() const { return cost_; }

  // Samples of which something is not measured.
  int n_failed(Samples samples) const {
    const std::vector<QuestionMode> modes = modes_of(args_);
    return static_cast<int>(std::count_if(samples.begin(), samples.end(), [&](const EvalSample& sample) {
      return std::any_of(modes.begin(), modes.end(),
                         [&](QuestionMode mode) { return !missing_of(sample, mode).empty(); });
    }));
  }

 private:
  static constexpr int64_t kUnits = 1000;  // of progress, for one sample

  std::vector<double> budgets_of(const EvalPolicy& policy) const {
    return policy.policy.allocator == "full" ? std::vector<double>{1.0} : args_.kept;
  }

  // Policies of which a budget is missing.
  std::vector<EvalPolicy> missing_of(const EvalSample& sample, QuestionMode mode) const {
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
  Status measure(Samples samples, QuestionMode mode) {
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

  std::vector<EvalPolicy> union_of(const std::vector<std::vector<EvalPolicy>>& missing) const {
    std::vector<EvalPolicy> all;
    for (const EvalPolicy& policy : policies_) {
      const auto has = [&](const std::vector<EvalPolicy>& of) {
        return std::any_of(of.begin(), of.end(), [&](const EvalPolicy& other) { return other.name == policy.name; });
      };
      if (std::any_of(missing.begin(), missing.end(), has)) all.push_back(policy);
    }
    return all;
  }

  Result<PromptRunner> prefill(Samples samples, QuestionMode mode, std::vector<EvalPolicy> policies, int64_t begun,
                               SplitPrompt& prompt) {
    const Model& model = engine_.model();
    RunnerOptions options;
    options.policies = std::move(policies);
    options.kept = args_.kept;
    options.match = args_.match_bytes ? MatchBy::kBytes : MatchBy::kRows;
    options.n_answer = args_.n_answer;
    options.n_generate = args_.generate ? samples[0].n_answer_max : 0;
    options.full_format = args_.type.format();
    const int64_t room = context_limit(args_.model, model.config()) - std::max(options.n_answer, options.n_generate);
    const int64_t max_tokens = args_.max_tokens > 0 ? std::min(args_.max_tokens, room) : room;
    if (mode == QuestionMode::kAware) {
      RKV_ASSIGN_OR_RETURN(EvalPrompt whole, tokenize_prompt(model, chat_, samples[0], max_tokens));
      prompt = {std::move(whole.ids), {{}}, whole.n_cut};
    } else {
      RKV_ASSIGN_OR_RETURN(prompt, tokenize_apart(model, chat_, samples, max_tokens));
    }
    n_cut_ += prompt.n_cut > 0 ? 1 : 0;
    size_t n_question = 0;
    for (const auto& question : prompt.questions) n_question = std::max(n_question, question.size());
    return PromptRunner::create(
        engine_, prompt.document, options, static_cast<int64_t>(n_question),
        [&](int64_t done, int64_t total) { progress_->update(begun * kUnits + done * (kUnits / 2) / total); });
  }

  // One line for each measurement that was missing.
  Status record(const EvalSample& sample, QuestionMode mode, const std::vector<EvalPolicy>& policies,
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
      if (args_.generate) {
        RKV_ASSIGN_OR_RETURN(line.score, score_answer(sample, result.answer));
      }
    }
    return results_.append(lines);
  }

  const EvalArgs& args_;
  Engine& engine_;
  Sources sources_;
  std::vector<EvalPolicy> policies_;
  ResultsFile& results_;
  const Ranks& ranks_;
  const ChatTemplate* chat_ = nullptr;  // null: the model has none
  Progress* progress_ = nullptr;
  SweepCost cost_;
  int64_t n_done_ = 0;  // samples, of each mode
  int n_cut_ = 0;
};

std::string cost_line(const SweepCost& cost) {
  std::string line;
  for (const auto& [what, spent] :
       {std::pair{"prefill", &cost.prefill}, std::pair{"forks", &cost.forks}, std::pair{"questions", &cost.questions},
        std::pair{"scoring", &cost.scoring}, std::pair{"answers", &cost.answers}}) {
    if (spent->seconds == 0) continue;
    line += fmt::format("{} {} ({} of processor time), ", what, human_duration(spent->seconds),
                        human_duration(spent->processor_seconds));
  }
  return line + fmt::format("held at most: a full cache of {}, its scores of {}, a fork of {}",
                            human_bytes(cost.full_bytes), human_bytes(cost.score_bytes), human_bytes(cost.fork_bytes));
}

nlohmann::ordered_json cost_json(const SweepCost& cost) {
  const auto spent = [](const Spent& of) {
    return nlohmann::ordered_json{{"seconds", of.seconds}, {"processor_seconds", of.processor_seconds}};
  };
  return {{"prefill", spent(cost.prefill)},  {"forks", spent(cost.forks)},     {"questions", spent(cost.questions)},
          {"scoring", spent(cost.scoring)},  {"answers", spent(cost.answers)}, {"full_bytes", cost.full_bytes},
          {"score_bytes", cost.score_bytes}, {"fork_bytes", cost.fork_bytes}};
}

}  // namespace

Status cmd_eval(const EvalArgs& args) {
  RKV_ASSIGN_OR_RETURN(const Ranks ranks, join_ranks());
  RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
  RKV_ASSIGN_OR_RETURN(const auto model, load_model(args.model));
  RKV_ASSIGN_OR_RETURN(const auto samples, read_samples(args, *model));
  if (args.data_dir.empty()) {
    const int64_t n_ctx = context_limit(args.model, model->config());
    const int64_t most = args.max_tokens > 0 ? std::min(args.max_tokens, n_ctx) : n_ctx;
    for (const EvalSample& sample : samples) {
      if (sample.length <= most) continue;
      return invalid_argument(
          fmt::format("--lengths: got {} tokens, expected at most {} ({}): a cut would drop what is "
                      "asked for",
                      sample.length, most, most < n_ctx ? "--max-tokens" : "the context; --ctx-size raises it"));
    }
  }
  Profiles profiles(model->id());
  RKV_ASSIGN_OR_RETURN(std::vector<EvalPolicy> policies, make_policies(args, profiles));
  RKV_ASSIGN_OR_RETURN(ResultsFile results,
                       ResultsFile::open(args.output_file, header_of(args, *model), args.fresh, ranks));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  engine->set_cancel(interrupt_flag());
  Evaluation evaluation(args, *engine, policies, results, ranks);
  const Status status = evaluation.run(samples);
  if (!status.ok()) {
    return status.code() == StatusCode::kCancelled
               ? cancelled(fmt::format("interrupted; what is measured is in '{}', the same command goes on",
                                       args.output_file))
               : status;
  }
  std::map<std::string, size_t> places;
  const std::vector<Samples> groups = groups_of(samples, args);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const EvalSample& sample : groups[g]) places[name_of(sample)] = g;
  }
  RKV_RETURN_IF_ERROR(results.join(places));
  if (!ranks.first()) return ok_status();
  std::vector<std::string> names;
  for (const EvalPolicy& policy : policies) names.push_back(policy.name);
  const Summary summary = summarise(results.lines(), names, args.baseline);
  if (args.output.json) {
    nlohmann::ordered_json json = summary_json(summary);
    json["cost"] = cost_json(evaluation.cost());
    print("{}\n", json_text(json));
  } else {
    print("{}", summary_table(summary));
    if (evaluation.cost().full_bytes > 0) {
      print_to_stderr((ranks.count > 1 ? fmt::format("the first of {} ranks: ", ranks.count) : "") +
                      cost_line(evaluation.cost()));
    }
  }
  const int n_failed = evaluation.n_failed(samples);
  if (n_failed == 0) return ok_status();
  return data_loss(
      fmt::format("{} of {} failed; the same command tries again", n_failed, counted(samples.size(), "sample")));
}

}  // namespace ripplekv
