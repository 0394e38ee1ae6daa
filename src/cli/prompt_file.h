// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A prompt as a file: text, or token ids, with or without an answer to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ripplekv/model.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct PromptFile {
  std::vector<int32_t> ids;
  std::vector<int32_t> answer;
};

// {"ids": [...], "answer": [...]}, {"text": "..."} or a list of ids; what begins with neither '{' nor '[' is text. "-":
// standard input. Errors: as read_text(); a damaged object or list, a list of something else.
Result<PromptFile> read_prompt_file(const Model& model, const std::string& path);

}  // namespace ripplekv
