// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From a suite's sample to the tokens a model is given: chat template, tokenizer, and the published cut in the middle
// for prompts that do not fit.
#pragma once

#include <cstdint>
#include <span>
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

// The same in two parts, for caches that are compressed between them.
struct SplitPrompt {
  std::vector<int32_t> document;                // what comes before it in the chat template included
  std::vector<std::vector<int32_t>> questions;  // each with the template's end
  int64_t n_cut = 0;                            // tokens dropped in the middle of the document
};

// samples: questions about one document, which is cut so that the longest of all there are about it (questions_beside)
// fits behind it: it is the same for all, whichever of them are asked. The two parts are tokenized apart, as turns of a
// conversation are. Errors: as above; no document or no question; a template that does not paste the text whole.
Result<SplitPrompt> tokenize_apart(const Model& model, const ChatTemplate* chat, std::span<const EvalSample> samples,
                                   int64_t max_tokens);

}  // namespace ripplekv
