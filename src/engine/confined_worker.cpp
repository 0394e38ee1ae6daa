// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The only place that forks. Three processes: the owner (the program), its worker, and one child per call. Requests and
// replies are frames: a header of fixed size, then as many bytes as it says.
#include "engine/confined_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace ripplekv {
namespace {

using Clock = std::chrono::steady_clock;

// Between processes of one program image, so plain bytes of a struct are format enough.
struct Header {
  uint64_t n_bytes = 0;
  ConfinedEnd end = ConfinedEnd::kReplied;
  bool is_started = true;  // false: the system refused the worker a child
  int signal = 0;
};

// ---- Frames
bool write_all(int fd, const void* data, size_t n_bytes) {
  const char* next = static_cast<const char*>(data);
  while (n_bytes > 0) {
    const ssize_t n = write(fd, next, n_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    n_bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool write_frame(int fd, Header header, std::string_view bytes) {
  header.n_bytes = bytes.size();
  return write_all(fd, &header, sizeof(header)) && write_all(fd, bytes.data(), bytes.size());
}

enum class ReadEnd { kComplete, kEndOfFile, kLate };

// Without a deadline, waits for as long as it takes.
ReadEnd read_all(int fd, std::optional<Clock::time_point> deadline, void* data, size_t n_bytes) {
  char* next = static_cast<char*>(data);
  while (n_bytes > 0) {
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      if (left.count() <= 0) return ReadEnd::kLate;
      pollfd poll_fd{fd, POLLIN, 0};
      if (poll(&poll_fd, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000))) <= 0) continue;
    }
    const ssize_t n = read(fd, next, n_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ReadEnd::kEndOfFile;
    next += n;
    n_bytes -= static_cast<size_t>(n);
  }
  return ReadEnd::kComplete;
}

// ---- The child of one call. The descriptor is global because a new-handler gets no argument.
int child_reply_fd = -1;

// _exit: buffered output and destructors are not the child's to run.
[[noreturn]] void reply_and_exit(ConfinedEnd end, std::string_view reply) {
  _exit(write_frame(child_reply_fd, {.end = end}, reply) ? 0 : 1);
}

void bound_memory([[maybe_unused]] size_t memory_bytes) {
#ifdef __linux__
  // The limit counts all that is mapped already, device windows and sanitizers' shadows included: so on top of that.
  FILE* statm = std::fopen("/proc/self/statm", "re");
  unsigned long long n_pages = 0;
  if (statm == nullptr || std::fscanf(statm, "%llu", &n_pages) != 1) _exit(1);
  std::fclose(statm);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t wanted = n_pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + memory_bytes;
  limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_max, wanted);
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(1);
#endif
}

[[noreturn]] void run_child(int reply_fd, const ConfinedLimits& limits, const ConfinedWorker::Work& work,
                            std::string_view request) {
  child_reply_fd = reply_fd;
  // An interval timer, not RLIMIT_CPU, which counts whole seconds. Default action of its SIGPROF: death.
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(limits.cpu_time.count() / 1000);
  timer.it_value.tv_usec = static_cast<suseconds_t>(limits.cpu_time.count() % 1000 * 1000);
  if (setitimer(ITIMER_PROF, &timer, nullptr) != 0) _exit(1);
  bound_memory(limits.memory_bytes);
  std::set_new_handler([] { reply_and_exit(ConfinedEnd::kMemory, ""); });
  std::set_terminate([] { _exit(1); });
  try {
    const std::string reply = work(request);
    if (reply.size() > limits.reply_bytes) reply_and_exit(ConfinedEnd::kReplySize, "");
    reply_and_exit(ConfinedEnd::kReplied, reply);
  } catch (...) {
    _exit(1);
  }
}

// ---- The worker
// Nothing the child wrote is believed but its length, and that only up to the cap.
ConfinedOutcome read_reply(int fd, const ConfinedLimits& limits) {
  const Clock::time_point deadline = Clock::now() + limits.wall_time;
  const auto failed = [](ReadEnd end) {
    return ConfinedOutcome{.end = end == ReadEnd::kLate ? ConfinedEnd::kWallTime : ConfinedEnd::kDied};
  };
  Header header;
  const ReadEnd header_end = read_all(fd, deadline, &header, sizeof(header));
  if (header_end != ReadEnd::kComplete) return failed(header_end);
  if (header.end == ConfinedEnd::kMemory) return {.end = ConfinedEnd::kMemory};
  if (header.end != ConfinedEnd::kReplied || header.n_bytes > limits.reply_bytes) {
    return {.end = ConfinedEnd::kReplySize};
  }
  ConfinedOutcome outcome{.end = ConfinedEnd::kReplied, .reply = std::string(header.n_bytes, '\0')};
  const ReadEnd reply_end = read_all(fd, deadline, outcome.reply.data(), header.n_bytes);
  if (reply_end != ReadEnd::kComplete) return failed(reply_end);
  return outcome;
}

// Nothing if the system refuses a pipe or a process.
std::optional<ConfinedOutcome> call_in_child(const ConfinedLimits& limits, const ConfinedWorker::Work& work,
                                             std::string_view request) {
  std::array<int, 2> fds;
  if (pipe(fds.data()) != 0) return std::nullopt;
  const pid_t pid = fork();
  if (pid == 0) run_child(fds[1], limits, work, request);
  close(fds[1]);
  if (pid < 0) {
    close(fds[0]);
    return std::nullopt;
  }
  ConfinedOutcome outcome = read_reply(fds[0], limits);
  close(fds[0]);
  // The child has nothing left to do. One that died already keeps its own cause of death.
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (outcome.end == ConfinedEnd::kDied && WIFSIGNALED(status)) {
    outcome.signal = WTERMSIG(status);
    if (outcome.signal == SIGPROF) outcome = {.end = ConfinedEnd::kCpuTime};
  }
  return outcome;
}

// Gives up what is the program's: its signal handlers (one that reports crashes would report a child's as the
// program's), its files (clients would wait for sockets held open here), its core dumps. Returns the socket's new
// number.
int detach_from_program(int socket) {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // ^C goes to the whole group; the program decides what it means
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  constexpr int kSocket = 3;
  const int nowhere = open("/dev/null", O_RDWR);
  const int high = fcntl(socket, F_DUPFD, kSocket + 1);
  if (nowhere < 0 || high < 0) _exit(1);
  // What a dying library prints goes nowhere.
  for (int standard = 0; standard < kSocket; ++standard) dup2(nowhere, standard);
  if (dup2(high, kSocket) < 0) _exit(1);
#ifdef __linux__
  close_range(kSocket + 1, ~0U, 0);
  prctl(PR_SET_DUMPABLE, 0);
#else
  for (long fd = std::min(sysconf(_SC_OPEN_MAX), 65'536L) - 1; fd > kSocket; --fd) close(static_cast<int>(fd));
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  return kSocket;
}

[[noreturn]] void serve(int program_socket, const ConfinedLimits& limits, const ConfinedWorker::Work& work) {
  const int socket = detach_from_program(program_socket);
  try {
    for (;;) {
      Header header;
      if (read_all(socket, std::nullopt, &header, sizeof(header)) != ReadEnd::kComplete) _exit(0);
      std::string request(header.n_bytes, '\0');
      if (read_all(socket, std::nullopt, request.data(), request.size()) != ReadEnd::kComplete) _exit(0);
      const auto outcome = call_in_child(limits, work, request);
      const bool is_written =
          outcome ? write_frame(socket, {.end = outcome->end, .signal = outcome->signal}, outcome->reply)
                  : write_frame(socket, {.is_started = false}, "");
      if (!is_written) _exit(0);
    }
  } catch (...) {
    _exit(1);  // no memory for a request or a reply: the owner sees the socket close
  }
}

// ---- The owner
// False if the worker is gone. Not write(): a dead worker must not raise SIGPIPE in the program.
bool send_all(int socket, const void* data, size_t n_bytes) {
  const char* next = static_cast<const char*>(data);
  while (n_bytes > 0) {
    const ssize_t n = send(socket, next, n_bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    n_bytes -= static_cast<size_t>(n);
  }
  return true;
}

struct Answer {
  Header header;
  std::string reply;
};

// Nothing if the worker is gone. No deadline: the worker keeps those of the call, and only bytes of ours flow here.
std::optional<Answer> exchange(int socket, std::string_view request) {
  const Header request_header{.n_bytes = request.size()};
  if (!send_all(socket, &request_header, sizeof(request_header))) return std::nullopt;
  if (!send_all(socket, request.data(), request.size())) return std::nullopt;
  Answer answer;
  if (read_all(socket, std::nullopt, &answer.header, sizeof(Header)) != ReadEnd::kComplete) return std::nullopt;
  answer.reply.resize(answer.header.n_bytes);
  if (read_all(socket, std::nullopt, answer.reply.data(), answer.reply.size()) != ReadEnd::kComplete) {
    return std::nullopt;
  }
  return answer;
}

Status refused(std::string_view what, std::string_view reason) {
  return resource_exhausted(
      fmt::format("confined worker: got '{}' from {}, expected the system to grant one more process", reason, what));
}

}  // namespace

Result<std::unique_ptr<ConfinedWorker>> ConfinedWorker::start(const ConfinedLimits& limits, Work work) {
  std::unique_ptr<ConfinedWorker> worker(new ConfinedWorker(limits, std::move(work)));
  RKV_RETURN_IF_ERROR(worker->start_process());
  return worker;
}

ConfinedWorker::~ConfinedWorker() { end_process(); }

Status ConfinedWorker::start_process() {
  std::array<int, 2> sockets;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) return refused("socketpair", std::strerror(errno));
  for (const int socket : sockets) fcntl(socket, F_SETFD, FD_CLOEXEC);
  // No signal handler of the program may run in the worker before it has given them up.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) serve(sockets[1], limits_, work_);
  const int fork_errno = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(sockets[1]);
  if (pid < 0) {
    close(sockets[0]);
    return refused("fork", std::strerror(fork_errno));
  }
  pid_ = pid;
  socket_ = sockets[0];
  return ok_status();
}

void ConfinedWorker::end_process() {
  if (pid_ < 0) return;
  close(std::exchange(socket_, -1));
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Result<ConfinedOutcome> ConfinedWorker::run(std::string_view request) {
  const std::lock_guard lock(mutex_);
  std::optional<Answer> answer;
  if (pid_ >= 0) answer = exchange(socket_, request);
  if (!answer) {
    end_process();
    RKV_RETURN_IF_ERROR(start_process());
    answer = exchange(socket_, request);
  }
  if (!answer) return refused("the worker", "end of file, twice");
  if (!answer->header.is_started) return refused("the worker", "no child");
  return ConfinedOutcome{answer->header.end, answer->header.signal, std::move(answer->reply)};
}

}  // namespace ripplekv
