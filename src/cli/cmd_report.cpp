// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv report: artefacts as one page, and its tables beside it.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "report/report.h"

namespace ripplekv {
namespace {

// Before anything is read or written: none of the three files may be one that the report is made from.
Status check_outputs(const ReportArgs& args, const std::array<std::string, 3>& outputs) {
  std::vector<std::string> inputs = {args.profile_file, args.validation_file, args.bench_file};
  inputs.insert(inputs.end(), args.budgets_files.begin(), args.budgets_files.end());
  inputs.insert(inputs.end(), args.results_files.begin(), args.results_files.end());
  for (const std::string& output : outputs) {
    for (const std::string& input : inputs) {
      if (input.empty() || !same_file(input, output)) continue;
      return invalid_argument(fmt::format(
          "--output: got {}, whose {} would overwrite the input {}, expected a name whose .html, .csv and .md are no "
          "inputs",
          ripplekv::quoted(args.output_file), ripplekv::quoted(output), ripplekv::quoted(input)));
    }
  }
  return ok_status();
}

}  // namespace

Status cmd_report(const ReportArgs& args) {
  const auto beside = [&](const char* extension) {
    return std::filesystem::path(args.output_file).replace_extension(extension).string();
  };
  const std::array paths = {args.output_file, beside(".csv"), beside(".md")};
  RKV_RETURN_IF_ERROR(check_outputs(args, paths));
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
  const std::array forms = {&report_html, &report_csv, &report_markdown};
  for (const std::string& path : paths) RKV_RETURN_IF_ERROR(prepare_output(path));
  for (size_t i = 0; i < paths.size(); ++i) {
    RKV_RETURN_IF_ERROR(write_file_atomically(paths[i], forms[i](report)));
  }
  print_to_stderr(fmt::format("written to {}, its tables beside it as .csv and .md", args.output_file));
  return ok_status();
}

}  // namespace ripplekv
