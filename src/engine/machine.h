// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What this machine has: cores and free memory. Asks the system each time; no state.
#pragma once

#include <cstdint>

namespace ripplekv {

int n_physical_cores();      // at least 1; hyper-threads of one core count once where the system tells
int64_t available_memory();  // bytes a program can still take without swapping; INT64_MAX where unknown
int64_t resident_memory();   // bytes of anonymous memory this process holds; 0 where unknown

}  // namespace ripplekv
