// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `run --interactive`: a conversation in the terminal, or driven by lines of standard input. Answers go to standard
// output, all else to stderr. What goes wrong in a turn is one sentence, and the conversation goes on.
#pragma once

#include "cli/args.h"
#include "ripplekv/status.h"

namespace ripplekv {

// Errors: what keeps the conversation from beginning (model, template, budget), or output that cannot be written.
Status chat(const RunArgs& args);

}  // namespace ripplekv
