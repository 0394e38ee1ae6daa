// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Generation: sample, stop, decode, until the model ends or a limit is met. Text leaves through a callback as it
// becomes whole (no half characters, no part of a stop string). Whoever decodes several sequences in one batch holds a
// Generation for each; generate() runs one alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sampler.h"
#include "engine/stop_strings.h"
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
  // Of generate() alone:
  int64_t n_decoded = 0;  // tokens put through the model
  double seconds = 0;
};

// One answer between the decode steps of its sequence.
class Generation {
 public:
  using OnText = std::function<void(std::string_view)>;

  // prompt: for the repetition penalty only. Errors: a stop string that is empty.
  static Result<Generation> create(const Vocab& vocab, std::span<const int32_t> prompt, const GenerateOptions& options,
                                   OnText on_text);

  // Samples from the sequence's logits. The token that it is to decode next; none: the answer has ended, and its last
  // token need not go through the model.
  std::optional<int32_t> next(const Sequence& sequence);
  // What was answered. stopped_by: why, if next() did not end it. Once.
  Generated finish(std::string_view stopped_by = "");

 private:
  Generation(const Vocab& vocab, const GenerateOptions& options, StopFilter filter, OnText on_text);
  std::nullopt_t end(std::string_view by);
  void emit(std::string_view text);

  const Vocab* vocab_;
  GenerateOptions options_;
  std::unique_ptr<Sampler> sampler_;
  StopFilter filter_;
  OnText on_text_;
  Generated result_;
};

// prompt: for the repetition penalty only. Errors: out of memory, damaged weights; the text so far has gone to on_text.
Result<Generated> generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const std::function<void(std::string_view)>& on_text);

}  // namespace ripplekv
