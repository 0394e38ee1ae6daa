// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv bench: how fast, and how large.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/text.h"
#include "bench/bench.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/places.h"
#include "cli/policies.h"
#include "cli/prompt_file.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/machine.h"
#include "model/gguf_file.h"

namespace ripplekv {
namespace {

// Every policy at every budget in every format, those that name their format once.
Result<std::vector<BenchVariant>> make_variants(const BenchArgs& args, Profiles& profiles) {
  std::vector<PolicyArgs> policies = args.policies;
  if (policies.empty()) {
    for (const char* name : {"full", "snapkv"}) {
      RKV_ASSIGN_OR_RETURN(PolicyArgs policy, parse_policy(name));
      policies.push_back(std::move(policy));
    }
  }
  std::vector<BenchVariant> variants;
  for (const PolicyArgs& of : policies) {
    const bool names_format = of.type.automatic || (of.type.k && of.type.v);
    for (const KvFormat& format : names_format ? std::vector<KvFormat>{of.type.format()} : args.formats) {
      for (const double kept : of.full ? std::vector<double>{1.0} : args.kept) {
        BenchVariant& variant = variants.emplace_back();
        variant.name = of.text;
        RKV_ASSIGN_OR_RETURN(variant.policy, policy_of(of, format, {KvBudget::Kind::kFraction, kept}));
        RKV_ASSIGN_OR_RETURN(variant.profile, profiles.of(of, args.profile_file));
      }
    }
  }
  return variants;
}

Result<std::vector<int32_t>> make_tokens(const BenchArgs& args, const Model& model, int64_t n) {
  std::vector<int32_t> tokens;
  if (!args.prompt_file.empty()) {
    RKV_ASSIGN_OR_RETURN(PromptFile file, read_prompt_file(model, args.prompt_file));
    if (file.ids.empty()) return invalid_argument(fmt::format("'{}': 0 tokens, expected a prompt", args.prompt_file));
    tokens = std::move(file.ids);
    const size_t n_file = tokens.size();
    tokens.resize(static_cast<size_t>(n));
    for (size_t i = n_file; i < tokens.size(); ++i) tokens[i] = tokens[i - n_file];
    return tokens;
  }
  Random random(seed_from(args.seed));
  for (int64_t i = 0; i < n; ++i) {
    tokens.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(model.config().n_vocab))));
  }
  return tokens;
}

}  // namespace

Status cmd_bench(const BenchArgs& args) {
  if (!args.output_file.empty()) RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
  ModelArgs model_args = args.model;
  RKV_ASSIGN_OR_RETURN(model_args.path, model_path_or_default(args.model.path));
  if (model_args.n_threads == 0) model_args.n_threads = n_physical_cores();
  model_args.n_ctx = *std::max_element(args.contexts.begin(), args.contexts.end()) + args.n_decode + 1;

  std::optional<Profiles> profiles;
  BenchOptions options;
  options.load = [&]() -> Result<std::unique_ptr<Engine>> {
    RKV_ASSIGN_OR_RETURN(const auto model, load_model(model_args));
    RKV_ASSIGN_OR_RETURN(auto engine, make_engine(model, model_args));
    engine->set_cancel(interrupt_flag());
    return engine;
  };
  options.make_variants = [&](const Model& model) {
    if (!profiles) profiles.emplace(model.id());
    return make_variants(args, *profiles);
  };
  options.make_tokens = [&](const Model& model, int64_t n) { return make_tokens(args, model, n); };
  options.contexts = args.contexts;
  const auto asked = [&](std::string_view work) {
    return std::find(args.works.begin(), args.works.end(), work) != args.works.end();
  };
  options.prefill = asked("prefill");
  options.decode = asked("decode");
  options.first_token = asked("first_token");
  options.memory = asked("memory");
  options.n_decode = args.n_decode;
  options.n_repeat = args.n_repeat;
  if (!args.peer.empty()) {
    options.peer = LlamaPeerOptions{model_args.path, model_args.n_threads, args.model.n_ubatch,
                                    std::max(0, args.model.n_gpu_layers), interrupt_flag()};
  }
  std::optional<Progress> progress;
  options.on_progress = [&](int64_t done, int64_t total) {
    if (!progress) progress.emplace("timing", total);
    progress->update(done);
  };
  RKV_ASSIGN_OR_RETURN(const auto file, GgufFile::open(model_args.path));
  const nlohmann::ordered_json common = {
      {"model", std::filesystem::path(model_args.path).filename().string()},
      {"fingerprint", file->fingerprint()},
      {"weights", args.model.weights},
      {"n_threads", model_args.n_threads},
      {"n_ubatch", args.model.n_ubatch},
      {"prompt", args.prompt_file.empty() ? fmt::format("random, seed {}", args.seed)
                                          : std::filesystem::path(args.prompt_file).filename().string()}};
  std::vector<BenchRecord> records;  // what a run that is stopped leaves
  options.on_records = [&](const std::vector<BenchRecord>& so_far) {
    records = so_far;
    return args.output_file.empty()
               ? ok_status()
               : write_file_atomically(args.output_file, json_text(records_json(records, common)) + "\n");
  };
  const Status status = run_bench(options);
  if (progress) progress->finish();
  const bool stopped = status.code() == StatusCode::kCancelled;
  if (!status.ok() && !stopped) return status;
  if (!records.empty()) print("{}\n{}\n", records_table(records), records_summary(records));
  if (!stopped) return ok_status();
  return cancelled(fmt::format("interrupted after {}{}", counted(records.size(), "record"),
                               args.output_file.empty() ? "" : fmt::format(", which '{}' holds", args.output_file)));
}

}  // namespace ripplekv
