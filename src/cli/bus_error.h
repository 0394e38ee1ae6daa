// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A model file that is cut short in the middle of a computation: the kernel answers a touch of the missing pages with
// SIGBUS, on whichever thread. The engine asks for the size before each run of a graph (GgufFile::check_size); what
// falls between is caught here, so that the user reads a sentence. A handler is the process's, so only the program has
// one, never the library.
#pragma once

namespace ripplekv {

// From now on such a SIGBUS is one line on stderr and exit code 1; any other keeps its default action.
void report_bus_errors();

}  // namespace ripplekv
