// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/generate.h"

#include <chrono>

namespace ripplekv {

Generation::Generation(const Vocab& vocab, const GenerateOptions& options, StopFilter filter, OnText on_text)
    : vocab_(&vocab), options_(options), filter_(std::move(filter)), on_text_(std::move(on_text)) {
  SamplingOptions& sampling = options_.sampling;
  if (sampling.repeat_last_n < 0 || sampling.repeat_last_n > options_.n_ctx) {
    sampling.repeat_last_n = static_cast<int>(options_.n_ctx);
  }
  sampler_ = std::make_unique<Sampler>(sampling);
}

Result<Generation> Generation::create(const Vocab& vocab, std::span<const int32_t> prompt,
                                      const GenerateOptions& options, OnText on_text) {
  RKV_ASSIGN_OR_RETURN(StopFilter filter, StopFilter::create(options.stop));
  Generation generation(vocab, options, std::move(filter), std::move(on_text));
  generation.sampler_->accept(prompt);
  return generation;
}

void Generation::emit(std::string_view text) {
  result_.text += text;
  if (!text.empty() && on_text_) on_text_(text);
}

std::nullopt_t Generation::end(std::string_view by) {
  result_.stopped_by = by;
  return std::nullopt;
}

std::optional<int32_t> Generation::next(const Sequence& sequence) {
  const auto at_limit = [&] { return static_cast<int64_t>(result_.ids.size()) == options_.n_predict; };
  if (at_limit()) return end("limit");
  const int32_t token = sampler_->sample(sequence.logits);
  result_.ids.push_back(token);
  if (vocab_->is_end(token)) return end("end");
  emit(filter_.feed(vocab_->piece(token, /*special=*/false)));
  if (filter_.stopped_by()) return end("stop string");
  if (at_limit()) return end("limit");
  if (sequence.cache.n_pos() >= options_.n_ctx) return end("context");
  return token;
}

Generated Generation::finish(std::string_view stopped_by) {
  if (!stopped_by.empty()) end(stopped_by);
  emit(filter_.flush());
  return std::move(result_);
}

Result<Generated> generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const std::function<void(std::string_view)>& on_text) {
  RKV_ASSIGN_OR_RETURN(Generation generation, Generation::create(engine.model().vocab(), prompt, options, on_text));
  const auto begin = std::chrono::steady_clock::now();
  std::string_view stopped_by;
  int64_t n_decoded = 0;
  while (const std::optional<int32_t> token = generation.next(sequence)) {
    const DecodeStep step{&sequence, *token};
    const Status decoded = engine.decode({&step, 1});
    if (decoded.code() == StatusCode::kCancelled) {
      stopped_by = "interrupt";
      break;
    }
    RKV_RETURN_IF_ERROR(decoded);
    ++n_decoded;
  }
  Generated result = generation.finish(stopped_by);
  result.n_decoded = n_decoded;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace ripplekv
