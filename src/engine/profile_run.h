// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A whole profile: samples one after another, the artefact written after each, so that a kill loses one sample at most.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiling/profiler.h"
#include "ripplekv/engine.h"
#include "ripplekv/profile.h"

namespace ripplekv {

struct ProfileRunOptions {
  std::string path;    // artefact, written after every sample
  bool fresh = false;  // overwrite what is there instead of resuming it
  // In samples, as a fraction: done of total.
  std::function<void(double done, double total)> on_progress;
};

// Resumes from options.path if it is an unfinished (or finished) profile of this model with the same settings and
// samples; a file that is anything else is refused unless `fresh`. A path or a profile that cannot be written is
// refused before anything is measured. Cancelled: what is finished is on disk.
Result<Profile> run_profile(Engine& engine, const ProfileSettings& settings, const std::vector<ProfilerSample>& samples,
                            const ProfileRunOptions& options);

}  // namespace ripplekv
