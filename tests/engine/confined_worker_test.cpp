// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Every way a confined call can end, and what the program may still hold afterwards: no process, no descriptor, no
// changed signal mask.
#include "engine/confined_worker.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ripplekv {
namespace {

using std::chrono::milliseconds;

constexpr ConfinedLimits kLimits{
    .memory_bytes = 64 << 20, .reply_bytes = 1 << 20, .cpu_time = milliseconds(500), .wall_time = milliseconds(20'000)};

std::unique_ptr<ConfinedWorker> worker_of(ConfinedWorker::Work work, const ConfinedLimits& limits = kLimits) {
  return ConfinedWorker::start(limits, std::move(work)).value();
}

ConfinedOutcome outcome_of(ConfinedWorker::Work work, const ConfinedLimits& limits = kLimits,
                           std::string_view request = "") {
  return worker_of(std::move(work), limits)->run(request).value();
}

ptrdiff_t n_open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST(ConfinedWorker, RepliesToEachRequest) {
  const auto worker = worker_of([](std::string_view request) { return "<" + std::string(request) + ">"; });
  const std::string binary("\0\xFF", 2);
  EXPECT_EQ(worker->run(binary).value().reply, "<" + binary + ">");
  EXPECT_EQ(worker->run("").value().reply, "<>");
  const std::string long_request(900'000, 'x');  // more than a pipe or a socket holds at once
  EXPECT_EQ(worker->run(long_request).value().reply, "<" + long_request + ">");
}

TEST(ConfinedWorker, ACallChangesNeitherTheProgramNorTheNextCall) {
  int counter = 0;
  const auto worker = worker_of([&](std::string_view) { return std::to_string(++counter); });
  EXPECT_EQ(worker->run("").value().reply, "1");
  EXPECT_EQ(worker->run("").value().reply, "1");
  EXPECT_EQ(counter, 0);
}

TEST(ConfinedWorker, BoundsTheReplyToTheByte) {
  ConfinedLimits limits = kLimits;
  limits.reply_bytes = 300'000;
  const auto worker =
      worker_of([](std::string_view request) { return std::string(std::stoul(std::string(request)), 'x'); }, limits);
  EXPECT_EQ(worker->run("300000").value().reply, std::string(300'000, 'x'));
  const auto over = worker->run("300001").value();
  EXPECT_EQ(over.end, ConfinedEnd::kReplySize);
  EXPECT_EQ(over.reply, "");
}

TEST(ConfinedWorker, BoundsCpuTime) {
  ConfinedLimits limits = kLimits;
  limits.cpu_time = milliseconds(100);
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = outcome_of(
      [](std::string_view) -> std::string {
        volatile bool is_asked_to_end = false;  // nobody asks
        while (!is_asked_to_end) {
        }
        return "";
      },
      limits);
  EXPECT_EQ(outcome.end, ConfinedEnd::kCpuTime);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
}

TEST(ConfinedWorker, BoundsWallTime) {
  ConfinedLimits limits = kLimits;
  limits.wall_time = milliseconds(50);
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = outcome_of(
      [](std::string_view) -> std::string {
        for (;;) pause();
      },
      limits);
  EXPECT_EQ(outcome.end, ConfinedEnd::kWallTime);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
}

#if !defined(__SANITIZE_ADDRESS__)  // its allocator aborts before a new-handler is asked
TEST(ConfinedWorker, BoundsMemory) {
  ConfinedLimits limits = kLimits;
  limits.cpu_time = milliseconds(5000);
  const auto allocate = [](std::string_view request) {
    const size_t n_bytes = std::stoul(std::string(request)) << 20;
    return std::string(std::vector<char>(n_bytes, 'x').data() + n_bytes - 1, 1);
  };
  // What the program holds is not counted.
  const std::vector<char> held(100 << 20, 1);
  const auto worker = worker_of(allocate, limits);
  EXPECT_EQ(worker->run("40").value().reply, "x");
  EXPECT_EQ(worker->run("80").value().end, ConfinedEnd::kMemory);
  EXPECT_EQ(worker->run("40").value().reply, "x");
}
#endif

TEST(ConfinedWorker, ReportsDeathsAndLivesOn) {
  const auto worker = worker_of([](std::string_view request) -> std::string {
    if (request == "abort") std::abort();
    if (request == "crash") raise(SIGSEGV);
    if (request == "leave") _exit(0);
    if (request == "throw") throw std::runtime_error("no");
    return "lives";
  });
  const auto expect_death = [&](std::string_view request, int signal) {
    const auto outcome = worker->run(request).value();
    EXPECT_EQ(outcome.end, ConfinedEnd::kDied) << request;
    EXPECT_EQ(outcome.signal, signal) << request;
  };
  expect_death("abort", SIGABRT);
  expect_death("crash", SIGSEGV);
  expect_death("leave", 0);
  expect_death("throw", 0);
  EXPECT_EQ(worker->run("").value().reply, "lives");
}

TEST(ConfinedWorker, AKilledWorkerIsStartedAgain) {
  const auto worker = worker_of([](std::string_view) { return std::to_string(getppid()); });
  const std::string first = worker->run("").value().reply;
  ASSERT_EQ(kill(static_cast<pid_t>(std::stol(first)), SIGKILL), 0);
  const std::string second = worker->run("").value().reply;
  EXPECT_NE(second, "");
  EXPECT_NE(second, first);
}

volatile std::sig_atomic_t n_handled = 0;

TEST(ConfinedWorker, HandlersOfTheProgramRunInTheProgramOnly) {
  const auto before = std::signal(SIGABRT, [](int) { n_handled = n_handled + 1; });
  const auto outcome = outcome_of([](std::string_view) -> std::string {
    raise(SIGABRT);
    return "survived";
  });
  EXPECT_EQ(outcome.signal, SIGABRT);
  raise(SIGABRT);
  EXPECT_EQ(n_handled, 1) << "the program's handler is gone";
  std::signal(SIGABRT, before);
}

TEST(ConfinedWorker, HoldsNoFileOfTheProgram) {
  std::array<int, 2> sockets;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
  const auto worker = worker_of([](std::string_view) { return "ok"; });
  ASSERT_EQ(worker->run("").value().reply, "ok");
  close(sockets[1]);
  char byte = 0;
  EXPECT_EQ(recv(sockets[0], &byte, 1, MSG_DONTWAIT), 0) << "the other end is still open in the worker";
  close(sockets[0]);
}

TEST(ConfinedWorker, LeavesNothingBehind) {
  sigset_t mask_before;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  const ptrdiff_t n_files_before = n_open_files();
  for (int i = 0; i < 10; ++i) {
    (void)outcome_of([](std::string_view) { return "x"; });
    (void)outcome_of([](std::string_view) -> std::string { _exit(3); });
    (void)outcome_of([](std::string_view) { return std::string(2 << 20, 'x'); });
  }
  EXPECT_EQ(n_open_files(), n_files_before);
  sigset_t mask_after;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  for (int number = 1; number < SIGRTMIN; ++number) {
    EXPECT_EQ(sigismember(&mask_before, number), sigismember(&mask_after, number)) << number;
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ConfinedWorker, CallsDoNotLeakFilesInTheWorker) {
  const auto worker = worker_of([](std::string_view) { return std::to_string(n_open_files()); });
  const std::string first = worker->run("").value().reply;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(worker->run("").value().reply, first);
}

TEST(ConfinedWorker, ServesThreadsOneAtATime) {
  const auto worker = worker_of([](std::string_view request) { return std::string(request); });
  std::vector<int> n_right(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < n_right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string request = std::to_string(t) + std::string(static_cast<size_t>(i) * 10'000, 'x');
        n_right[t] += worker->run(request).value().reply == request ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_right, std::vector<int>(4, 10));
}

TEST(ConfinedWorker, WorksWithoutStandardFiles) {
  // A daemon has them closed, and the socket takes their numbers. In a child of the test, which needs its own.
  const pid_t daemon = fork();
  if (daemon == 0) {
    for (const int fd : {0, 1, 2}) close(fd);
    _exit(outcome_of([](std::string_view) { return "reply"; }).reply == "reply" ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace ripplekv
