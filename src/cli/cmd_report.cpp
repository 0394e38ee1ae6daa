// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv report: artefacts as one page, and its tables beside it.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "report/report.h"

namespace ripplekv {

Status cmd_report(const ReportArgs& args) {
  ReportInputs inputs;
  inputs.n_prompt = args.n_prompt;
  inputs.baseline = args.baseline;
  if (!args.profile_file.empty()) {
    RKV_ASSIGN_OR_RETURN(inputs.profile, read_profile(args.profile_file));
  }
  RKV_ASSIGN_OR_RETURN(inputs.budgets, read_named_budgets(args.budgets_files));
  RKV_ASSIGN_OR_RETURN(inputs.evaluations, read_evaluations(args.results_files));
  if (!args.validation_file.empty()) {
    RKV_ASSIGN_OR_RETURN(inputs.validation, read_validation(args.validation_file));
  }
  if (!args.bench_file.empty()) {
    RKV_ASSIGN_OR_RETURN(inputs.bench, read_bench(args.bench_file));
  }
  RKV_ASSIGN_OR_RETURN(const Report report, make_report(inputs));
  const auto beside = [&](const char* extension) {
    return std::filesystem::path(args.output_file).replace_extension(extension).string();
  };
  const std::array forms = {std::pair{args.output_file, &report_html}, std::pair{beside(".csv"), &report_csv},
                            std::pair{beside(".md"), &report_markdown}};
  for (const auto& [path, form] : forms) RKV_RETURN_IF_ERROR(prepare_output(path));
  for (const auto& [path, form] : forms) RKV_RETURN_IF_ERROR(write_file_atomically(path, form(report)));
  print_to_stderr(fmt::format("written to {}, its tables beside it as .csv and .md", args.output_file));
  return ok_status();
}

}  // namespace ripplekv
