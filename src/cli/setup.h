// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What several commands do first: load the model, make the engine, find the profile, turn flags into a cache policy.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/args.h"
#include "engine/policy.h"
#include "profiling/profiler.h"
#include "ripplekv/engine.h"
#include "ripplekv/model.h"

namespace ripplekv {

// Loads the model named, or the default one; says which on stderr if it was not named.
Result<std::shared_ptr<const Model>> load_model(const ModelArgs& args);
Result<std::unique_ptr<Engine>> make_engine(std::shared_ptr<const Model> model, const ModelArgs& args);

// Most positions of prompt and answer: -c, or the trained length. Warns on stderr where -c goes beyond that.
int64_t context_limit(const ModelArgs& args, const ModelConfig& config);

// The profile named, or the one in the cache folder under the model's fingerprint; nullopt if there is none there.
Result<std::optional<Profile>> find_profile(const std::string& named, const ModelId& model);

// What the flags say; an allocator that was not named stays empty. Errors: the selector `full` beside less than the
// whole budget: it chooses nothing, and would keep whichever rows come first.
Result<Policy> make_policy(const KvBudget& budget, const AllocatorArgs& allocator, const SelectorArgs& selector,
                           const KvTypeArgs& type);

// What a user should know of a profile with fewer samples than planned.
std::string unfinished_note(const Profile& profile);

// A note on damage curves that were measured with another selector, other options of it or another kv format than the
// policy has; empty if they fit, or the policy does not go by them.
std::string curves_note(const Profile& profile, const Policy& policy);

// The allocator where none was named: what the profile has measured best. "ripple" without one: it names what is
// missing.
std::string usual_allocator(const std::optional<Profile>& profile, const Policy& policy);

// Nullopt: no budget was asked for, the cache stays full. `note` receives a sentence the user should see (e.g. that
// budgets are uniform for want of a profile), or "".
Result<std::optional<Budgets>> resolve_budgets(const KvArgs& args, const Model& model, std::string& note);

// Whole text of a prompt or input file ("-": standard input). Errors: not there, not UTF-8 (byte named), over 1 GiB.
Result<std::string> read_text(const std::string& path);

// calibration: file or folder; empty: the built-in generator, from the seed. Samples of at most max_tokens.
Result<std::vector<ProfilerSample>> calibration_samples(const Model& model, const std::string& calibration,
                                                        int n_sample, uint64_t seed, int64_t max_tokens);

struct Profiled {
  Profile profile;
  std::string path;        // of the artefact
  bool first_rank = true;  // else another process says what there is to say
};

// Loads the model and profiles it with a progress line, as one of several ranks where there are. path: of the artefact;
// empty: the cache folder's, under the model's fingerprint. calibration: as above. announcement: said on stderr once
// nothing refuses to begin.
Result<Profiled> profile_with_progress(ModelArgs model_args, ProfileSettings settings, const std::string& calibration,
                                       int n_sample, const std::string& path, bool fresh, const ProfileFit& fit,
                                       const std::string& announcement = "");

void print_to_stderr(const std::string& line);

// JSON for standard output or a file; bytes that are not UTF-8 (a model's name, a path) become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

}  // namespace ripplekv
