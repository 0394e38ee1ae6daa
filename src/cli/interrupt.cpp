// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/interrupt.h"

#include <csignal>

namespace ripplekv {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> terminated{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  if (signal == SIGTERM) terminated.store(true);
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>* interrupt_flag() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return &interrupted;
}

bool termination_asked() { return terminated.load(); }

void take_interrupts() {
  interrupted.store(false);
  (void)interrupt_flag();
}

void release_interrupts() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace ripplekv
