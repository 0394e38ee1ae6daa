// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Profiler: measures one sample's sensitivities and damage curves (design: docs/profile.md). One prefill per sample;
// the continuation of a changed layer starts from the stored activation of that layer. The cache is left as it was
// found after every change. Samples arrive as token ids; files and resuming are the caller's. Not thread-safe, like
// Forward. RippleKV (Xu et al. 2026): KL(p_full || p_nudged), mean over the tokens of a teacher-forced continuation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/forward.h"
#include "ripplekv/profile.h"
#include "ripplekv/status.h"

namespace ripplekv {

// Of reliability_of(): below it layers swap places from one set of samples to the next.
constexpr double kReliabilityMin = 0.7;

struct ProfilerSample {
  std::string id;
  std::vector<int32_t> ids;  // the prompt
  std::vector<int32_t>
      answer;  // its continuation, of which at most settings.n_answer tokens are used; empty: the model's own
};

// Hash of the ids, as kept in ProfileSample::content_hash.
std::string content_hash(const ProfilerSample& sample);

// Errors: nothing to nudge (prompt too short), an answer of fewer than 2 tokens, a fraction that keeps fewer rows than
// are protected, cancelled. on_progress(done, total): in layer-tokens of this sample.
Result<ProfileSample> profile_sample(Forward& forward, const ProfileSettings& settings, const ProfilerSample& sample,
                                     int n_chunk, const std::function<void(int64_t, int64_t)>& on_progress,
                                     int64_t& n_forward_tokens);

}  // namespace ripplekv
