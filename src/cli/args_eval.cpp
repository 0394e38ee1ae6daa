// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Flags of `eval` and `bench`, and the grammar of their policies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "cli/arg_groups.h"
#include "cli/args.h"
#include "cli/option_table.h"
#include "cli/option_values.h"
#include "eval/suite.h"

namespace ripplekv {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_allocator(std::string_view name) {
  const auto registry = allocator_registry();
  return std::any_of(registry.begin(), registry.end(), [&](const AllocatorInfo& info) { return info.name == name; });
}

Result<std::vector<PolicyArgs>> parse_policies(std::string_view text) {
  std::vector<PolicyArgs> policies;
  for (std::string_view part : split(text, ',')) {
    RKV_ASSIGN_OR_RETURN(PolicyArgs policy, parse_policy(part));
    for (const PolicyArgs& other : policies) {
      if (other.text == policy.text) return invalid_argument(fmt::format("got {} twice", quoted(part)));
    }
    policies.push_back(std::move(policy));
  }
  return policies;
}

Result<std::vector<std::string>> parse_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view part : split(text, ',')) {
    if (part.empty()) return invalid_argument(fmt::format("got {}, expected names apart by commas", quoted(text)));
    names.emplace_back(part);
  }
  return names;
}

Result<std::vector<int64_t>> parse_sizes(std::string_view text) {
  std::vector<int64_t> sizes;
  for (std::string_view part : split(text, ',')) {
    RKV_ASSIGN_OR_RETURN(const int64_t size, parse_whole(part, {.min = 1, .max = kTokensMax}, true));
    sizes.push_back(size);
  }
  return sizes;
}

Result<std::vector<int64_t>> parse_contexts(std::string_view text) {
  RKV_ASSIGN_OR_RETURN(std::vector<int64_t> contexts, parse_sizes(text));
  for (size_t i = 0; i < contexts.size(); ++i) {
    if (std::find(contexts.begin(), contexts.begin() + static_cast<std::ptrdiff_t>(i), contexts[i]) !=
        contexts.begin() + static_cast<std::ptrdiff_t>(i)) {
      return invalid_argument(fmt::format("got {} tokens twice, expected different lengths", contexts[i]));
    }
  }
  return contexts;
}

Result<std::vector<std::string>> parse_works(std::string_view text) {
  std::vector<std::string> works;
  for (std::string_view part : split(text, ',')) {
    RKV_RETURN_IF_ERROR(parse_choice(part, {"prefill", "decode", "first_token", "memory"}).status());
    works.emplace_back(part);
  }
  return works;
}

// Fractions as in a list of budgets, and 0%.
Result<std::vector<double>> parse_depths(std::string_view text) {
  std::vector<double> depths;
  for (std::string_view part : split(text, ',')) {
    if (part == "0%" || part == "0") {
      depths.push_back(0);
      continue;
    }
    const Result<std::vector<double>> depth = parse_fraction_list(part);
    if (!depth.ok()) return invalid_argument(fmt::format("got {}, expected 0% to 100%", quoted(part)));
    depths.push_back((*depth)[0]);
  }
  return depths;
}

// A policy written in two ways would be measured twice and listed as two. format, profile: of policies that name none.
Status check_different(const std::vector<PolicyArgs>& policies, const KvFormat& format, const std::string& profile) {
  const auto completed = [&](PolicyArgs policy) {
    policy.text.clear();
    if (policy.full) return policy;
    policy.type.k = policy.type.k.value_or(format.k);
    if (policy.allocator.profile_file.empty()) policy.allocator.profile_file = profile;
    policy.type.v = policy.type.v.value_or(format.v);
    return policy;
  };
  for (size_t i = 0; i < policies.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!(completed(policies[i]) == completed(policies[j]))) continue;
      return invalid_argument(fmt::format("--policies: {} and {} are the same policy, expected it once",
                                          quoted(policies[j].text), quoted(policies[i].text)));
    }
  }
  return ok_status();
}

}  // namespace

Result<PolicyArgs> parse_policy(std::string_view text) {
  PolicyArgs policy;
  policy.text = text;
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts[0] == "full") {
    if (parts.size() > 1) return invalid_argument(fmt::format("got {}, expected full without options", quoted(text)));
    policy.full = true;
    return policy;
  }
  // The last + parts the allocator off, where what follows is one: sinks+NAME is a selector.
  std::string_view selector = parts[0];
  std::string_view allocator = "uniform";
  if (const size_t plus = selector.rfind('+');
      plus != std::string_view::npos && is_allocator(selector.substr(plus + 1))) {
    allocator = selector.substr(plus + 1);
    selector = selector.substr(0, plus);
  }
  if (selector == "full") {
    return invalid_argument(fmt::format("got {}: full keeps every row, expected it alone", quoted(text)));
  }
  if (selector.find('+') != std::string_view::npos && !selector.starts_with("sinks+")) {
    std::vector<std::string_view> allocators;
    for (const AllocatorInfo& info : allocator_registry()) allocators.push_back(info.name);
    return invalid_argument(fmt::format("got {}, expected one of the allocators {} behind the +", quoted(text),
                                        fmt::join(allocators, ", ")));
  }
  if (selector.empty()) return invalid_argument(fmt::format("got {}, expected a selector first", quoted(text)));
  OptionTable table;
  add_allocator_args(table, policy.allocator, policy.selector, /*may_be_file=*/false);
  add_selector_args(table, policy.selector, policy.allocator.name);
  add_kv_type_args(table, policy.type, "", /*may_be_auto=*/true);
  std::vector<std::string> args = {"--selector", std::string(selector), "--allocator", std::string(allocator)};
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    const std::string key(parts[i].substr(0, equals));
    std::string name = (key.size() > 1 && !table.has("-" + key) ? "--" : "-") + key;
    if (key == "r") name = "--r";
    if (!table.has(name) || name == "--selector" || name == "--allocator") {
      return invalid_argument(
          fmt::format("{}: option {} does not exist, expected a flag of allocation, selection or "
                      "format without its dashes",
                      quoted(text), quoted(key)));
    }
    if (std::find(args.begin(), args.end(), name) != args.end()) {
      return invalid_argument(fmt::format("{}: got option {} twice", quoted(text), quoted(key)));
    }
    args.push_back(name);
    if (equals != std::string_view::npos) args.emplace_back(parts[i].substr(equals + 1));
  }
  const Status status = table.parse(args, [](std::string_view) { return std::string(); });
  if (!status.ok()) return status.with_context(quoted(text));
  return policy;
}

void add_args(OptionTable& table, EvalArgs& args) {
  add_model_args(table, args.model);
  table.begin_group("Samples");
  std::vector<std::string_view> suites;
  for (const SuiteInfo& suite : suite_registry()) suites.push_back(suite.name);
  add_name(table,
           {.names = "--suite",
            .value = "NAME",
            .help = fmt::format("The benchmark: {} (docs/eval.md)", fmt::join(suites, ", ")),
            .required = true,
            .bare = true},
           args.suite, suites);
  add_path(table,
           {.names = "--data",
            .value = "DIR",
            .help = "Folder of its files, in their official format",
            .default_text = "generated samples, where the suite has a generator"},
           args.data_dir);
  add_parsed(table,
             {.names = "--tasks", .value = "LIST", .help = "Only these tasks, apart by commas", .default_text = "all"},
             args.tasks, parse_names);
  add_size(table, {.names = "--limit", .value = "N", .help = "Most samples of each task; 0 is all"}, args.n_sample,
           {.min = 0});
  add_parsed(table,
             {.names = "--lengths",
              .value = "LIST",
              .help = "Tokens of generated samples, prompt and answer together",
              .default_text = "4k"},
             args.lengths, parse_sizes);
  add_parsed(table,
             {.names = "--depths",
              .value = "LIST",
              .help = "Where in the text generated needles are (needle)",
              .default_text = "0%,25%,50%,75%,100%"},
             args.depths, parse_depths);
  add_whole(table, {.names = "-s,--seed", .value = "N", .help = "Seed of generated samples"}, args.seed, {.min = 0});
  add_size(table,
           {.names = "--max-tokens",
            .value = "N",
            .help = "Longer prompts are cut in the middle to this; 0 is what the context holds"},
           args.max_tokens, {.min = 0, .max = kTokensMax});

  table.begin_group("Policies");
  add_parsed(table,
             {.names = "--policies",
              .value = "LIST",
              .help = "Policies apart by commas, each SELECTOR[+ALLOCATOR][:OPTION[=VALUE]]... or full, as in "
                      "snapkv+ripple:r=8:transform=sqrt; options are the flags of `run` for allocation, selection and "
                      "format without their dashes",
              .required = true},
             args.policies, parse_policies);
  add_parsed(table,
             {.names = "--budgets",
              .value = "LIST",
              .help = "Fractions that each policy keeps",
              .default_text = "10%,20%,30%"},
             args.kept, parse_fraction_list);
  add_choice<bool>(table,
                   {.names = "--match",
                    .value = "rows|bytes",
                    .help = "What a budget is a fraction of: the rows of the full cache, or its bytes in f16"},
                   args.match_bytes, {{"rows", false}, {"bytes", true}});
  add_name(
      table,
      {.names = "--question",
       .value = "aware|agnostic|both",
       .help = "Compress the whole prompt, or its document before any question is seen: every question about it is "
               "then asked of the same compressed cache"},
      args.question, {"aware", "agnostic", "both"});
  add_path(table,
           {.names = "--profile",
            .value = "FILE",
            .help = "The model's profile, for policies that name none (ripple, curves, head_curves)",
            .default_text = "the one in the cache folder"},
           args.profile_file);
  add_kv_type_args(table, args.type, "f16");

  table.begin_group("Measuring");
  add_size(table,
           {.names = "--answer-tokens",
            .value = "N",
            .help = "Tokens of the full cache's own answer over which the KL to it is averaged"},
           args.n_answer, {.min = 2, .max = 4096});
  table.add_flag("--generate", "Also let every policy answer, and score the answers as the suite does",
                 [&args] { args.generate = true; });
  add_size(table,
           {.names = "-np,--parallel",
            .value = "N",
            .help = "Policies that answer at once: faster, as they share the products with weights, at the price of N "
                    "compressed caches held"},
           args.n_parallel, {.min = 1, .max = 256});

  table.begin_group("Output");
  add_path(table,
           {.names = "-o,--output",
            .value = "FILE",
            .help = "Results, one JSON line each; a run that was interrupted goes on from it",
            .required = true,
            .writes = true},
           args.output_file);
  add_path(table,
           {.names = "--prompts",
            .value = "FILE",
            .help = "Also write the prompts' token ids and what answers are scored by, for other programs",
            .default_text = "none",
            .writes = true},
           args.prompts_file);
  add_parsed(table,
             {.names = "--baseline",
              .value = "POLICY",
              .help = "The policy that ratios in the table are taken to",
              .default_text = "the first of --policies that is not full"},
             args.baseline, parse_prose);
  table.add_flag("--fresh", "Start over, replacing the results that are there", [&args] { args.fresh = true; });
  add_json(table, args.output, "Print the summary as JSON in place of the table");
  add_common_args(table, args.output);
  table.add_rule([&table, &args]() -> Status {
    for (const std::string_view flag : {"--lengths", "--depths", "--seed"}) {
      if (!table.given(flag) || args.data_dir.empty()) continue;
      return invalid_argument(
          fmt::format("{}: got it beside --data, which it does not change, expected generated samples", flag));
    }
    if (table.given("--parallel") && !args.generate) {
      return invalid_argument("--parallel: got it without --generate, expected answers to generate");
    }
    if (!args.baseline.empty() && std::none_of(args.policies.begin(), args.policies.end(),
                                               [&](const PolicyArgs& p) { return p.text == args.baseline; })) {
      return invalid_argument(fmt::format("--baseline: got {}, expected one of --policies", quoted(args.baseline)));
    }
    if (args.baseline == "full") {
      return invalid_argument("--baseline: got full, which everything is compared with, expected a compressed policy");
    }
    RKV_RETURN_IF_ERROR(check_different(args.policies, args.type.format(), args.profile_file));
    for (const PolicyArgs& policy : args.policies) {
      if (!policy.type.automatic || args.match_bytes) continue;
      return invalid_argument(
          fmt::format("--policies: {} shares out bytes, expected --match bytes", quoted(policy.text)));
    }
    for (const std::optional<KvType>& type : {args.type.k, args.type.v}) {
      if (type && *type != KvType::kF32 && *type != KvType::kF16) {
        return invalid_argument(
            fmt::format("--kv-type: got {}, expected f16 or f32, from which policies with others are rounded "
                        "(POLICY:ctk=q8_0)",
                        to_string(*type)));
      }
    }
    return ok_status();
  });
}

void add_args(OptionTable& table, BenchArgs& args) {
  add_loading_args(table, args.model);
  table.begin_group("Work");
  add_parsed(table,
             {.names = "--works",
              .value = "LIST",
              .help = "What is measured: prefill and decode (tokens/s), first_token (seconds from loading to the first "
                      "token of a short prompt), memory (peak resident while a prompt is prefilled)",
              .default_text = "prefill,decode,first_token,memory"},
             args.works, parse_works);
  add_parsed(table,
             {.names = "--contexts",
              .value = "LIST",
              .help = "Tokens of prompts; may be more than the model was trained for",
              .default_text = "1k,8k"},
             args.contexts, parse_contexts);
  add_path(table,
           {.names = "-f,--file",
            .value = "FILE",
            .help = "The prompt, text or a JSON list of token ids, repeated until it is long enough",
            .default_text = "random tokens"},
           args.prompt_file);
  add_whole(table, {.names = "-s,--seed", .value = "N", .help = "Seed of random tokens"}, args.seed, {.min = 0});
  add_size(table, {.names = "--decode", .value = "N", .help = "Tokens decoded in one timed run"}, args.n_decode,
           {.min = 1, .max = 1 << 20});
  add_size(table, {.names = "--repeats", .value = "N", .help = "Rounds, in each of which everything runs once"},
           args.n_repeat, {.min = 1, .max = 1000});
  add_name(table,
           {.names = "--peer",
            .value = "llama.cpp",
            .help = "Does the same work in the same rounds with its full cache, in several settings of which the best "
                    "counts",
            .default_text = "none"},
           args.peer, {"llama.cpp"});

  table.begin_group("Caches");
  add_parsed(table,
             {.names = "--policies",
              .value = "LIST",
              .help = "Policies apart by commas, as `eval` has them",
              .default_text = "full,snapkv"},
             args.policies, parse_policies);
  add_parsed(table,
             {.names = "--budgets",
              .value = "LIST",
              .help = "Fractions of the rows that each policy keeps",
              .default_text = "10%"},
             args.kept, parse_fraction_list);
  add_parsed(table,
             {.names = "--kv-types",
              .value = "LIST",
              .help = "Types of policies that name none, K/V or one for both, as in f16,q8_0/q4_0",
              .default_text = "f16"},
             args.formats, parse_formats);
  add_path(table,
           {.names = "--profile",
            .value = "FILE",
            .help = "The model's profile, for policies that name none (ripple, curves, head_curves)",
            .default_text = "the one in the cache folder"},
           args.profile_file);

  table.begin_group("Output");
  add_path(table,
           {.names = "-o,--output,--json",
            .value = "FILE",
            .help = "A list of records, one per work, prompt length and cache, as JSON",
            .default_text = "none",
            .writes = true},
           args.output_file);
  add_common_args(table, args.output);
  table.add_rule([&args]() -> Status {
    for (const KvFormat& format : args.formats)
      RKV_RETURN_IF_ERROR(check_different(args.policies, format, args.profile_file));
    return ok_status();
  });
}

}  // namespace ripplekv
