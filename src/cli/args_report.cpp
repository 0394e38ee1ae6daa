// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Flags of `report`.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/arg_groups.h"
#include "cli/args.h"
#include "cli/option_table.h"
#include "cli/option_values.h"

namespace ripplekv {
namespace {

void add_paths(OptionTable& table, std::string_view name, std::string help, std::vector<std::string>& paths) {
  table.add_value({.names = name, .value = "FILE", .help = std::move(help) + "; may be given several times"},
                  [&paths](std::string_view text) -> Status {
                    RKV_ASSIGN_OR_RETURN(std::string path, parse_path(text));
                    paths.push_back(std::move(path));
                    return ok_status();
                  });
}

Result<std::string> parse_page(std::string_view text) {
  RKV_ASSIGN_OR_RETURN(std::string path, parse_path(text));
  if (std::filesystem::path(path).extension() != ".html") {
    return invalid_argument(fmt::format("got {}, expected a name that ends in .html", quoted(text)));
  }
  return path;
}

}  // namespace

void add_args(OptionTable& table, ReportArgs& args) {
  table.begin_group("Input, each left out of the page where it is not given");
  add_path(table, {.names = "--profile", .value = "FILE", .help = "A profile made by `ripplekv profile`"},
           args.profile_file);
  add_paths(table, "--budgets", "A budgets file made by `ripplekv allocate` or `tune`", args.budgets_files);
  add_paths(table, "--results", "Results written by `ripplekv eval`", args.results_files);
  add_path(table, {.names = "--validation", .value = "FILE", .help = "What `ripplekv validate` wrote"},
           args.validation_file);
  add_path(table,
           {.names = "--bench", .value = "FILE", .help = "What `ripplekv bench --json` wrote, or a file of its form"},
           args.bench_file);
  table.begin_group("Output");
  add_parsed(table,
             {.names = "-o,--output",
              .value = "FILE",
              .help = "The page, a name that ends in .html; its tables are written beside it, with the same name, as "
                      ".csv and .md",
              .required = true},  // with its tables, held against every input in cmd_report.cpp
             args.output_file, parse_page);
  add_parsed(table,
             {.names = "--baseline",
              .value = "POLICY",
              .help = "The policy that others are compared with",
              .default_text = "the first of the results that is not full"},
             args.baseline, parse_prose);
  add_size(table,
           {.names = "--tokens", .value = "N", .help = "Length of the prompt that rows of budgets are shown for"},
           args.n_prompt, {.min = 1, .max = kTokensMax});
  add_common_args(table, args.output);
  table.add_rule([&args]() -> Status {
    if (args.profile_file.empty() && args.budgets_files.empty() && args.results_files.empty() &&
        args.validation_file.empty() && args.bench_file.empty()) {
      return invalid_argument(
          "got nothing to report, expected one of --profile, --budgets, --results, --validation and --bench");
    }
    return ok_status();
  });
}

}  // namespace ripplekv
