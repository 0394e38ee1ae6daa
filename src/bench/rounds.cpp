// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/rounds.h"

#include "base/statistics.h"

namespace ripplekv {
namespace {

constexpr double kHopeless = 1.1;  // a setting of the peer that takes this many times its best time is not tried again

// Null without a peer.
const Contestant* best_of_peer(const std::vector<Contestant>& contestants) {
  const Contestant* best = nullptr;
  for (const Contestant& of : contestants) {
    if (of.setting == nullptr || of.out) continue;
    if (best == nullptr || median_of(of.seconds) < median_of(best->seconds)) best = &of;
  }
  return best;
}

}  // namespace

Status hold_rounds(std::vector<Contestant>& contestants, int n_round, const std::function<void()>& on_run,
                   const std::function<Status()>& on_round) {
  for (int round = 0; round < n_round; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      Contestant& next = contestants[round % 2 == 0 ? i : contestants.size() - 1 - i];
      if (!next.out) {
        RKV_ASSIGN_OR_RETURN(const double seconds, next.seconds_of_a_run());
        next.seconds.push_back(seconds);
      }
      on_run();
    }
    if (round == 0) {
      const Contestant* best = best_of_peer(contestants);
      for (Contestant& other : contestants) {
        other.out = other.setting != nullptr && other.seconds[0] > kHopeless * best->seconds[0];
      }
    }
    RKV_RETURN_IF_ERROR(on_round());
  }
  return ok_status();
}

std::vector<BenchRecord> with_times(std::vector<BenchRecord> records, const std::vector<Contestant>& contestants) {
  const Contestant* best = best_of_peer(contestants);
  for (size_t i = 0; i < records.size(); ++i) {
    BenchRecord& record = records[i];
    record.seconds = contestants[i].seconds;
    if (best == nullptr) continue;
    record.peer = kLlamaPeer;
    record.peer_setting = best->setting->name;
    record.peer_seconds = best->seconds;
    for (const Contestant& of : contestants) {
      if (of.setting == nullptr) continue;
      BenchRecord with_setting = record;
      with_setting.peer_seconds = of.seconds;
      record.peer_settings.emplace_back(of.setting->name, with_setting.peer_figure());
    }
  }
  return records;
}

}  // namespace ripplekv
