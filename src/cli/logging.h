// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Where logs go: spdlog's default logger, to stderr, one line each. stdout belongs to results alone.
// ggml's and libllama's own messages pass through the same logger.
#pragma once

namespace ripplekv {

// 0: warnings and errors; 1: information too, and what ggml and llama warn of; 2: everything they say.
// Below 1 their messages are dropped: our loader reports the same faults in one sentence of its own.
void install_logging(int verbosity);

}  // namespace ripplekv
