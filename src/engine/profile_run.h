// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A whole profile: samples one after another, the artefact written after each, so that a kill loses one sample at most.
// Several ranks share the samples, each with an artefact of its own for those it measured, until the first joins them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ranks.h"
#include "profiling/profiler.h"
#include "ripplekv/engine.h"
#include "ripplekv/profile.h"

namespace ripplekv {

struct ProfileRunOptions {
  std::string path;    // artefact, written after every sample
  bool fresh = false;  // overwrite the profile that is there instead of resuming it
  Ranks ranks;         // every one is given the same samples
  // In samples, as a fraction: done of total.
  std::function<void(double done, double total)> on_progress;
};

// Resumes from options.path, and from parts that ranks left beside it, if they are unfinished (or finished) profiles of
// this model with the same settings, of some of these samples; other profiles are refused unless `fresh`, files that
// are no profiles always. A path or a profile that cannot be written is refused before anything is measured.
// Cancelled: what is finished is on disk. With several ranks every one returns the whole profile; its price is the sum
// of theirs.
Result<Profile> run_profile(Engine& engine, const ProfileSettings& settings, const std::vector<ProfilerSample>& samples,
                            const ProfileRunOptions& options);

}  // namespace ripplekv
