// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/atomic_file.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/mpi.h"
#include "cli/places.h"
#include "cli/standard_output.h"
#include "engine/machine.h"
#include "engine/profile_run.h"
#include "engine/prompt.h"
#include "model/gguf_file.h"
#include "profiling/calibration_builtin.h"

namespace ripplekv {
namespace {

constexpr int64_t kTextBytesMax = int64_t{1} << 30;

Result<std::string> read_standard_input() {
  std::string text;
  char buffer[65536];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), stdin)) {
    text.append(buffer, n);
    if (static_cast<int64_t>(text.size()) > kTextBytesMax) {
      return resource_exhausted("standard input: over 1 GiB, expected a prompt");
    }
  }
  if (std::ferror(stdin) != 0) return io_error("standard input: cannot be read");
  return text;
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_to_stderr(const std::string& line) {
  // Where both streams are one file, lines come in the order they were written in. An error is kept and told at the
  // end.
  static_cast<void>(flush_out());
  std::fputs((line + "\n").c_str(), stderr);
}

Result<std::shared_ptr<const Model>> load_model(const ModelArgs& args) {
  RKV_ASSIGN_OR_RETURN(const std::string path, model_path_or_default(args.path));
  if (args.path.empty()) print_to_stderr(fmt::format("model: {} (the default; -m names another)", path));
  ModelOptions options;
  if (args.weights == "f32") options.weights = WeightsMode::kF32;
  if (args.weights == "bf16") options.weights = WeightsMode::kBf16;
  options.n_gpu_layers =
      args.n_gpu_layers != kGpuLayersAuto ? args.n_gpu_layers : (gpu_available() ? kGpuLayersAll : 0);
  options.n_ctx = args.n_ctx;
  return Model::load(path, options);
}

Result<std::unique_ptr<Engine>> make_engine(std::shared_ptr<const Model> model, const ModelArgs& args) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  if (processors > 0 && args.n_threads > 4 * processors) {
    return invalid_argument(fmt::format("--threads {}: this machine has {} processors, expected at most {}",
                                        args.n_threads, processors, 4 * processors));
  }
  return Engine::create(std::move(model), {.n_threads = args.n_threads, .n_chunk = args.n_ubatch});
}

int64_t context_limit(const ModelArgs& args, const ModelConfig& config) {
  if (args.n_ctx == 0) return config.n_ctx_train;
  if (args.n_ctx > config.n_ctx_train) {
    print_to_stderr(fmt::format("warning: --ctx-size {} goes beyond the {} tokens the model was trained for",
                                args.n_ctx, config.n_ctx_train));
  }
  return args.n_ctx;
}

Result<std::optional<Profile>> find_profile(const std::string& named, const ModelId& model) {
  std::string path = named;
  if (named.empty()) {
    path = profile_path(model.fingerprint);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::optional<Profile>();
  }
  RKV_ASSIGN_OR_RETURN(Profile profile, read_profile(path));
  RKV_RETURN_IF_ERROR(check_model(profile.model, model, fmt::format("profile '{}'", path)));
  return std::optional<Profile>(std::move(profile));
}

Result<Policy> make_policy(const KvBudget& budget, const AllocatorArgs& allocator, const SelectorArgs& selector,
                           const KvTypeArgs& type) {
  const bool keeps_all = budget.kind == KvBudget::Kind::kFraction && budget.value >= 1;
  if (selector.name == "full" && !keeps_all) {
    return invalid_argument(
        fmt::format("--selector full keeps every row: got a budget of {}, expected none or 100%", budget.to_string()));
  }
  Policy policy;
  policy.budget = budget;
  policy.allocator = allocator.name;
  policy.ripple = allocator.ripple;
  policy.signal = allocator.signal;
  policy.pyramid = allocator.pyramid;
  policy.selector = selector.name;
  policy.selector_options = selector.options;
  policy.kv_format = type.automatic ? KvFormat{} : type.format();
  policy.auto_format = type.automatic;
  return policy;
}

std::string unfinished_note(const Profile& profile) {
  return fmt::format("the profile is unfinished ({} of {}); 'ripplekv profile' goes on with it", profile.samples.size(),
                     counted(profile.n_sample_planned, "sample"));
}

std::string curves_note(const Profile& profile, const Policy& policy) {
  if (!goes_by_damage(policy.allocator)) return "";
  const ProfileSettings& measured = profile.settings;
  const std::vector<KvFormat> formats = measured.formats_of_curves();
  std::string with;
  if (measured.selector != policy.selector) {
    with = fmt::format("selector {}, not {}", measured.selector, policy.selector);
  } else if (measured.selector_options != policy.selector_options) {
    with = fmt::format("other options of {}", measured.selector);
  }
  if (std::find(formats.begin(), formats.end(), policy.kv_format) == formats.end()) {
    with += fmt::format("{}{}/{} rows, not {}/{}", with.empty() ? "" : " and ", to_string(formats[0].k),
                        to_string(formats[0].v), to_string(policy.kv_format.k), to_string(policy.kv_format.v));
  }
  if (with.empty()) return "";
  return fmt::format("the profile's curves were measured with {}; 'ripplekv profile' measures others", with);
}

std::string usual_allocator(const std::optional<Profile>& profile, const Policy& policy) {
  if (profile && !profile->settings.head_fractions.empty()) return "head_curves";
  const bool has_curves = profile && !profile->settings.curve_fractions.empty();
  return has_curves || policy.auto_format ? "curves" : "ripple";
}

Result<std::optional<Budgets>> resolve_budgets(const KvArgs& args, const Model& model, std::string& note) {
  std::optional<Budgets> budgets;
  if (!args.budget_file.empty()) {
    RKV_ASSIGN_OR_RETURN(budgets, read_budgets(args.budget_file));
    RKV_RETURN_IF_ERROR(check_model(budgets->model, model.id(), fmt::format("budgets '{}'", args.budget_file)));
    for (KvFormat& format : budgets->kv_format) {
      format.k = args.type.k.value_or(format.k);
      format.v = args.type.v.value_or(format.v);
    }
    return budgets;
  }
  if (!args.budget) return budgets;
  RKV_ASSIGN_OR_RETURN(Policy policy, make_policy(*args.budget, args.allocator, args.selector, args.type));
  std::optional<Profile> profile;
  if (policy.allocator.empty() || needs_profile(policy.allocator)) {
    RKV_ASSIGN_OR_RETURN(profile, find_profile(args.allocator.profile_file, model.id()));
  }
  if (policy.allocator.empty()) {
    policy.allocator = profile || policy.auto_format ? usual_allocator(profile, policy) : "uniform";
    if (policy.allocator == "uniform") {
      note =
          "no profile of this model: every layer gets the same budget; 'ripplekv profile' (or --auto-profile) measures "
          "one";
    }
  }
  if (profile) note = profile->complete() ? curves_note(*profile, policy) : unfinished_note(*profile);
  RKV_ASSIGN_OR_RETURN(budgets, make_budgets(model.id(), policy, profile ? &*profile : nullptr));
  return budgets;
}

Result<std::string> read_text(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(std::string text, path == "-" ? read_standard_input() : read_file(path, kTextBytesMax));
  if (const auto byte = first_invalid_utf8(text)) {
    return invalid_argument(
        fmt::format("{}: not UTF-8 at byte {}", path == "-" ? "standard input" : "'" + path + "'", *byte));
  }
  return text;
}

Result<std::vector<ProfilerSample>> calibration_samples(const Model& model, const std::string& calibration,
                                                        int n_sample, uint64_t seed, int64_t max_tokens) {
  std::vector<CalibrationSample> texts;
  if (calibration.empty()) {
    texts = builtin_calibration(n_sample, seed, max_tokens);
  } else {
    RKV_ASSIGN_OR_RETURN(texts, read_calibration(calibration, n_sample));
  }
  auto chat = model_chat_template(model);
  if (!chat.ok() && chat.status().code() != StatusCode::kNotFound) return chat.status();
  std::vector<ProfilerSample> samples;
  for (const CalibrationSample& text : texts) {
    RKV_ASSIGN_OR_RETURN(ProfilerSample sample, tokenize_sample(model, chat.ok() ? &*chat : nullptr, text, max_tokens));
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<Profiled> profile_with_progress(ModelArgs model_args, ProfileSettings settings, const std::string& calibration,
                                       int n_sample, const std::string& path, bool fresh, const ProfileFit& fit,
                                       const std::string& announcement) {
  RKV_ASSIGN_OR_RETURN(const std::string model_path, model_path_or_default(model_args.path));
  RKV_ASSIGN_OR_RETURN(const auto file, GgufFile::open(model_path));
  Profiled result;
  result.path = path.empty() ? profile_path(file->fingerprint()) : path;
  RKV_RETURN_IF_ERROR(prepare_output(result.path));
  RKV_ASSIGN_OR_RETURN(const Ranks ranks, join_ranks());
  RKV_ASSIGN_OR_RETURN(const auto model_loaded, load_model(model_args));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model_loaded, model_args));
  engine->set_cancel(interrupt_flag());
  const Model& model = *model_loaded;
  settings.weights = model_args.weights;
  settings.calibration = calibration.empty() ? "builtin" : calibration.substr(calibration.find_last_of('/') + 1);
  settings.max_tokens = std::min(settings.max_tokens, context_limit(model_args, model.config()) - settings.n_answer);
  if (settings.max_tokens < 1) {
    return invalid_argument(fmt::format("--answer-tokens {}: leaves no room for a prompt in a context of {} tokens",
                                        settings.n_answer, context_limit(model_args, model.config())));
  }
  RKV_ASSIGN_OR_RETURN(const std::vector<ProfilerSample> samples,
                       calibration_samples(model, calibration, n_sample, settings.seed, settings.max_tokens));
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(settings.selector, settings.selector_options));
  size_t n_least = samples[0].ids.size();
  for (const ProfilerSample& sample : samples) n_least = std::min(n_least, sample.ids.size());
  const auto too_few = [&](double kept) {
    return kept * static_cast<double>(n_least) < static_cast<double>(selector->protected_rows().count() + 1);
  };
  if (fit.curves) std::erase_if(settings.curve_fractions, too_few);
  if (fit.heads) {
    std::erase_if(settings.head_fractions, too_few);
    if (model.config().n_head_kv == 1) settings.head_fractions.clear();
  }
  if (fit.formats) {
    std::erase_if(settings.curve_formats,
                  [&](const KvFormat& format) { return !check_kv_format(format, model.config().head_dim).ok(); });
  }
  constexpr double kUnits = 10000;  // the progress line counts whole units
  std::optional<Progress> progress;
  ProfileRunOptions options;
  options.path = result.path;
  options.fresh = fresh;
  options.ranks = ranks;
  options.on_progress = [&](double done, double total) {
    const auto units = static_cast<int64_t>(done * kUnits);
    if (!progress) {
      if (!announcement.empty()) print_to_stderr(announcement);
      progress.emplace("profiling", static_cast<int64_t>(total * kUnits),
                       static_cast<int64_t>(std::floor(done)) * static_cast<int64_t>(kUnits));
    }
    progress->update(units);
  };
  Result<Profile> profile = run_profile(*engine, settings, samples, options);
  if (progress) progress->finish();
  if (!profile.ok() && profile.status().code() == StatusCode::kCancelled) {
    std::error_code ignored;
    if (!std::filesystem::exists(result.path, ignored))
      return cancelled("interrupted before the first sample was done");
    return cancelled(fmt::format("interrupted; what is measured is in '{}', the same command goes on", result.path));
  }
  RKV_ASSIGN_OR_RETURN(result.profile, std::move(profile));
  result.first_rank = ranks.first();
  return result;
}

}  // namespace ripplekv
