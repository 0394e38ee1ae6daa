// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/arg_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "base/text.h"
#include "cli/option_values.h"
#include "selection/options_read.h"

namespace ripplekv {
namespace {

constexpr int kThreadsMax = 4096;
constexpr int kRowsMax = 1 << 24;  // of sinks, kernels and chunks: far above any prompt, far below an overflow
constexpr std::string_view kAllocatorFile = "file";

template <class Info>
std::vector<std::string_view> names_of(std::span<const Info> registry) {
  std::vector<std::string_view> names;
  std::transform(registry.begin(), registry.end(), std::back_inserter(names), [](const Info& i) { return i.name; });
  return names;
}

Result<std::string> parse_selector_name(std::string_view text) {
  RKV_RETURN_IF_ERROR(make_selector(text, {}).status());
  return std::string(text);
}

Result<int> parse_gpu_layers(std::string_view text) {
  if (text == "auto") return kGpuLayersAuto;
  if (text == "all") return kGpuLayersAll;
  const Result<int64_t> number = parse_whole(text, {.min = 0, .max = kGpuLayersAll}, false);
  if (!number.ok()) return invalid_argument(number.status().message() + ", auto or all");
  return static_cast<int>(*number);
}

// -1 is llama.cpp's "random".
Result<std::optional<uint32_t>> parse_seed(std::string_view text) {
  RKV_ASSIGN_OR_RETURN(const int64_t seed,
                       parse_whole(text, {.min = -1, .max = std::numeric_limits<uint32_t>::max()}, false));
  if (seed < 0) return std::optional<uint32_t>();
  return std::optional<uint32_t>(static_cast<uint32_t>(seed));
}

Result<std::string> parse_stop(std::string_view text) {
  if (text.empty()) return invalid_argument("got '', expected a string to stop at");
  return parse_prose(text);
}

// The flags of allocation and selection need a budget to share, and a budgets file leaves them nothing to say.
// A flag that would have no effect is refused: the user believes it has one.
Status check_budget_flags(const OptionTable& table, const KvArgs& kv) {
  constexpr std::array kFixed = {"--kv-budget", "--allocator",  "--profile",  "--r",         "--gamma",  "--transform",
                                 "--signal",    "--beta",       "--selector", "--window",    "--kernel", "--pooling",
                                 "--group",     "--value-norm", "--n-sink",   "--head-floor"};
  const bool has_file = !kv.budget_file.empty();
  const bool file_allocator = kv.allocator.name == kAllocatorFile;
  if (file_allocator && !has_file) return invalid_argument("--allocator: got file, expected --budget FILE with it");
  for (const std::string_view name : kFixed) {
    if (!table.given(name)) continue;
    if (has_file && !(name == "--allocator" && file_allocator)) {
      return invalid_argument(
          fmt::format("{}: got it beside --budget, whose file fixes it, expected one of them", name));
    }
    const bool asks_for_all = name == "--selector" && kv.selector.name == "full";
    if (!has_file && !kv.budget && !asks_for_all) {
      return invalid_argument(fmt::format("{}: got it without a budget, expected --kv-budget or --budget too", name));
    }
  }
  if (kv.type.automatic && !kv.budget) {
    return invalid_argument(fmt::format("--kv-type auto: got it {}, expected --kv-budget with it",
                                        has_file ? "beside --budget, whose file fixes the types" : "without a budget"));
  }
  if (kv.decode_slack && !has_file && !kv.budget) {
    return invalid_argument("--decode-slack: got it without a budget, expected --kv-budget or --budget too");
  }
  return ok_status();
}

// An option that the selector does not read would have no effect, which nobody means.
Status check_selector_flags(const OptionTable& table, const std::string& selector, const std::string& allocator) {
  std::vector<std::string> read;
  for (const std::string_view option : options_read(selector)) {
    std::string flag = fmt::format("--{}", option);
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (table.has(flag)) read.push_back(flag);
  }
  for (const std::string_view flag :
       {"--window", "--kernel", "--pooling", "--group", "--value-norm", "--n-sink", "--head-floor"}) {
    if (!table.given(flag) || std::find(read.begin(), read.end(), flag) != read.end()) continue;
    if (flag == "--window" && allocator == "pyramid") continue;
    return invalid_argument(fmt::format("{}: got it beside --selector {}, which reads {}", flag, selector,
                                        read.empty() ? "no option" : fmt::format("only {}", fmt::join(read, ", "))));
  }
  return ok_status();
}

void add_decode_slack(OptionTable& table, KvArgs& kv) {
  add_parsed(table,
             {.names = "--decode-slack",
              .value = "N",
              .help = "While answering, compress a layer again once it is N rows over its budget",
              .default_text = "never"},
             kv.decode_slack,
             [](std::string_view text) { return parse_whole(text, {.min = 1, .max = kTokensMax}, true); });
}

}  // namespace

void add_model_path(OptionTable& table, std::string& path) {
  table.begin_group("Model");
  add_path(table,
           {.names = "-m,--model",
            .value = "FILE",
            .help = "The GGUF model",
            .default_text = "the default model, named at the start"},
           path);
}

void add_ctx_size(OptionTable& table, int64_t& n_ctx) {
  add_size(table,
           {.names = "-c,--ctx-size",
            .value = "N",
            .help = "Most tokens of prompt and answer together; 0 is the length the model was trained for. Models with "
                    "LongRoPE rotate by their short factors up to their original context, by the long ones beyond"},
           n_ctx, {.min = 0, .max = kTokensMax});
}

void add_loading_args(OptionTable& table, ModelArgs& model) {
  add_model_path(table, model.path);
  add_name(table,
           {.names = "--weights",
            .value = "native|f32|bf16",
            .help = "Compute with the weights as stored, or converted when loaded: f32 (larger), bf16 (half of that)"},
           model.weights, {"native", "f32", "bf16"});
  add_parsed(table,
             {.names = "-ngl,--n-gpu-layers,--gpu-layers",
              .value = "N|auto|all",
              .help = "Layers computed on the GPU",
              .default_text = "auto"},
             model.n_gpu_layers, parse_gpu_layers);
  add_whole(table, {.names = "-t,--threads", .value = "N", .help = "CPU threads; 0 is one per physical core"},
            model.n_threads, {.min = 0, .max = kThreadsMax});
  add_size(table,
           {.names = "-ub,--ubatch-size",
            .value = "N",
            .help = "Tokens of one prefill chunk: speed and memory; results differ only in rounding"},
           model.n_ubatch, {.min = 1, .max = kRowsMax});
}

void add_model_args(OptionTable& table, ModelArgs& model) {
  add_loading_args(table, model);
  add_ctx_size(table, model.n_ctx);
}

void add_selector_args(OptionTable& table, SelectorArgs& selector, const std::string& allocator) {
  table.begin_group("Selection (which rows stay)");
  SelectorOptions& options = selector.options;
  const std::vector<std::string_view> names = names_of(selector_registry());
  add_parsed(table,
             {.names = "--selector",
              .value = "NAME",
              .help = fmt::format("How rows are chosen: {}; sinks+NAME also keeps the first --n-sink and the last "
                                  "--window rows",
                                  fmt::join(names, ", ")),
              .default_text = selector.name},
             selector.name, parse_selector_name);
  add_size(table,
           {.names = "--window",
            .value = "N",
            .help = "Last prompt rows: always kept, and their queries score the others (snapkv, streaming_llm, random, "
                    "sinks+NAME)"},
           options.window, {.min = 1, .max = kWindowMax});
  add_whole(table,
            {.names = "--kernel",
             .value = "N",
             .help = "Width over which neighbouring scores are pooled, odd; 1 is no pooling (snapkv)"},
            options.kernel, {.min = 1, .max = kRowsMax});
  add_choice<Pooling>(table, {.names = "--pooling", .value = "avg|max", .help = "How scores are pooled (snapkv)"},
                      options.pooling, {{"avg", Pooling::kAverage}, {"max", Pooling::kMax}});
  add_choice<GroupReduce>(table,
                          {.names = "--group",
                           .value = "mean|max",
                           .help = "How the scores of the query heads of one KV head are joined (snapkv)"},
                          options.group, {{"mean", GroupReduce::kMean}, {"max", GroupReduce::kMax}});
  table.add_flag("--value-norm", "Weight scores by the norm of the row's Value (snapkv)",
                 [&options] { options.value_norm = true; });
  add_size(table,
           {.names = "--n-sink",
            .value = "N",
            .help = "First rows that are always kept (streaming_llm, expected_attention, sinks+NAME)"},
           options.n_sink, {.min = 0, .max = kRowsMax});
  add_real(
      table,
      {.names = "--head-floor",
       .value = "SHARE",
       .help = "KV heads share a layer's rows by their scores: each keeps this share of an equal part at least, 1 is "
               "equal parts, 0.2 is Ada-KV's (snapkv, h2o, expected_attention)"},
      options.head_floor, {.min = 0, .max = 1});
  table.add_rule([&table, &selector, &allocator] { return check_selector_flags(table, selector.name, allocator); });
  table.add_rule([&selector] { return make_selector(selector.name, selector.options).status(); });
}

void add_allocator_args(OptionTable& table, AllocatorArgs& allocator, SelectorArgs& selector, bool may_be_file) {
  table.begin_group("Allocation (how many rows each layer keeps)");
  std::vector<std::string_view> names = names_of(allocator_registry());
  const std::string help = fmt::format("How the budget is shared: {}", fmt::join(names, ", "));
  if (may_be_file) names.push_back(kAllocatorFile);
  add_name(
      table,
      {.names = "--allocator",
       .value = "NAME",
       .help = may_be_file ? help + ", or file with --budget" : help,
       .default_text = may_be_file ? "head_curves or curves if the profile has them, else ripple; without a profile "
                                     "uniform"
                                   : "head_curves or curves if the profile has them, else ripple"},
      allocator.name, names);
  add_path(table,
           {.names = "--profile",
            .value = "FILE",
            .help = "The model's profile (ripple, curves, head_curves)",
            .default_text = "the one in the cache folder"},
           allocator.profile_file);
  add_real(
      table,
      {.names = "--r",
       .value = "R",
       .help = "Disparity: how many times the rows of the least sensitive layer the most sensitive one gets (ripple)"},
      allocator.ripple.r, {.min = 1});
  add_real(table, {.names = "--gamma", .value = "G", .help = "Multipliers are clipped to 1/G and G (ripple)"},
           allocator.ripple.gamma, {.min = 1});
  add_parsed(table,
             {.names = "--transform",
              .value = "linear|sqrt|log|rank",
              .help = "Applied to the sensitivities first (ripple)",
              .default_text = std::string(to_string(allocator.ripple.transform))},
             allocator.ripple.transform, parse_transform);
  add_parsed(table,
             {.names = "--signal",
              .value = "sensitivity|local|index|random",
              .help = "What ripple goes by: the measured ripple, or to compare a layer's own response, its index, "
                      "random numbers",
              .default_text = std::string(to_string(allocator.signal))},
             allocator.signal, parse_signal);
  add_real(table,
           {.names = "--beta",
            .value = "B",
            .help = "The last layer gets the mean divided by B on the rows that can be dropped (pyramid)"},
           allocator.pyramid.beta, {.min = 1, .min_excluded = true});
  // Options of one allocator choose it; beside another they would have no effect, which nobody means.
  table.add_rule([&table, &allocator]() -> Status {
    for (const auto& [option, owner] :
         {std::pair{"--r", "ripple"}, std::pair{"--gamma", "ripple"}, std::pair{"--transform", "ripple"},
          std::pair{"--signal", "ripple"}, std::pair{"--beta", "pyramid"}}) {
      if (!table.given(option)) continue;
      if (allocator.name.empty()) allocator.name = owner;
      if (allocator.name != owner && allocator.name != kAllocatorFile) {
        return invalid_argument(
            fmt::format("{}: got it beside --allocator {}, expected {}", option, allocator.name, owner));
      }
    }
    return ok_status();
  });
  // One window, so that the rows outside the pyramid are the rows the selector protects.
  table.add_rule([&allocator, &selector] {
    allocator.pyramid.window = selector.options.window;
    return ok_status();
  });
}

void add_kv_type_args(OptionTable& table, KvTypeArgs& type, std::string_view default_text, bool may_be_auto) {
  table.begin_group("Format (what a row is stored as)");
  const std::string choices = "f32|f16|q8_0|q4_0";
  const std::string fallback(default_text);
  add_parsed(table,
             {.names = "-ctk,--cache-type-k", .value = choices, .help = "Type of the Keys", .default_text = fallback},
             type.k, parse_kv_type);
  add_parsed(table,
             {.names = "-ctv,--cache-type-v", .value = choices, .help = "Type of the Values", .default_text = fallback},
             type.v, parse_kv_type);
  table.add_value(
      {.names = "--kv-type",
       .value = may_be_auto ? choices + "|auto" : choices,
       .help = may_be_auto
                   ? "Both types at once; auto: those of each layer with its rows, where the damage "
                     "is smallest for the bytes (curves, head_curves): a budget is then of the f16 cache's bytes"
                   : "Both types at once"},
      [&type, may_be_auto](std::string_view text) -> Status {
        type.automatic = may_be_auto && text == "auto";
        type.k = type.v = std::nullopt;
        if (type.automatic) return ok_status();
        RKV_ASSIGN_OR_RETURN(type.k, parse_kv_type(text));
        type.v = type.k;
        return ok_status();
      });
  table.add_rule([&table]() -> Status {
    for (const std::string_view name : {"--cache-type-k", "--cache-type-v"}) {
      if (table.given("--kv-type") && table.given(name)) {
        return invalid_argument(fmt::format("--kv-type: got {} as well, expected one or the other", name));
      }
    }
    return ok_status();
  });
}

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

void add_kv_args(OptionTable& table, KvArgs& kv, bool decodes) {
  table.begin_group("Budget");
  add_parsed(
      table,
      {.names = "--kv-budget", .value = "BUDGET", .help = std::string(kBudgetHelp), .default_text = "the full cache"},
      kv.budget, parse_kv_budget);
  add_path(table,
           {.names = "--budget",
            .value = "FILE",
            .help = "A budgets.json made by `ripplekv allocate`, in place of --kv-budget and the flags of allocation "
                    "and selection"},
           kv.budget_file);
  if (decodes) add_decode_slack(table, kv);
  table.add_rule([&table, &kv] { return check_budget_flags(table, kv); });
  add_allocator_args(table, kv.allocator, kv.selector, true);
  add_selector_args(table, kv.selector, kv.allocator.name);
  add_kv_type_args(table, kv.type, "f16, or as --budget says", /*may_be_auto=*/true);
}

void add_sampling_args(OptionTable& table, SamplingArgs& sampling) {
  table.begin_group("Sampling");
  add_size(table,
           {.names = "-n,--predict,--n-predict",
            .value = "N",
            .help = "Most tokens of the answer; -1 is until the model ends it"},
           sampling.n_predict, {.min = -1, .max = kTokensMax});
  add_parsed(table,
             {.names = "-s,--seed", .value = "N", .help = "Seed of the sampling; -1 is random", .default_text = "-1"},
             sampling.seed, parse_seed);
  add_real(
      table,
      {.names = "--temp,--temperature", .value = "T", .help = "Temperature; 0 takes the likeliest token each time"},
      sampling.temperature, {.min = 0});
  add_whole(table, {.names = "--top-k", .value = "N", .help = "Sample from the N likeliest tokens; 0 is off"},
            sampling.top_k, {.min = 0});
  add_real(table,
           {.names = "--top-p", .value = "P", .help = "Sample from the likeliest tokens that sum to P; 1 is off"},
           sampling.top_p, {.min = 0, .max = 1});
  add_real(table, {.names = "--min-p", .value = "P", .help = "Leave out tokens below P times the likeliest; 0 is off"},
           sampling.min_p, {.min = 0, .max = 1});
  add_real(table, {.names = "--repeat-penalty", .value = "X", .help = "Penalty on tokens seen lately; 1 is off"},
           sampling.repeat_penalty, {.min = 0, .min_excluded = true});
  add_size(
      table,
      {.names = "--repeat-last-n", .value = "N", .help = "Tokens that count as lately; 0 is off, -1 the whole context"},
      sampling.repeat_last_n, {.min = -1});
}

void add_prompt_args(OptionTable& table, PromptArgs& prompt) {
  table.begin_group("Prompt");
  add_parsed(table, {.names = "-p,--prompt", .value = "TEXT", .help = "The prompt", .default_text = "standard input"},
             prompt.prompt, parse_prose);
  add_path(table, {.names = "-f,--file", .value = "FILE", .help = "Read the prompt from a file; - is standard input"},
           prompt.file);
  add_parsed(
      table,
      {.names = "-sys,--system-prompt", .value = "TEXT", .help = "System prompt, where the chat template has one"},
      prompt.system_prompt, parse_prose);
  table.add_flag("--raw", "Give the model the prompt as it is, without the chat template",
                 [&prompt] { prompt.raw = true; });
  table.add_value({.names = "-r,--reverse-prompt,--stop",
                   .value = "TEXT",
                   .help = "Stop when the answer contains this; may be given several times"},
                  [&prompt](std::string_view text) -> Status {
                    RKV_ASSIGN_OR_RETURN(std::string stop, parse_stop(text));
                    prompt.stop.push_back(std::move(stop));
                    return ok_status();
                  });
  table.add_rule([&table, &prompt]() -> Status {
    if (prompt.prompt && !prompt.file.empty()) {
      return invalid_argument("--file: got --prompt as well, expected one or the other");
    }
    if (prompt.raw && table.given("--system-prompt")) {
      return invalid_argument("--system-prompt: got --raw as well, expected the chat template that would hold it");
    }
    return ok_status();
  });
}

void add_json(OptionTable& table, OutputArgs& output, std::string_view help) {
  table.add_flag("--json", help, [&output] { output.json = true; });
}

void add_output_file(OptionTable& table, std::string& path, std::string_view help, std::string_view default_text) {
  add_path(table,
           {.names = "-o,--output",
            .value = "FILE",
            .help = std::string(help),
            .default_text = std::string(default_text),
            .writes = true},
           path);
}

void add_common_args(OptionTable& table, OutputArgs& output) {
  table.add_flag("-v,--verbose", "Log more, to stderr; twice for everything", [&output] { ++output.verbosity; });
  table.add_help_flag();
}

}  // namespace ripplekv
