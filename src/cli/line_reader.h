// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Lines a person types: with editing and history on a terminal (libedit), plainly from anything else. While it waits,
// a signal ends the program as if it had no handlers. Global state of libedit: one reader per program.
#pragma once

#include <optional>
#include <string>

namespace ripplekv {

class LineReader {
 public:
  LineReader();
  // The next line without its newline; nullopt at the end of the input. `prompt` is for terminals only.
  std::optional<std::string> read(const std::string& prompt);

 private:
  bool is_terminal_ = false;  // of the input
  bool edits_ = false;
};

}  // namespace ripplekv
