// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv eval: policies x budgets on the samples of a suite.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/places.h"
#include "cli/policies.h"
#include "cli/setup.h"
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

class Evaluation {
 public:
  Evaluation(const EvalArgs& args, Engine& engine, std::vector<EvalPolicy> policies, ResultsFile& results)
      : args_(args), engine_(engine), policies_(std::move(policies)), results_(results) {}

  Status run(const std::vector<EvalSample>& samples) {
    auto chat = model_chat_template(engine_.model());
    if (!chat.ok() && chat.status().code() != StatusCode::kNotFound) return chat.status();
    constexpr int64_t kUnits = 1000;
    Progress progress("evaluating", static_cast<int64_t>(samples.size()) * kUnits);
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto at = static_cast<int64_t>(i) * kUnits;
      const std::vector<EvalPolicy> missing = missing_of(samples[i]);
      if (!missing.empty()) {
        RKV_RETURN_IF_ERROR(
            run_sample(samples[i], missing, chat.ok() ? &*chat : nullptr,
                       [&](int64_t done, int64_t total) { progress.update(at + done * (kUnits / 2) / total); }));
      }
      progress.update(at + kUnits);
    }
    progress.finish();
    if (n_cut_ > 0) print_to_stderr(fmt::format("note: {} prompts were cut in the middle to fit", n_cut_));
    return ok_status();
  }
  int n_failed() const { return n_failed_; }

 private:
  std::vector<double> budgets_of(const EvalPolicy& policy) const {
    return policy.policy.allocator == "full" ? std::vector<double>{1.0} : args_.kept;
  }

  // Policies of which a budget is missing.
  std::vector<EvalPolicy> missing_of(const EvalSample& sample) const {
    std::vector<EvalPolicy> missing;
    for (const EvalPolicy& policy : policies_) {
      const auto budgets = budgets_of(policy);
      if (!std::all_of(budgets.begin(), budgets.end(),
                       [&](double kept) { return results_.has(name_of(sample), policy.name, kept); }))
        missing.push_back(policy);
    }
    return missing;
  }

  Status run_sample(const EvalSample& sample, const std::vector<EvalPolicy>& policies, const ChatTemplate* chat,
                    const std::function<void(int64_t, int64_t)>& on_progress) {
    const Model& model = engine_.model();
    RunnerOptions options;
    options.policies = policies;
    options.kept = args_.kept;
    options.match = args_.match_bytes ? MatchBy::kBytes : MatchBy::kRows;
    options.n_answer = args_.n_answer;
    options.n_generate = args_.generate ? sample.n_answer_max : 0;
    options.full_format = args_.type.format();
    const int64_t room = context_limit(args_.model, model.config()) - std::max(options.n_answer, options.n_generate);
    const int64_t max_tokens = args_.max_tokens > 0 ? std::min(args_.max_tokens, room) : room;
    const Result<PromptResult> measured = [&]() -> Result<PromptResult> {
      RKV_ASSIGN_OR_RETURN(const EvalPrompt prompt, tokenize_prompt(model, chat, sample, max_tokens));
      n_cut_ += prompt.n_cut > 0 ? 1 : 0;
      return run_prompt(engine_, prompt.ids, options, on_progress);
    }();
    std::vector<ResultLine> lines;
    if (!measured.ok()) {
      if (measured.status().code() == StatusCode::kCancelled) return measured.status();
      ++n_failed_;
      print_to_stderr(fmt::format("{}: {}", name_of(sample), measured.status().message()));
      for (const EvalPolicy& policy : policies) {
        for (double kept : budgets_of(policy)) {
          ResultLine& line = lines.emplace_back();
          line.sample = name_of(sample);
          line.task = sample.task;
          line.policy = policy.name;
          line.kept = kept;
          line.error = measured.status().message();
        }
      }
      return results_.append(lines);
    }
    for (const PolicyResult& result : measured->results) {
      if (results_.has(name_of(sample), result.policy, result.kept)) continue;
      ResultLine& line = lines.emplace_back(result_line(name_of(sample), sample.task, *measured, result));
      if (args_.generate) {
        RKV_ASSIGN_OR_RETURN(line.score, score_answer(sample, result.answer));
      }
    }
    return results_.append(lines);
  }

  const EvalArgs& args_;
  Engine& engine_;
  std::vector<EvalPolicy> policies_;
  ResultsFile& results_;
  int n_failed_ = 0;
  int n_cut_ = 0;
};

}  // namespace

Status cmd_eval(const EvalArgs& args) {
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
  RKV_ASSIGN_OR_RETURN(ResultsFile results, ResultsFile::open(args.output_file, header_of(args, *model), args.fresh));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  engine->set_cancel(interrupt_flag());
  Evaluation evaluation(args, *engine, policies, results);
  const Status status = evaluation.run(samples);
  if (!status.ok()) {
    return status.code() == StatusCode::kCancelled
               ? cancelled(fmt::format("interrupted; what is measured is in '{}', the same command goes on",
                                       args.output_file))
               : status;
  }
  std::vector<std::string> names;
  for (const EvalPolicy& policy : policies) names.push_back(policy.name);
  const Summary summary = summarise(results.lines(), names, args.baseline);
  if (args.output.json) {
    fmt::print("{}\n", json_text(summary_json(summary)));
  } else {
    fmt::print("{}", summary_table(summary));
  }
  if (evaluation.n_failed() == 0) return ok_status();
  return data_loss(
      fmt::format("{} of {} samples failed; the same command tries them again", evaluation.n_failed(), samples.size()));
}

}  // namespace ripplekv
