// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv allocate: a profile and a global budget -> rows per layer.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

namespace ripplekv {
namespace {

// What budgets are made for: a model, or the one that a profile was made from.
struct Subject {
  ModelId id;
  std::shared_ptr<const Model> model;  // null if only the profile was read
  std::optional<Profile> profile;
};

bool has_target(const AllocateArgs& args) { return args.target_kl > 0 || args.target_top1 > 0; }
bool measures(const AllocateArgs& args) { return args.audit || has_target(args); }

Result<Subject> find_subject(const AllocateArgs& args) {
  Subject subject;
  const bool by_profile = args.allocator.name.empty() || needs_profile(args.allocator.name);
  const bool needs_model = !args.model.path.empty() || args.model.n_ctx > 0 || args.allocator.profile_file.empty() ||
                           !by_profile || measures(args);
  if (needs_model) {
    RKV_ASSIGN_OR_RETURN(const std::string path, model_path_or_default(args.model.path));
    if (measures(args)) {
      ModelArgs model_args = args.model;
      model_args.path = path;
      RKV_ASSIGN_OR_RETURN(subject.model, load_model(model_args));
    } else {
      RKV_ASSIGN_OR_RETURN(subject.model, Model::load(path, {.n_ctx = args.model.n_ctx}));
    }
    subject.id = subject.model->id();
    if (by_profile) {
      RKV_ASSIGN_OR_RETURN(subject.profile, find_profile(args.allocator.profile_file, subject.id));
    }
    return subject;
  }
  RKV_ASSIGN_OR_RETURN(subject.profile, read_profile(args.allocator.profile_file));
  subject.id = subject.profile->model;
  return subject;
}

// The policy at several kept fractions on the samples of a choice. Fractions too small for the selector are left out.
Result<std::vector<ResultLine>> measure(const AllocateArgs& args, const Subject& subject, const Policy& policy,
                                        const std::vector<double>& fractions) {
  RKV_ASSIGN_OR_RETURN(const auto samples,
                       calibration_samples(*subject.model, args.choice.calibration, args.choice.n_sample,
                                           args.choice.seed, args.choice.max_tokens));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(subject.model, args.model));
  engine->set_cancel(interrupt_flag());
  RunnerOptions options;
  options.policies = {{policy.allocator, policy, subject.profile ? &*subject.profile : nullptr}};
  options.n_answer = args.choice.n_answer;
  options.full_format = prefill_format(policy.kv_format);
  for (double kept : fractions) {
    const auto fits = [&](const ProfilerSample& sample) {
      Policy at = policy;
      at.budget = {KvBudget::Kind::kFraction, kept};
      const auto n_prompt = static_cast<int64_t>(sample.ids.size());
      const auto budgets = make_budgets(subject.id, at, options.policies[0].profile, n_prompt);
      // Of what ails the policy at any fraction, the largest one's measurement tells.
      return kept >= 1 || (budgets.ok() && plan_cache(*budgets, subject.model->config(), n_prompt).ok());
    };
    if (fractions.size() == 1 || std::all_of(samples.begin(), samples.end(), fits)) options.kept.push_back(kept);
  }
  Progress progress("measuring", static_cast<int64_t>(samples.size()) * 1000);
  auto lines = measure_on(*engine, samples, options, [&](int64_t done, int64_t) { progress.update(done); });
  progress.finish();
  return lines;
}

// What was measured of the chosen budget, for people and for the JSON.
struct Measured {
  double kl = 0;
  double top1 = 0;
  int n_sample = 0;
  std::optional<double> predicted;  // of a profile with curves
};

Result<Measured> audit(const std::vector<ResultLine>& lines, double kept, const Subject& subject,
                       const Budgets& budgets) {
  Measured measured;
  int64_t n_prompt = 0;
  for (const ResultLine& line : lines) {
    if (line.kept != kept) continue;
    measured.kl += line.kl;
    measured.top1 += line.top1;
    n_prompt = std::max(n_prompt, line.n_prompt);
    ++measured.n_sample;
  }
  measured.kl /= measured.n_sample;
  measured.top1 /= measured.n_sample;
  if (!subject.profile || subject.profile->settings.curve_fractions.empty()) return measured;
  RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_cache(budgets, subject.model->config(), n_prompt));
  std::vector<double> fractions;
  for (int64_t rows : plan.rows) fractions.push_back(static_cast<double>(rows) / static_cast<double>(n_prompt));
  RKV_ASSIGN_OR_RETURN(measured.predicted,
                       predicted_damage(*subject.profile, budgets.allocator, plan.format, fractions));
  return measured;
}

}  // namespace

Status cmd_allocate(const AllocateArgs& args) {
  const KvBudget all = {KvBudget::Kind::kFraction, 1};
  RKV_ASSIGN_OR_RETURN(Policy policy, make_policy(args.budget.value_or(all), args.allocator, args.selector, args.type));
  if (args.audit && policy.budget.kind != KvBudget::Kind::kFraction) {
    return invalid_argument(
        fmt::format("--audit: got a budget of {}, expected a fraction such as 10%", policy.budget.to_string()));
  }
  RKV_ASSIGN_OR_RETURN(const Subject subject, find_subject(args));
  if (policy.allocator.empty() && !subject.profile) {
    return not_found(
        "there is no profile of this model: make one with 'ripplekv profile', name it with --profile, or choose an "
        "allocator that needs none (--allocator uniform or pyramid)");
  }
  if (policy.allocator.empty()) policy.allocator = usual_allocator(subject.profile, policy);
  if (subject.profile && !subject.profile->complete()) print_to_stderr("note: " + unfinished_note(*subject.profile));
  if (subject.profile) {
    const std::string note = curves_note(*subject.profile, policy);
    if (!note.empty()) print_to_stderr("note: " + note);
  }
  std::vector<ResultLine> lines;
  if (measures(args)) {
    const std::vector<double> fractions = has_target(args) ? target_ladder() : std::vector<double>{policy.budget.value};
    RKV_ASSIGN_OR_RETURN(lines, measure(args, subject, policy, fractions));
  }
  if (has_target(args)) {
    const Target target = {args.target_kl, args.target_top1};
    RKV_ASSIGN_OR_RETURN(policy.budget.value, smallest_kept(lines, target));
  }
  RKV_ASSIGN_OR_RETURN(const Budgets budgets,
                       make_budgets(subject.id, policy, subject.profile ? &*subject.profile : nullptr));
  std::optional<Measured> measured;
  if (measures(args)) {
    RKV_ASSIGN_OR_RETURN(measured, audit(lines, policy.budget.value, subject, budgets));
  }
  RKV_ASSIGN_OR_RETURN(const std::vector<int64_t> rows, plan_rows(budgets, args.n_prompt));
  RKV_ASSIGN_OR_RETURN(const auto head_rows, plan_head_rows(budgets, rows, args.n_prompt));
  const std::vector<int> sharing = subject.id.compressible_layers();
  int64_t total = 0;  // of the layers that share the budget
  for (int il : sharing) total += rows[static_cast<size_t>(il)];
  if (!args.output_file.empty()) {
    RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
    RKV_RETURN_IF_ERROR(write_budgets(budgets, args.output_file));
  }
  const double kept =
      static_cast<double>(total) / static_cast<double>(args.n_prompt * static_cast<int64_t>(sharing.size()));
  if (args.output.json) {
    nlohmann::ordered_json json = {{"allocator", budgets.allocator},
                                   {"kv_budget", budgets.budget.to_string()},
                                   {"budget_of", budgets.counts_bytes() ? "bytes" : "rows"},
                                   {"tokens", args.n_prompt},
                                   {"rows", rows},
                                   {"k", nlohmann::json::array()},
                                   {"v", nlohmann::json::array()},
                                   {"total_rows", total},
                                   {"kept_fraction", kept},
                                   {"output", args.output_file}};
    if (!head_rows.empty()) json["head_rows"] = head_rows;
    for (const KvFormat& format : budgets.kv_format) {
      json["k"].push_back(to_string(format.k));
      json["v"].push_back(to_string(format.v));
    }
    if (measured) {
      json["measured"] = {{"samples", measured->n_sample}, {"kl", measured->kl}, {"top1", measured->top1}};
      if (measured->predicted) json["measured"]["predicted_kl"] = *measured->predicted;
    }
    print("{}\n", json_text(json));
    return ok_status();
  }
  const int64_t top = *std::max_element(rows.begin(), rows.end());
  print("{:>5}  {:>8}  {:>7}  {:>9}\n", "layer", "rows", "kept", "K/V");
  for (size_t il = 0; il < rows.size(); ++il) {
    const bool slides = !std::binary_search(sharing.begin(), sharing.end(), static_cast<int>(il));
    const KvFormat& format = budgets.kv_format[il];
    print("{:>5}  {:>8}  {:>6.1f}%  {:>9}  {}\n", il, rows[il],
          100.0 * static_cast<double>(rows[il]) / static_cast<double>(args.n_prompt),
          fmt::format("{}/{}", to_string(format.k), to_string(format.v)),
          slides ? "sliding window, outside the budget" : std::string(static_cast<size_t>(40 * rows[il] / top), '#'));
    if (!head_rows.empty() && !head_rows[il].empty())
      print("       heads {}\n", fmt::format("{}", fmt::join(head_rows[il], ", ")));
  }
  print("{:>5}  {:>8}  {:>6.1f}%  of a prompt of {} tokens, {} with budget {}\n", "all", total, 100.0 * kept,
        args.n_prompt, budgets.allocator, budget_text(budgets));
  if (budgets.selector_options.head_floor < 1)
    print("the KV heads of a layer share its rows by their scores (--head-floor)\n");
  if (measured) {
    print("measured on {}: mean KL {:.4g}, the likeliest token agrees in {:.1f}%\n",
          counted(measured->n_sample, "sample"), measured->kl, 100 * measured->top1);
    if (measured->predicted) {
      print("the layers' damages add up to {:.4g}: {:+.4g} is what they do to each other\n", *measured->predicted,
            measured->kl - *measured->predicted);
    }
  }
  if (!args.output_file.empty()) print("written to {}\n", args.output_file);
  return ok_status();
}

}  // namespace ripplekv
