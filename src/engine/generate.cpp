// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/generate.h"

#include <chrono>

#include "engine/stop_strings.h"

namespace ripplekv {

Result<Generated> generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const std::function<void(std::string_view)>& on_text) {
  const Vocab& vocab = engine.model().vocab();
  SamplingOptions sampling = options.sampling;
  if (sampling.repeat_last_n < 0 || sampling.repeat_last_n > options.n_ctx) {
    sampling.repeat_last_n = static_cast<int>(options.n_ctx);
  }
  Sampler sampler(sampling);
  sampler.accept(prompt);
  RKV_ASSIGN_OR_RETURN(StopFilter filter, StopFilter::create(options.stop));
  Generated result;
  const auto emit = [&](std::string_view text) {
    result.text += text;
    if (!text.empty() && on_text) on_text(text);
  };
  const auto begin = std::chrono::steady_clock::now();
  result.stopped_by = "limit";
  while (options.n_predict < 0 || static_cast<int64_t>(result.ids.size()) < options.n_predict) {
    const int32_t token = sampler.sample(sequence.logits);
    result.ids.push_back(token);
    if (vocab.is_end(token)) {
      result.stopped_by = "end";
      break;
    }
    emit(filter.feed(vocab.piece(token, /*special=*/false)));
    if (filter.stopped_by()) {
      result.stopped_by = "stop string";
      break;
    }
    if (static_cast<int64_t>(result.ids.size()) == options.n_predict) break;
    if (sequence.cache.n_pos() >= options.n_ctx) {
      result.stopped_by = "context";
      break;
    }
    const DecodeStep step{&sequence, token};
    const Status decoded = engine.decode({&step, 1});
    if (decoded.code() == StatusCode::kCancelled) {
      result.stopped_by = "interrupt";
      break;
    }
    RKV_RETURN_IF_ERROR(decoded);
    ++result.n_decoded;
  }
  emit(filter.flush());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace ripplekv
