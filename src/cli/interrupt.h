// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Ctrl-C and SIGTERM as a flag that long work looks at. The program's only global state, and a signal handler's must
// be.
#pragma once

#include <atomic>

namespace ripplekv {

// Installs the handlers; the flag becomes true at the first signal, a second one ends the program at once.
const std::atomic<bool>* interrupt_flag();

bool termination_asked();  // by a SIGTERM, which ends more than the work at hand

// For work after work: the flag is false again, and the next signal a first one. Until then, after
// release_interrupts(), signals end the program.
void take_interrupts();
void release_interrupts();

}  // namespace ripplekv
