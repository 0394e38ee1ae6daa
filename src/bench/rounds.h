// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Rounds: everyone who takes part in a work runs once in each of them, ours and every setting of the peer, and becomes
// records. What a run is, is bench.h's business.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "bench/llama_peer.h"
#include "bench/record.h"
#include "ripplekv/status.h"

namespace ripplekv {

constexpr std::string_view kLlamaPeer = "llama.cpp";

struct Contestant {
  std::function<Result<double>()> seconds_of_a_run;
  const LlamaSetting* setting = nullptr;  // of the peer; ours have none
  std::vector<double> seconds;            // of each run
  bool out = false;                       // a setting that was far from the peer's best in the first round
};

// Every other round backwards, so that nobody always runs behind the same one. on_run: also for those that are out.
// Errors: of a run or of on_round, at once.
Status hold_rounds(std::vector<Contestant>& contestants, int n_round, const std::function<void()>& on_run,
                   const std::function<Status()>& on_round);

// `records` with the times so far and the peer's best setting beside them. contestants: one for each record, then the
// peer's settings. REQUIRES: a round was held.
std::vector<BenchRecord> with_times(std::vector<BenchRecord> records, const std::vector<Contestant>& contestants);

}  // namespace ripplekv
