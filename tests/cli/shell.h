// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Running the built program through a shell, as a user would.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "test_util/paths.h"

namespace ripplekv::test {

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  std::string text;    // of the streams the shell line sends to its stdout
};

// Runs a shell line with $P for the program.
inline Outcome shell(const std::string& line) {
  const std::string command = "P='" + program_path() + "'; " + line;
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.text.append(buffer, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace ripplekv::test
