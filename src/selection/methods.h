// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The table of selectors: one line per method, in the order help prints them. A new method is one new file that
// defines its make_* function, and one line here. No method's code and no checks of options: those are in
// <method>.cpp and selector.cpp.
#pragma once

#include <memory>

#include "ripplekv/selection.h"

// X(name, factory, the options it reads, summary with the paper). head_floor: of those whose scores are attention,
// which compares between heads; the top-k reads it for them.
#define RKV_SELECTION_METHODS(X)                                                                               \
  X("full", make_full, "", "keeps every row: the yardstick the others are measured against")                   \
  X("streaming_llm", make_streaming_llm, "window,n_sink",                                                      \
    "first rows as attention sinks and the latest rows (Xiao et al. 2024)")                                    \
  X("snapkv", make_snapkv, "window,kernel,pooling,group,value_norm,head_floor",                                \
    "rows that the prompt's last queries attend to, pooled over neighbours (Li et al. 2024)")                  \
  X("h2o", make_h2o, "head_floor", "rows that all queries of the prompt attended to most (Zhang et al. 2023)") \
  X("tova", make_tova, "", "rows that the newest query attends to, the same in all heads (Oren et al. 2024)")  \
  X("knorm", make_knorm, "", "rows whose keys are short (Devoto et al. 2024)")                                 \
  X("keydiff", make_keydiff, "", "rows whose keys differ from the head's mean direction (Park et al. 2025)")   \
  X("expected_attention", make_expected_attention, "n_sink,head_floor",                                        \
    "rows that coming queries are expected to attend to (Devoto et al. 2025)")                                 \
  X("random", make_random, "window,seed", "seeded random rows and the window: a control")

namespace ripplekv {

// The options were checked by make_selector().
#define RKV_DECLARE(name, factory, reads, summary) std::unique_ptr<Selector> factory(const SelectorOptions& options);
RKV_SELECTION_METHODS(RKV_DECLARE)
#undef RKV_DECLARE

// What stands before a method's name for the method with sinks and window protected besides.
inline constexpr std::string_view kSinksPrefix = "sinks+";
std::unique_ptr<Selector> make_sinks(std::unique_ptr<Selector> method, const SelectorOptions& options);

}  // namespace ripplekv
