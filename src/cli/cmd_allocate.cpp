// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv allocate: a profile and a global budget -> rows per layer.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"

namespace ripplekv {
namespace {

// The model's shape where it is needed and can be had: bytes need it, the model's id is otherwise the profile's.
struct Subject {
  ModelId id;
  std::shared_ptr<const Model> model;  // null if only the profile was read
  std::optional<Profile> profile;
};

Result<Subject> find_subject(const AllocateArgs& args) {
  Subject subject;
  const bool needs_profile = args.allocator.name == "ripple" || args.allocator.name == "curves";
  const bool needs_model = !args.model.empty() || args.n_ctx > 0 || args.allocator.profile_file.empty() ||
                           !needs_profile || args.budget.kind == KvBudget::Kind::kBytes;
  if (needs_model) {
    RKV_ASSIGN_OR_RETURN(const std::string path, model_path_or_default(args.model));
    RKV_ASSIGN_OR_RETURN(subject.model, Model::load(path, {.n_ctx = args.n_ctx}));
    subject.id = subject.model->id();
    if (needs_profile) {
      RKV_ASSIGN_OR_RETURN(subject.profile, find_profile(args.allocator.profile_file, subject.id));
    }
    return subject;
  }
  RKV_ASSIGN_OR_RETURN(subject.profile, read_profile(args.allocator.profile_file));
  subject.id = subject.profile->model;
  return subject;
}

}  // namespace

Status cmd_allocate(const AllocateArgs& args) {
  RKV_ASSIGN_OR_RETURN(const Policy policy, make_policy(args.budget, args.allocator, args.selector, args.type));
  RKV_ASSIGN_OR_RETURN(const Subject subject, find_subject(args));
  RKV_ASSIGN_OR_RETURN(const Budgets budgets,
                       make_budgets(subject.id, policy, subject.profile ? &*subject.profile : nullptr,
                                    {.layer = subject.model ? subject.model->config().layer_shape() : LayerShape{}}));
  std::vector<int64_t> rows;
  if (subject.model) {
    RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_cache(budgets, subject.model->config(), args.n_prompt));
    rows = plan.rows;
  } else {
    RKV_ASSIGN_OR_RETURN(rows, plan_rows(budgets, args.n_prompt));
  }
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
    const nlohmann::ordered_json json = {{"allocator", budgets.allocator},
                                         {"kv_budget", budgets.budget.to_string()},
                                         {"tokens", args.n_prompt},
                                         {"rows", rows},
                                         {"total_rows", total},
                                         {"kept_fraction", kept},
                                         {"output", args.output_file}};
    fmt::print("{}\n", json_text(json));
    return ok_status();
  }
  const int64_t top = *std::max_element(rows.begin(), rows.end());
  fmt::print("{:>5}  {:>8}  {:>7}\n", "layer", "rows", "kept");
  for (size_t il = 0; il < rows.size(); ++il) {
    const bool slides = !std::binary_search(sharing.begin(), sharing.end(), static_cast<int>(il));
    fmt::print(
        "{:>5}  {:>8}  {:>6.1f}%  {}\n", il, rows[il],
        100.0 * static_cast<double>(rows[il]) / static_cast<double>(args.n_prompt),
        slides ? "sliding window, outside the budget" : std::string(static_cast<size_t>(40 * rows[il] / top), '#'));
  }
  fmt::print("{:>5}  {:>8}  {:>6.1f}%  of a prompt of {} tokens, {} with budget {}\n", "all", total, 100.0 * kept,
             args.n_prompt, budgets.allocator, budgets.budget.to_string());
  if (!args.output_file.empty()) fmt::print("written to {}\n", args.output_file);
  return ok_status();
}

}  // namespace ripplekv
