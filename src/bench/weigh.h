// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The memory that prefilling a prompt and beginning to decode takes, of each cache and of the peer, each in a process
// of its own (apart.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/bench.h"
#include "bench/llama_peer.h"

namespace ripplekv {

// Of the peer: those in f16, which are weighed.
std::vector<const LlamaSetting*> f16_settings();

// One record for each of the n_variant that options.make_variants makes, of a prompt of n tokens, beside the lightest
// setting of the peer. on_run: after each process.
Result<std::vector<BenchRecord>> weigh(const BenchOptions& options, int64_t n, int64_t n_variant,
                                       const std::function<void()>& on_run);

}  // namespace ripplekv
