// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/line_reader.h"

#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
// libedit's header wants FILE declared.
#include <editline/readline.h>

#include "cli/interrupt.h"

namespace ripplekv {

LineReader::LineReader()
    : is_terminal_(::isatty(STDIN_FILENO) != 0), edits_(is_terminal_ && ::isatty(STDOUT_FILENO) != 0) {
  if (!edits_) return;
  // libedit splits bytes into characters as the locale says; without one that knows UTF-8 it would lose them.
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  rl_catch_signals = 1;  // it puts the terminal in order before a signal ends the program
}

std::optional<std::string> LineReader::read(const std::string& prompt) {
  release_interrupts();
  std::optional<std::string> line;
  if (edits_) {
    if (char* typed = ::readline(prompt.c_str())) {
      line = typed;
      std::free(typed);
      if (!line->empty()) ::add_history(line->c_str());
    }
  } else {
    if (is_terminal_) std::fputs(prompt.c_str(), stderr);
    char* buffer = nullptr;
    size_t capacity = 0;
    if (const ssize_t n = ::getline(&buffer, &capacity, stdin); n >= 0) {
      line.emplace(buffer, static_cast<size_t>(n));
      if (line->ends_with('\n')) line->pop_back();
      if (line->ends_with('\r')) line->pop_back();
    }
    std::free(buffer);
  }
  take_interrupts();
  return line;
}

}  // namespace ripplekv
