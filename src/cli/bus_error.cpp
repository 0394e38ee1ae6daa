// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/bus_error.h"

#include <unistd.h>

#include <csignal>

namespace ripplekv {
namespace {

extern "C" void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {  // a memory fault of the machine, or a kill: returning repeats the access
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  constexpr char kLine[] =
      "ripplekv: the model file was cut short while it was in use, expected it to stay as it was\n";
  static_cast<void>(!write(STDERR_FILENO, kLine, sizeof(kLine) - 1));
  _exit(1);
}

}  // namespace

void report_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace ripplekv
