// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/profile_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "base/text.h"

namespace ripplekv {
namespace {

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
  for (size_t i = 0; i < found.samples.size(); ++i) {
    const ProfileSample& sample = found.samples[i];
    if (sample.id != samples[i].id) {
      return other(fmt::format("samples: got {} as number {}, expected {}", ripplekv::quoted(sample.id), i + 1,
                               ripplekv::quoted(samples[i].id)));
    }
    if (sample.content_hash != content_hash(samples[i])) {
      return other(fmt::format("samples: got other tokens in {}, expected those of today's calibration",
                               ripplekv::quoted(sample.id)));
    }
  }
  found.n_sample_planned = planned.n_sample_planned;
  return found;
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
  std::error_code ignored;
  if (!options.fresh && std::filesystem::exists(options.path, ignored)) {
    RKV_ASSIGN_OR_RETURN(profile, resume(options.path, profile, samples));
  }
  const auto total = static_cast<double>(samples.size());
  for (size_t i = profile.samples.size(); i < samples.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto on_progress = [&](int64_t done, int64_t of) {
      if (options.on_progress) {
        options.on_progress(static_cast<double>(i) + static_cast<double>(done) / static_cast<double>(of), total);
      }
    };
    RKV_ASSIGN_OR_RETURN(ProfileSample measured,
                         profile_sample(engine.forward(), settings, samples[i], engine.n_chunk(), on_progress,
                                        profile.n_forward_tokens));
    profile.samples.push_back(std::move(measured));
    profile.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    RKV_RETURN_IF_ERROR(write_profile(profile, options.path));
  }
  return profile;
}

}  // namespace ripplekv
