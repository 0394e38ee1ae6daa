// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ConfinedWorker: one function, called in child processes that the kernel bounds in memory, CPU time, wall time and
// reply. For untrusted input whose interpreter cannot bound itself: loops, recursion and crashes end in the child.
// start() forks a worker, and each call forks that worker: so a call costs a fork of the program as it was at start()
// (1 to 3 ms). Start it early: forking a program that holds GiBs copies their page tables (0.15 to 0.5 s per GiB
// measured on a busy two-core VM). POSIX; the memory bound is Linux's alone.
// Thread-safe, one call at a time. The worker ends with its owner, or with the program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "ripplekv/status.h"

namespace ripplekv {

struct ConfinedLimits {
  size_t memory_bytes;  // address space a call may add to what is mapped when it begins
  size_t reply_bytes;
  std::chrono::milliseconds cpu_time;   // the load of the machine does not count
  std::chrono::milliseconds wall_time;  // for a call that waits instead of working
};

enum class ConfinedEnd : unsigned char {
  kReplied,
  kMemory,     // over memory_bytes
  kReplySize,  // over reply_bytes
  kCpuTime,
  kWallTime,
  kDied,  // by a signal (SIGSEGV: too deep a recursion, as a rule), or left without a reply (signal 0)
};

struct ConfinedOutcome {
  ConfinedEnd end = ConfinedEnd::kDied;
  int signal = 0;     // kDied
  std::string reply;  // kReplied
};

class ConfinedWorker {
 public:
  // The reply to a request. Runs after a fork of what may have been a program with threads: may allocate and throw (an
  // exception out of it is kDied), but must take no lock another thread could have held at start(), such as a logger's.
  using Work = std::function<std::string(std::string_view request)>;

  static Result<std::unique_ptr<ConfinedWorker>> start(const ConfinedLimits& limits, Work work);
  ~ConfinedWorker();
  ConfinedWorker(const ConfinedWorker&) = delete;
  ConfinedWorker& operator=(const ConfinedWorker&) = delete;

  // Not ok only if no process could be started. A worker that was killed from outside is started again.
  Result<ConfinedOutcome> run(std::string_view request);

 private:
  ConfinedWorker(const ConfinedLimits& limits, Work work) : limits_(limits), work_(std::move(work)) {}
  Status start_process();
  void end_process();

  const ConfinedLimits limits_;
  const Work work_;
  std::mutex mutex_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace ripplekv
