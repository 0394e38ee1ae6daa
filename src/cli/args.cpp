// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Every command's flags: groups that it shares with others (arg_groups.h) and its own.
#include "cli/args.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/arg_groups.h"
#include "cli/option_table.h"
#include "cli/option_values.h"

namespace ripplekv {
namespace {

Result<std::vector<double>> parse_curves(std::string_view text) {
  RKV_ASSIGN_OR_RETURN(std::vector<double> fractions, parse_fraction_list(text));
  std::sort(fractions.begin(), fractions.end());
  return fractions;
}

// "f16,q8_0/q4_0"
Result<std::vector<KvFormat>> parse_formats(std::string_view text) {
  std::vector<KvFormat> formats;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const size_t slash = item.find('/');
    KvFormat format;
    RKV_ASSIGN_OR_RETURN(format.k, parse_kv_type(item.substr(0, slash)));
    format.v = format.k;
    if (slash != std::string_view::npos) {
      RKV_ASSIGN_OR_RETURN(format.v, parse_kv_type(item.substr(slash + 1)));
    }
    if (std::find(formats.begin(), formats.end(), format) != formats.end()) {
      return invalid_argument(fmt::format("got {} twice, expected different types", quoted(item)));
    }
    formats.push_back(format);
    begin = end + 1;
  }
  return formats;
}

void add_measuring_args(OptionTable& table, ProfileArgs& args) {
  ProfileSettings& settings = args.settings;
  table.begin_group("Calibration");
  add_path(table,
           {.names = "--calibration",
            .value = "FILE|DIR",
            .help = "Samples to measure on: text, or JSON lines (docs/profile.md)",
            .default_text = "a built-in generator of long documents"},
           args.calibration);
  add_size(table, {.names = "--limit", .value = "N", .help = "Most samples taken"}, args.n_sample, {.min = 1});
  add_size(table, {.names = "--max-tokens", .value = "N", .help = "Longer prompts are cut in the middle to this"},
           settings.max_tokens, {.min = 1, .max = kTokensMax});
  add_size(table,
           {.names = "--answer-tokens",
            .value = "N",
            .help = "Tokens of the continuation; the change is averaged over all but the first"},
           settings.n_answer, {.min = 2});

  table.begin_group("Measuring");
  add_real(table, {.names = "--eps", .value = "E", .help = "Size of a nudge, relative to the norm of its row"},
           settings.eps, {.min = 0, .min_excluded = true});
  add_name(table,
           {.names = "--rows",
            .value = "all|evictable",
            .help = "Rows that are nudged: all, or those the selector could drop"},
           settings.rows, {"all", "evictable"});
  add_name(table,
           {.names = "--direction",
            .value = "row|head",
            .help = "Nudge every row in a direction of its own, or all rows of a head in one"},
           settings.direction, {"row", "head"});
  add_whole(table, {.names = "--repeats", .value = "N", .help = "Noise draws per sample and layer"}, settings.n_repeat,
            {.min = 1, .max = kRepeatsMax});
  add_whole(table, {.names = "-s,--seed", .value = "N", .help = "Seed of samples and noise"}, settings.seed,
            {.min = 0});
  add_parsed(table,
             {.names = "--curves",
              .value = "LIST",
              .help = "Also compress each layer alone to these fractions, as in 5%,10%,20%,40%, and measure its damage",
              .default_text = "none"},
             settings.curve_fractions, parse_curves);
  add_parsed(table,
             {.names = "--curve-types",
              .value = "LIST",
              .help = "Types that the damage is measured with, K/V or one for both, as in f16,q8_0/q4_0",
              .default_text = "those of the cache"},
             settings.curve_formats, parse_formats);
}

}  // namespace

void add_args(OptionTable& table, InspectArgs& args) {
  add_model_path(table, args.model);
  add_ctx_size(table, args.n_ctx);
  table.begin_group("Output");
  add_json(table, args.output, "Print JSON");
  add_common_args(table, args.output);
}

void add_args(OptionTable& table, ProfileArgs& args) {
  add_model_args(table, args.model, /*may_be_auto=*/true);
  add_measuring_args(table, args);
  add_selector_args(table, args.selector);
  add_kv_type_args(table, args.type, "f16");
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The profile", "the cache folder, where `run` finds it");
  table.add_flag("--resume", "Go on with a profile that was interrupted (this is the default)",
                 [&args] { args.fresh = false; });
  table.add_flag("--fresh", "Start over, replacing what is there", [&args] { args.fresh = true; });
  add_json(table, args.output, "Print JSON in place of the table");
  add_common_args(table, args.output);
  table.add_rule([&args] {
    args.settings.selector = args.selector.name;
    args.settings.selector_options = args.selector.options;
    args.settings.weights = args.model.weights;
    args.settings.kv_format = args.type.format();
    return ok_status();
  });
}

void add_args(OptionTable& table, AllocateArgs& args) {
  add_model_path(table, args.model);
  add_ctx_size(table, args.n_ctx);
  table.begin_group("Budget");
  add_parsed(table, {.names = "--kv-budget", .value = "BUDGET", .help = std::string(kBudgetHelp), .required = true},
             args.budget, parse_kv_budget);
  add_allocator_args(table, args.allocator, args.selector, false);
  add_selector_args(table, args.selector);
  add_kv_type_args(table, args.type, "f16");
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The budgets file, for `run --budget`", "none is written");
  add_size(table, {.names = "--tokens", .value = "N", .help = "Show the rows for a prompt of N tokens"}, args.n_prompt,
           {.min = 1, .max = kTokensMax});
  add_json(table, args.output, "Print JSON in place of the table");
  add_common_args(table, args.output);
}

void add_args(OptionTable& table, RunArgs& args) {
  add_model_args(table, args.model);
  add_prompt_args(table, args.prompt);
  table.add_flag(
      "-i,--interactive,-cnv,--conversation",
      "Talk in turns over one cache: lines of standard input, with --prompt or --file as the first; /help there "
      "lists what else a line may be",
      [&args] { args.interactive = true; });
  add_sampling_args(table, args.sampling);
  add_kv_args(table, args.kv, /*decodes=*/true);
  table.begin_group("Output");
  table.add_flag("--auto-profile", "Profile the model first if it has no profile yet",
                 [&args] { args.auto_profile = true; });
  add_json(table, args.output, "Print the answer and the measurements as JSON");
  table.add_flag("--receipt", "Print planned and held rows and bytes of every layer",
                 [&args] { args.output.receipt = true; });
  add_common_args(table, args.output);
  table.add_rule([&args]() -> Status {
    if (args.interactive && args.output.json) {
      return invalid_argument("--json: got --interactive as well, whose answers are text, expected one or the other");
    }
    if (args.interactive && args.prompt.raw) {
      return invalid_argument(
          "--raw: got --interactive as well, whose turns need the chat template, expected one of them");
    }
    if (args.interactive && args.prompt.file == "-") {
      return invalid_argument(
          "--file: got - beside --interactive, whose turns come from there, expected a file's name");
    }
    if (args.auto_profile && (!args.kv.budget || !args.kv.budget_file.empty())) {
      return invalid_argument("--auto-profile: got no budget that a profile could share out, expected --kv-budget too");
    }
    return ok_status();
  });
}

void add_args(OptionTable& table, TraceArgs& args) {
  add_model_args(table, args.model);
  table.begin_group("Input");
  add_path(table,
           {.names = "--input",
            .value = "FILE",
            .help = "The prompt: text, or JSON with \"ids\" and, to measure against, \"answer\"",
            .required = true},
           args.input_file);
  add_kv_args(table, args.kv, /*decodes=*/false);
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The trace, as JSON", "standard output");
  add_path(table,
           {.names = "--html",
            .value = "FILE",
            .help = "A page that draws which tokens each layer kept",
            .default_text = "none is written"},
           args.html_file);
  add_common_args(table, args.output);
}

void add_args(OptionTable& table, ModelsArgs& args) {
  table.begin_group("Output");
  add_json(table, args.output, "Print JSON");
  add_common_args(table, args.output);
}

void add_args(OptionTable& table, ScoreArgs& args) {
  table.begin_group("Input");
  add_path(table,
           {.names = "--input",
            .value = "FILE",
            .help = "A JSON list of objects with \"metric\", \"prediction\", \"answer\", for classification "
                    "\"all_classes\", and, to compare with, \"score\"",
            .required = true,
            .bare = true},
           args.input_file);
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The same list with our scores", "none is written");
  add_common_args(table, args.output);
}

}  // namespace ripplekv
