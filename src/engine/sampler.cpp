// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/sampler.h"

#include <llama.h>

namespace ripplekv {

Sampler::Sampler(const SamplingOptions& options)
    : chain_(llama_sampler_chain_init(llama_sampler_chain_default_params())) {
  const auto add = [&](llama_sampler* sampler) { llama_sampler_chain_add(chain_, sampler); };
  if (options.repeat_penalty != 1.0 && options.repeat_last_n != 0) {
    add(llama_sampler_init_penalties(options.n_vocab, options.repeat_last_n, static_cast<float>(options.repeat_penalty),
                                     0.0F, 0.0F));
  }
  if (options.temperature <= 0) {
    add(llama_sampler_init_greedy());
    return;
  }
  if (options.top_k > 0) add(llama_sampler_init_top_k(options.top_k));
  if (options.top_p < 1) add(llama_sampler_init_top_p(static_cast<float>(options.top_p), 1));
  if (options.min_p > 0) add(llama_sampler_init_min_p(static_cast<float>(options.min_p), 1));
  add(llama_sampler_init_temp(static_cast<float>(options.temperature)));
  // libllama takes its default seed as "draw one"; here a seed is a seed.
  add(llama_sampler_init_dist(options.seed == LLAMA_DEFAULT_SEED ? options.seed - 1 : options.seed));
}

Sampler::~Sampler() { llama_sampler_free(chain_); }

void Sampler::accept(std::span<const int32_t> tokens) {
  for (int32_t token : tokens) llama_sampler_accept(chain_, token);
}

int32_t Sampler::sample(std::span<const float> logits) {
  std::vector<llama_token_data> candidates;
  candidates.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) candidates.push_back({static_cast<llama_token>(i), logits[i], 0.0F});
  llama_token_data_array array = {candidates.data(), candidates.size(), /*selected=*/-1, /*sorted=*/false};
  llama_sampler_apply(chain_, &array);
  RKV_CHECK(array.selected >= 0 && static_cast<size_t>(array.selected) < array.size);
  const int32_t token = array.data[array.selected].id;
  llama_sampler_accept(chain_, token);
  return token;
}

}  // namespace ripplekv
