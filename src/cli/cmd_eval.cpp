// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv eval: policies x budgets on the samples of a suite.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/evaluation.h"
#include "cli/interrupt.h"
#include "cli/mpi.h"
#include "cli/places.h"
#include "cli/policies.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/prompt.h"
#include "eval/prompts_file.h"
#include "eval/summary.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

// What no prompt and no budget could mend is refused before anything is prefilled.
Result<std::vector<EvalPolicy>> make_policies(const EvalArgs& args, Profiles& profiles, const Model& model) {
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
    if (!of.full) {
      const Result<Budgets> whole = make_budgets(model.id(), policy.policy, policy.profile);
      if (!whole.ok()) return whole.status().with_context(of.text);
      const Status planned = plan_cache(*whole, model.config(), model.config().n_ctx_train).status();
      if (!planned.ok()) return planned.with_context(of.text);
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

// What results of one file must have in common.
nlohmann::ordered_json header_of(const EvalArgs& args, const Model& model) {
  return {{"model", model.id().name},
          {"fingerprint", model.id().fingerprint},
          {"weights", args.model.weights},
          {"suite", args.suite},
          {"data", std::filesystem::path(args.data_dir).filename().string()},
          {"seed", args.seed},
          {"max_tokens", args.max_tokens},
          {"n_ctx", args.model.n_ctx},
          {"answer_tokens", args.n_answer},
          {"generate", args.generate},
          {"match", args.match_bytes ? "bytes" : "rows"},
          {"full_k", to_string(args.type.format().k)},
          {"full_v", to_string(args.type.format().v)}};
}

std::string cost_line(const SweepCost& cost) {
  std::string line;
  for (const auto& [what, spent] :
       {std::pair{"prefill", &cost.prefill}, std::pair{"forks", &cost.forks}, std::pair{"questions", &cost.questions},
        std::pair{"scoring", &cost.scoring}, std::pair{"answers", &cost.answers}}) {
    if (spent->seconds == 0) continue;
    line += fmt::format("{} {} ({} of processor time), ", what, human_duration(spent->seconds),
                        human_duration(spent->processor_seconds));
  }
  return line + fmt::format("held at most: a full cache of {}, its scores of {}, forks of {}",
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
  if (!args.prompts_file.empty()) {
    RKV_RETURN_IF_ERROR(check_replaces_prompts(args.prompts_file));
    RKV_RETURN_IF_ERROR(prepare_output(args.prompts_file));
  }
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
  RKV_ASSIGN_OR_RETURN(std::vector<EvalPolicy> policies, make_policies(args, profiles, *model));
  RKV_ASSIGN_OR_RETURN(ResultsFile results,
                       ResultsFile::open(args.output_file, header_of(args, *model), args.fresh, ranks));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  engine->set_cancel(interrupt_flag());
  const auto chat = model_chat_template(*model);
  if (!chat.ok() && chat.status().code() != StatusCode::kNotFound) return chat.status();
  Evaluation evaluation(args, *engine, chat.ok() ? &*chat : nullptr, policies, results, ranks);
  if (!args.prompts_file.empty() && ranks.first()) {
    RKV_RETURN_IF_ERROR(write_file_atomically(args.prompts_file, evaluation.prompts_text(samples)));
  }
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
  // The file may hold more: samples, budgets and modes of earlier commands.
  std::vector<ResultLine> asked;
  for (const ResultLine& line : results.lines()) {
    if (places.contains(line.sample) && evaluation.asks_for(line)) asked.push_back(line);
  }
  const Summary summary = summarise(asked, names, args.baseline);
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
