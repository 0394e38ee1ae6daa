// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv tune: tries allocations at a budget on calibration samples, reports all, writes the best one down.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "eval/calibrated.h"
#include "eval/summary.h"

namespace ripplekv {

Status cmd_tune(const TuneArgs& args) {
  if (!args.output_file.empty()) RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
  RKV_ASSIGN_OR_RETURN(const auto model, load_model(args.model));
  RKV_ASSIGN_OR_RETURN(const auto profile, find_profile(args.profile_file, model->id()));
  if (!profile) return not_found("this model has no profile yet: 'ripplekv profile' makes one");
  RKV_ASSIGN_OR_RETURN(const auto samples, calibration_samples(*model, args.choice.calibration, args.choice.n_sample,
                                                               args.choice.seed, args.choice.max_tokens));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  engine->set_cancel(interrupt_flag());
  AllocatorArgs allocator;
  allocator.name = "uniform";
  allocator.pyramid.window = args.selector.options.window;
  RKV_ASSIGN_OR_RETURN(const Policy base, make_policy(args.budget, allocator, args.selector, args.type));
  RunnerOptions options;
  options.policies = candidates(base, *profile);
  options.kept = {args.budget.value};
  options.n_answer = args.choice.n_answer;
  options.full_format = prefill_format(base.kv_format);
  for (const EvalPolicy& policy : options.policies) {
    const std::string note = curves_note(*profile, policy.policy);
    if (!note.empty()) print_to_stderr("note: " + note);
  }
  Progress progress("tuning", static_cast<int64_t>(samples.size()) * 1000);
  RKV_ASSIGN_OR_RETURN(const auto lines,
                       measure_on(*engine, samples, options, [&](int64_t done, int64_t) { progress.update(done); }));
  progress.finish();

  std::vector<std::string> names;
  for (const EvalPolicy& policy : options.policies) names.push_back(policy.name);
  const Summary summary = summarise(lines, names, names[0]);
  const auto best = std::min_element(summary.rows.begin(), summary.rows.end(),
                                     [](const auto& a, const auto& b) { return a.kl.value < b.kl.value; });
  if (!args.output_file.empty()) {
    const auto policy = std::find_if(options.policies.begin(), options.policies.end(),
                                     [&](const EvalPolicy& of) { return of.name == best->policy; });
    RKV_ASSIGN_OR_RETURN(const Budgets budgets, make_budgets(model->id(), policy->policy, &*profile));
    RKV_RETURN_IF_ERROR(write_budgets(budgets, args.output_file));
  }
  if (args.output.json) {
    nlohmann::ordered_json json = summary_json(summary);
    json["best"] = best->policy;
    json["output"] = args.output_file;
    print("{}\n", json_text(json));
    return ok_status();
  }
  print("{}best on these {}: {}, mean KL {:.4f}\n", summary_table(summary), counted(samples.size(), "sample"),
        best->policy, best->kl.value);
  if (!args.output_file.empty()) print("written to {}\n", args.output_file);
  return ok_status();
}

}  // namespace ripplekv
