// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Generation: sample, stop, decode, until the model ends or a limit is met. Text leaves through a callback as it
// becomes whole (no half characters, no part of a stop string).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sampler.h"
#include "ripplekv/engine.h"

namespace ripplekv {

struct GenerateOptions {
  SamplingOptions sampling;  // repeat_last_n: -1 is all tokens
  int64_t n_predict = -1;    // tokens at most; -1: no limit but n_ctx
  int64_t n_ctx = 0;         // positions at most, the prompt's included
  std::vector<std::string> stop;
};

struct Generated {
  std::string text;
  std::vector<int32_t> ids;  // as sampled, the end token included
  std::string stopped_by;    // "end", "stop string", "limit", "context", "interrupt" (Engine::set_cancel)
  int64_t n_decoded = 0;     // tokens put through the model
  double seconds = 0;
};

// prompt: for the repetition penalty only. Errors: out of memory, damaged weights; the text so far has gone to on_text.
Result<Generated> generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const std::function<void(std::string_view)>& on_text);

}  // namespace ripplekv
