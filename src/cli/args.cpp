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

const std::string kNoAllocator;        // of commands that compress layers alone
const std::string kTried = "pyramid";  // by tune, among others

Result<std::vector<double>> parse_curves(std::string_view text) {
  RKV_ASSIGN_OR_RETURN(std::vector<double> fractions, parse_fraction_list(text));
  std::sort(fractions.begin(), fractions.end());
  return fractions;
}

Result<std::vector<double>> parse_curves_or_none(std::string_view text) {
  if (text == "none") return std::vector<double>();
  return parse_curves(text);
}

void add_calibration(OptionTable& table, std::string& calibration) {
  add_path(table,
           {.names = "--calibration",
            .value = "FILE|DIR",
            .help = "Samples to measure on: text, or JSON lines (docs/profile.md)",
            .default_text = "a built-in generator of long documents"},
           calibration);
}

void add_sample_sizes(OptionTable& table, int& n_sample, int64_t& max_tokens) {
  add_size(table, {.names = "--limit", .value = "N", .help = "Most samples taken"}, n_sample, {.min = 1});
  add_size(table, {.names = "--max-tokens", .value = "N", .help = "Longer prompts are cut in the middle to this"},
           max_tokens, {.min = 1, .max = kTokensMax});
}

// How samples are cut and continued, as `profile` and `validate` have it.
void add_sample_args(OptionTable& table, ProfileSettings& settings, int& n_sample) {
  add_sample_sizes(table, n_sample, settings.max_tokens);
  add_size(table,
           {.names = "--answer-tokens",
            .value = "N",
            .help = "Tokens of the continuation; the change is averaged over all but the first"},
           settings.n_answer, {.min = 2});
}

void add_nudge_args(OptionTable& table, ProfileSettings& settings) {
  add_real(table, {.names = "--eps", .value = "E", .help = "Size of a nudge, relative to the norm of its row"},
           settings.eps, {.min = 0, .min_excluded = true});
  add_whole(table, {.names = "--repeats", .value = "N", .help = "Noise draws per sample and layer"}, settings.n_repeat,
            {.min = 1, .max = kRepeatsMax});
  add_whole(table, {.names = "-s,--seed", .value = "N", .help = "Seed of samples and noise"}, settings.seed,
            {.min = 0});
}

void add_choice_args(OptionTable& table, ChoiceArgs& choice) {
  table.begin_group("Samples the choice is made on");
  add_calibration(table, choice.calibration);
  add_sample_sizes(table, choice.n_sample, choice.max_tokens);
  add_size(table,
           {.names = "--answer-tokens",
            .value = "N",
            .help = "Tokens of the full cache's own answer over which the KL to it is averaged"},
           choice.n_answer, {.min = 2, .max = 4096});
  add_whole(table,
            {.names = "-s,--seed", .value = "N", .help = "Seed of the built-in samples; not the one profiled with"},
            choice.seed, {.min = 0});
}

void add_measuring_args(OptionTable& table, ProfileArgs& args) {
  ProfileSettings& settings = args.settings;
  table.begin_group("Calibration");
  add_calibration(table, args.calibration);
  add_sample_args(table, settings, args.n_sample);

  table.begin_group("Measuring");
  add_nudge_args(table, settings);
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
  table.add_value({.names = "--curves",
                   .value = "LIST|none",
                   .help = "Also compress each layer alone to these fractions and measure its damage; beside several "
                           "types also with all rows",
                   .default_text = "5%,10%,20%,40%, as far as the samples are long enough"},
                  [&args](std::string_view text) -> Status {
                    args.fit.curves = false;
                    RKV_ASSIGN_OR_RETURN(args.settings.curve_fractions, parse_curves_or_none(text));
                    return ok_status();
                  });
  table.add_value({.names = "--head-curves",
                   .value = "LIST|none",
                   .help = "Also compress each KV head alone to these fractions, for the allocator head_curves",
                   .default_text = "10%, of models with several KV heads"},
                  [&args](std::string_view text) -> Status {
                    args.fit.heads = false;
                    RKV_ASSIGN_OR_RETURN(args.settings.head_fractions, parse_curves_or_none(text));
                    return ok_status();
                  });
  add_parsed(table,
             {.names = "--curve-types",
              .value = "LIST",
              .help = "Types that the damage is measured with, K/V or one for both, as in f16,q8_0/q4_0",
              .default_text = "f16,q8_0,q8_0/q4_0; those of the cache if they are given"},
             settings.curve_formats, [&args](std::string_view text) {
               args.fit.formats = false;
               return parse_formats(text);
             });
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
  add_model_args(table, args.model);
  add_measuring_args(table, args);
  add_selector_args(table, args.selector, kNoAllocator);
  add_kv_type_args(table, args.type, "f16");
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The profile", "the cache folder, where `run` finds it");
  table.add_flag("--resume", "Go on with a profile that was interrupted (this is the default)",
                 [&args] { args.fresh = false; });
  table.add_flag("--fresh", "Start over, replacing the profile that is there", [&args] { args.fresh = true; });
  add_json(table, args.output, "Print JSON in place of the table");
  add_common_args(table, args.output);
  table.add_rule([&args]() -> Status {
    args.settings.selector = args.selector.name;
    args.settings.selector_options = args.selector.options;
    args.settings.weights = args.model.weights;
    ProfileSettings& settings = args.settings;
    settings.kv_format = args.type.format();
    if (args.fit.formats && (args.type.k || args.type.v)) settings.curve_formats.clear();
    if (!settings.head_fractions.empty() && settings.head_fractions.back() >= 1) {
      return invalid_argument("--head-curves: got 100%, which drops no row, expected fractions below it, or none");
    }
    if (settings.curve_fractions.empty() && args.fit.heads) settings.head_fractions.clear();
    if (settings.curve_fractions.empty()) {
      if (!args.fit.formats)
        return invalid_argument("--curve-types: got types for the curves that --curves none leaves out");
      settings.curve_formats.clear();
    }
    // What a type costs by itself: without it, types cannot be weighed against each other.
    const bool rounds = settings.formats_of_curves() != std::vector<KvFormat>{settings.kv_format};
    if (!settings.curve_fractions.empty() && settings.curve_fractions.back() >= 1) {
      settings.curve_fractions.pop_back();
      if (settings.curve_fractions.empty()) {
        return invalid_argument(
            "--curves: got 100% alone, which drops no row, expected a smaller fraction beside it, or none");
      }
    }
    if (rounds && !settings.curve_fractions.empty()) settings.curve_fractions.push_back(1);
    return ok_status();
  });
}

void add_args(OptionTable& table, ValidateArgs& args) {
  add_model_args(table, args.model);
  table.begin_group("Samples");
  add_path(table,
           {.names = "--data",
            .value = "FILE|DIR",
            .help = "Samples that no profile was made from: text, or JSON lines (docs/profile.md)",
            .required = true},
           args.data);
  add_sample_args(table, args.settings, args.n_sample);
  table.begin_group("Measuring");
  add_nudge_args(table, args.settings);
  add_parsed(table,
             {.names = "--kept",
              .value = "LIST",
              .help = "Fractions each layer alone is compressed to",
              .default_text = "10%,20%,40%"},
             args.settings.curve_fractions, parse_curves);
  add_path(table,
           {.names = "--profile",
            .value = "FILE",
            .help = "A profile whose sensitivities are compared, too",
            .default_text = "none"},
           args.profile_file);
  add_selector_args(table, args.selector, kNoAllocator);
  add_kv_type_args(table, args.type, "f16");
  table.begin_group("Output");
  add_path(table,
           {.names = "-o,--output,--json",
            .value = "FILE",
            .help = "The correlations and the damage of each layer, as JSON",
            .required = true,
            .writes = true},
           args.output_file);
  table.add_flag("--fresh", "Start over in place of going on with what an interrupted run left",
                 [&args] { args.fresh = true; });
  add_common_args(table, args.output);
  table.add_rule([&args] {
    args.settings.selector = args.selector.name;
    args.settings.selector_options = args.selector.options;
    args.settings.kv_format = args.type.format();
    return ok_status();
  });
}

void add_args(OptionTable& table, AllocateArgs& args) {
  add_model_args(table, args.model);
  table.begin_group("Budget");
  add_parsed(table, {.names = "--kv-budget", .value = "BUDGET", .help = std::string(kBudgetHelp)}, args.budget,
             parse_kv_budget);
  add_real(table,
           {.names = "--target-kl",
            .value = "NATS",
            .help = "In place of a budget: the smallest one whose mean KL to the full cache, measured on the samples "
                    "below, is at most this",
            .default_text = "none"},
           args.target_kl, {.min = 0, .min_excluded = true});
  add_parsed(table,
             {.names = "--target-top1",
              .value = "FRACTION",
              .help = "Likewise: where the likeliest token agrees with the full cache's in at least this share, as in "
                      "95%",
              .default_text = "none"},
             args.target_top1, parse_fraction);
  table.add_flag("--audit", "Measure the plan on the samples below, beside the damage that its curves foretell",
                 [&args] { args.audit = true; });
  add_choice_args(table, args.choice);
  add_allocator_args(table, args.allocator, args.selector, false);
  add_selector_args(table, args.selector, args.allocator.name);
  add_kv_type_args(table, args.type, "f16", /*may_be_auto=*/true);
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The budgets file, for `run --budget`", "none is written");
  add_size(table, {.names = "--tokens", .value = "N", .help = "Show the rows for a prompt of N tokens"}, args.n_prompt,
           {.min = 1, .max = kTokensMax});
  add_json(table, args.output, "Print JSON in place of the table");
  add_common_args(table, args.output);
  table.add_rule([&table, &args]() -> Status {
    const bool has_target = args.target_kl > 0 || args.target_top1 > 0;
    if (args.budget && has_target) {
      return invalid_argument("--kv-budget: got a target as well, which chooses the budget, expected one or the other");
    }
    for (const std::string_view flag : {"--calibration", "--limit", "--max-tokens", "--answer-tokens", "--seed",
                                        "--weights", "--n-gpu-layers", "--threads", "--ubatch-size"}) {
      if (!table.given(flag) || has_target || args.audit) continue;
      return invalid_argument(
          fmt::format("{}: got it with nothing to measure, expected --target-kl, --target-top1 or --audit too", flag));
    }
    if (!args.budget && !has_target) {
      return invalid_argument("--kv-budget: it is required, or --target-kl or --target-top1 in its place");
    }
    return ok_status();
  });
}

void add_args(OptionTable& table, TuneArgs& args) {
  add_model_args(table, args.model);
  table.begin_group("Budget");
  add_parsed(table,
             {.names = "--kv-budget",
              .value = "FRACTION",
              .help = "Rows kept of the whole cache, as a fraction (10%): what a number or bytes keep differs from "
                      "sample to sample",
              .required = true},
             args.budget.value, parse_fraction);
  add_path(table,
           {.names = "--profile",
            .value = "FILE",
            .help = "The model's profile; allocations by damage are tried if it has curves",
            .default_text = "the one in the cache folder"},
           args.profile_file);
  add_selector_args(table, args.selector, kTried);
  add_kv_type_args(table, args.type, "f16");
  add_choice_args(table, args.choice);
  table.begin_group("Output");
  add_output_file(table, args.output_file, "The best one's budgets file, for `run --budget`", "none is written");
  add_json(table, args.output, "Print what was tried as JSON in place of the table");
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
            .default_text = "none is written",
            .writes = true},
           args.html_file);
  add_common_args(table, args.output);
}

void add_args(OptionTable& table, ExportArgs& args) {
  table.begin_group("Input");
  add_path(table,
           {.names = "--budget",
            .value = "FILE",
            .help = "A budgets file made by `ripplekv allocate`",
            .required = true,
            .bare = true},
           args.budget_file);
  add_size(table, {.names = "--tokens", .value = "N", .help = "Length of the prompt"}, args.n_prompt,
           {.min = 1, .max = kTokensMax});
  table.begin_group("Output");
  add_name(
      table,
      {.names = "--to",
       .value = "kvpress|json|csv",
       .help = "kvpress: the compression_ratios of its PerLayerCompressionPress (fractions removed); json and csv: "
               "rows, kept fraction and types of each layer"},
      args.to, {"kvpress", "json", "csv"});
  add_output_file(table, args.output_file, "The export", "standard output");
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
