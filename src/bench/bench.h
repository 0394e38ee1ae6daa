// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `bench`: times caches beside each other and beside libllama, round by round in one run. Loading and memory are
// measured in processes of their own, before this one computes anything; prefill by real prefills; decode on caches
// forked from one prefill of the prompt. docs/performance.md says how to read what comes out (record.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/llama_peer.h"
#include "bench/record.h"
#include "bench/variant.h"
#include "ripplekv/engine.h"

namespace ripplekv {

struct BenchOptions {
  std::function<Result<std::unique_ptr<Engine>>()> load;
  std::function<Result<std::vector<BenchVariant>>(const Model&)> make_variants;
  // The first n tokens of an endless prompt.
  std::function<Result<std::vector<int32_t>>(const Model&, int64_t n)> make_tokens;
  std::vector<int64_t> contexts;
  bool prefill = true;
  bool decode = true;
  bool first_token = true;
  bool memory = true;
  int n_decode = 32;  // tokens timed, after one that is not
  int n_repeat = 3;
  std::optional<LlamaPeerOptions> peer;
  std::function<void(int64_t done, int64_t total)> on_progress;  // in timed runs
  // Everything measured so far, after each round and each length weighed; an error ends the run.
  std::function<Status(const std::vector<BenchRecord>&)> on_records;
};

// Errors: as loading, planning and prefill; a prompt that does not fit into memory, before any of them is timed;
// of on_records.
// REQUIRES: this process has computed no graph yet.
Status run_bench(const BenchOptions& options);

}  // namespace ripplekv
