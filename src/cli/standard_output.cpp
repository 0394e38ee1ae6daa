// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace ripplekv {
namespace {

int first_error = 0;  // errno; standard output is the process's, and so is this

void note_error() {
  if (first_error == 0) first_error = errno != 0 ? errno : EIO;
}

}  // namespace

void write_out(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) note_error();
}

Status flush_out() {
  errno = 0;
  if (std::fflush(stdout) != 0) note_error();
  if (first_error == 0) return ok_status();
  return io_error(
      fmt::format("standard output could not be written: {}", std::generic_category().message(first_error)));
}

void hold_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one. The wrong way round: nothing can be read from it, or written to it.
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace ripplekv
