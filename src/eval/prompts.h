// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From a suite's sample to the tokens a model is given: chat template, tokenizer, and the published cut in the middle
// for prompts that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/chat_template.h"
#include "eval/suite.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct EvalPrompt {
  std::vector<int32_t> ids;  // at most max_tokens
  int64_t n_cut = 0;         // tokens dropped in the middle
};

// chat: null if the model has no template; samples that ask for it are then plain text. As LongBench's own program: the
// prompt is cut first, the template put round it. Errors: a template that fails, no room for the template.
Result<EvalPrompt> tokenize_prompt(const Model& model, const ChatTemplate* chat, const EvalSample& sample,
                                   int64_t max_tokens);

}  // namespace ripplekv
