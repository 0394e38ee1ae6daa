// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From text to token ids: chat template, tokenizer, and cutting a document so that a prompt has a wanted length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat_template.h"
#include "profiling/calibration.h"
#include "profiling/profiler.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

namespace ripplekv {

// The model's own template, tried once. Errors: none in the file (kNotFound), or one that cannot be used.
Result<ChatTemplate> model_chat_template(const Model& model);

// A whole rendering as tokens. Never two begin-of-sequence tokens, whether template or tokenizer adds the first.
std::vector<int32_t> rendered_tokens(const Model& model, std::string_view rendering);

// Messages through the template and the tokenizer, ending where the answer begins.
Result<std::vector<int32_t>> chat_tokens(const Model& model, const ChatTemplate& chat,
                                         std::span<const ChatMessage> messages);

// A calibration sample as token ids of at most max_tokens: documents are cut in the middle, questions never. Samples
// with a question go through the template (null: the model has none, document and question are plain text); others are
// the document's plain text. Errors: nothing left of the document at that length, an empty tokenisation.
Result<ProfilerSample> tokenize_sample(const Model& model, const ChatTemplate* chat, const CalibrationSample& sample,
                                       int64_t max_tokens);

}  // namespace ripplekv
