// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Choices made by measuring on calibration samples: the best of several policies at a budget (`tune`), the smallest
// budget that holds a quality (`allocate --target-kl`). The samples are never those a result is reported on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eval/results.h"
#include "eval/runner.h"
#include "profiling/profiler.h"
#include "ripplekv/status.h"

namespace ripplekv {

// Every policy at every kept fraction on every sample, as result lines. Errors: as run_prompt(), with the sample named.
Result<std::vector<ResultLine>> measure_on(Engine& engine, const std::vector<ProfilerSample>& samples,
                                           const RunnerOptions& options,
                                           const std::function<void(int64_t done, int64_t total)>& on_progress);

// What `tune` tries with a selector: uniform, pyramid, ripple over r and transforms (gamma = r), curves where the
// profile has them. All else as in `base`.
std::vector<EvalPolicy> candidates(const Policy& base, const Profile& profile);

// A wanted quality, as means over the samples; 0: not asked for.
struct Target {
  double kl = 0;    // nats, at most
  double top1 = 0;  // agreement, at least
};
// Kept fractions that are tried for it, ascending: from 2% up, each 6% more than the one before; the last keeps all.
// All from one prefill of each sample: a fork and its scoring cost a small part of that.
std::vector<double> target_ladder();
// The smallest fraction of the lines that holds the target, as does every larger one; the lines are of one policy.
// Error: none does.
Result<double> smallest_kept(const std::vector<ResultLine>& lines, const Target& target);

}  // namespace ripplekv
