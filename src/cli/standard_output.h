// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Standard output, as every command writes it: a write that fails (a closed pipe, a full disk) never throws; the first
// such failure is kept and becomes the program's one sentence at the end. Whoever writes for long looks in between.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "ripplekv/status.h"

namespace ripplekv {

void write_out(std::string_view text);
// What was written so far is on its way, or the error of the first write that failed.
Status flush_out();

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}

// Gives closed standard streams a number of their own, on which every read and write fails: else the next file that is
// opened would be taken for one of them. Call it first.
void hold_closed_streams();

}  // namespace ripplekv
