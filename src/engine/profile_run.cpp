// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/profile_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "base/text.h"

namespace ripplekv {
namespace {

size_t place_of(const std::string& id, const std::vector<ProfilerSample>& samples) {
  const auto found = std::find_if(samples.begin(), samples.end(), [&](const ProfilerSample& s) { return s.id == id; });
  return static_cast<size_t>(found - samples.begin());
}

bool holds(const Profile& profile, const std::string& id) {
  return std::any_of(profile.samples.begin(), profile.samples.end(),
                     [&](const ProfileSample& sample) { return sample.id == id; });
}

// What was measured elsewhere, in the order of the samples. A sample that both hold counts once.
void join(const Profile& from, const std::vector<ProfilerSample>& samples, Profile& into) {
  for (const ProfileSample& sample : from.samples) {
    if (!holds(into, sample.id)) into.samples.push_back(sample);
  }
  std::sort(into.samples.begin(), into.samples.end(), [&](const ProfileSample& a, const ProfileSample& b) {
    return place_of(a.id, samples) < place_of(b.id, samples);
  });
  into.seconds += from.seconds;
  into.n_forward_tokens += from.n_forward_tokens;
}

Result<Profile> resume(const std::string& path, const Profile& planned, const std::vector<ProfilerSample>& samples) {
  RKV_ASSIGN_OR_RETURN(Profile found, read_profile(path));
  RKV_RETURN_IF_ERROR(check_model(found.model, planned.model, "profile"));
  const auto other = [&](const std::string& what) {
    return mismatch(
        fmt::format("'{}' holds a profile with other {}; name another file, or start over with --fresh", path, what));
  };
  const std::vector<std::string> settings = differences(found.settings, planned.settings);
  if (!settings.empty()) return other(fmt::format("settings: {}", fmt::join(settings, ", ")));
  if (found.samples.size() > samples.size()) {
    return other(fmt::format("samples: got {}, expected at most {}", found.samples.size(), samples.size()));
  }
  for (const ProfileSample& sample : found.samples) {
    const size_t i = place_of(sample.id, samples);
    if (i == samples.size()) {
      return other(fmt::format("samples: got {}, expected those of today's calibration", ripplekv::quoted(sample.id)));
    }
    if (sample.content_hash != content_hash(samples[i])) {
      return other(fmt::format("samples: got other tokens in {}, expected those of today's calibration",
                               ripplekv::quoted(sample.id)));
    }
  }
  found.n_sample_planned = planned.n_sample_planned;
  return found;
}

// What the artefact and the parts beside it hold; with parts that becomes the artefact, and they are removed.
Result<Profile> joined(const std::string& path, const Profile& planned, const std::vector<ProfilerSample>& samples) {
  Profile whole = planned;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    RKV_ASSIGN_OR_RETURN(whole, resume(path, planned, samples));
  }
  const std::vector<std::string> parts = parts_of(path);
  for (const std::string& part : parts) {
    RKV_ASSIGN_OR_RETURN(const Profile of_rank, resume(part, planned, samples));
    join(of_rank, samples, whole);
  }
  if (!parts.empty()) RKV_RETURN_IF_ERROR(write_profile(whole, path));
  RKV_RETURN_IF_ERROR(remove_parts(parts));
  return whole;
}

}  // namespace

Result<Profile> run_profile(Engine& engine, const ProfileSettings& settings, const std::vector<ProfilerSample>& samples,
                            const ProfileRunOptions& options) {
  if (samples.empty()) return invalid_argument("calibration: 0 samples, expected at least 1");
  std::set<std::string> ids;
  for (const ProfilerSample& sample : samples) {
    if (!ids.insert(sample.id).second) {
      return invalid_argument(fmt::format("calibration: two samples are called '{}'", sample.id));
    }
  }
  Profile profile;
  profile.model = engine.model().id();
  profile.settings = settings;
  profile.n_sample_planned = static_cast<int>(samples.size());
  RKV_RETURN_IF_ERROR(check_write_profile(profile, options.path));
  const Ranks& ranks = options.ranks;
  const Profile planned = profile;
  std::error_code ignored;
  if (ranks.first() && options.fresh) {
    RKV_RETURN_IF_ERROR(check_replaces_profile(options.path));
    RKV_RETURN_IF_ERROR(remove_parts(parts_of(options.path)));
    if (ranks.count > 1) std::filesystem::remove(options.path, ignored);
  }
  if (ranks.first() && !options.fresh) {
    RKV_ASSIGN_OR_RETURN(profile, joined(options.path, planned, samples));
  }
  ranks.wait_for_all();
  if (!ranks.first() && std::filesystem::exists(options.path, ignored)) {
    RKV_ASSIGN_OR_RETURN(profile, resume(options.path, planned, samples));
  }
  // Alone, what is measured joins what was there; else it is a part of its own.
  const bool alone = ranks.count == 1;
  const std::string path = alone ? options.path : part_path(options.path, ranks.rank);
  Profile mine = alone ? profile : planned;
  std::vector<const ProfilerSample*> missing;
  for (const ProfilerSample& sample : samples) {
    if (!holds(profile, sample.id)) missing.push_back(&sample);
  }
  const auto total = static_cast<double>(samples.size());
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!ranks.takes(i)) continue;
    const auto begin = std::chrono::steady_clock::now();
    const auto on_progress = [&](int64_t done, int64_t of) {
      if (!options.on_progress || !ranks.first()) return;
      const auto before = static_cast<double>(samples.size() - missing.size() + i);
      const double share = static_cast<double>(ranks.count) * static_cast<double>(done) / static_cast<double>(of);
      options.on_progress(std::min(before + share, total), total);
    };
    Profile one = planned;
    RKV_ASSIGN_OR_RETURN(ProfileSample measured, profile_sample(engine.forward(), settings, *missing[i],
                                                                engine.n_chunk(), on_progress, one.n_forward_tokens));
    one.samples.push_back(std::move(measured));
    one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    join(one, samples, mine);
    RKV_RETURN_IF_ERROR(write_profile(mine, path));
  }
  if (alone) return mine;
  ranks.wait_for_all();
  if (ranks.first()) RKV_RETURN_IF_ERROR(joined(options.path, planned, samples).status());
  ranks.wait_for_all();
  return resume(options.path, planned, samples);
}

}  // namespace ripplekv
