// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The prompts of an evaluation as JSON lines, so that another program answers the same tokens and is scored by the same
// references (docs/formats.md). Written only; how prompts come about is prompts.h's business.
#pragma once

#include <string>
#include <string_view>

#include "eval/prompts.h"
#include "eval/results.h"
#include "eval/suite.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

namespace ripplekv {

// That the file, if there is one, is empty or holds prompts. Error: it holds something else, which would be lost.
Status check_replaces_prompts(const std::string& path);

// The first line: whose tokens these are, and at which of them an answer ends.
std::string prompts_header(const Model& model, std::string_view suite);

// The line of one sample: question `i` of the prompt. A prompt that could not be made is a line with its error.
std::string prompt_line(const std::string& name, const EvalSample& sample, QuestionMode mode,
                        const Result<SplitPrompt>& prompt, size_t i);

}  // namespace ripplekv
