// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#ifdef __linux__
#include <sys/prctl.h>

#include <csignal>
#endif

namespace ripplekv {
namespace {

Status refused(const char* call) {
  return io_error(fmt::format("measuring process: {} failed: {}", call, std::generic_category().message(errno)));
}

// {"value": ...}, or {"code": ..., "message": ...}
std::string reply_of(const std::function<Result<nlohmann::json>()>& work) {
  Status status;
  try {
    Result<nlohmann::json> result = work();
    if (result.ok()) return nlohmann::json{{"value", *result}}.dump();
    status = result.status();
  } catch (const std::exception& error) {
    status = resource_exhausted(fmt::format("measuring process: {}", error.what()));
  }
  return nlohmann::json{{"code", static_cast<int>(status.code())}, {"message", status.message()}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

[[noreturn]] void run_child(int pipe, const std::function<Result<nlohmann::json>()>& work) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  const std::string reply = reply_of(work);
  for (size_t done = 0; done < reply.size();) {
    const ssize_t n = write(pipe, reply.data() + done, reply.size() - done);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) done += static_cast<size_t>(n);
  }
  _exit(0);  // what the parent has buffered for stdout is the parent's to write
}

}  // namespace

Result<nlohmann::json> run_apart(const std::function<Result<nlohmann::json>()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return refused("pipe()");
  const pid_t child = fork();
  if (child < 0) {
    const Status status = refused("fork()");
    close(ends[0]);
    close(ends[1]);
    return status;
  }
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], work);
  }
  close(ends[1]);
  std::string reply;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(ends[0], buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    reply.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(ended)) {
    return resource_exhausted(
        fmt::format("measuring process: ended by signal {}, which for 9 means out of memory", WTERMSIG(ended)));
  }
  const nlohmann::json json = nlohmann::json::parse(reply, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return io_error("measuring process: left without a result");
  if (json.contains("value")) return json["value"];
  return Status(static_cast<StatusCode>(json["code"].get<int>()), json["message"].get<std::string>());
}

}  // namespace ripplekv
