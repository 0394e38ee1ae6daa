// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The table of selectors: one line per method, in the order help prints them. A new method is one new file that
// defines its make_* function, and one line here. No method's code and no checks of options: those are in
// <method>.cpp and selector.cpp.
#pragma once

#include <memory>

#include "ripplekv/selection.h"

// X(name, factory, summary with the paper)
#define RKV_SELECTION_METHODS(X)                                                                                     \
  X("full", make_full, "keeps every row: the yardstick the others are measured against")                             \
  X("streaming_llm", make_streaming_llm, "first rows as attention sinks and the latest rows (Xiao et al. 2024)")     \
  X("snapkv", make_snapkv, "rows that the prompt's last queries attend to, pooled over neighbours (Li et al. 2024)") \
  X("random", make_random, "seeded random rows and the window: a control")

namespace ripplekv {

// The options were checked by make_selector().
#define RKV_DECLARE(name, factory, summary) std::unique_ptr<Selector> factory(const SelectorOptions& options);
RKV_SELECTION_METHODS(RKV_DECLARE)
#undef RKV_DECLARE

}  // namespace ripplekv
