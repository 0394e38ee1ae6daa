// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The program: parse, run, report. The only place that catches exceptions and chooses exit codes:
// 0 done, 1 failed while running, 2 the command line was refused before any work, 130 interrupted by a signal.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/utf8.h"
#include "cli/bus_error.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/logging.h"

namespace ripplekv {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;  // what shells report for SIGINT

// Not fmt::print: it throws when stderr is closed.
int fail(std::string_view message, int exit_code) {
  const std::string line = printable(message) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  return exit_code;
}

// A result that could not be written is a failure, however well it was computed.
int finish(std::string_view name) {
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return 0;
  const std::string reason = errno != 0 ? std::generic_category().message(errno) : "an earlier write failed";
  return fail(fmt::format("{}: standard output could not be written: {}", name, reason), kExitFailure);
}

// Where an exception finds nobody to catch it. Some destructors of the JSON library need memory.
[[noreturn]] void end_at_once() {
  const char* message = "ripplekv: internal error\n";
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    message = "ripplekv: out of memory\n";
  } catch (...) {
  }
  std::fputs(message, stderr);
  std::_Exit(kExitFailure);
}

int run_program(const std::vector<std::string>& args) {
  Result<CommandLine> line = parse_command_line(kCommands, args, RIPPLEKV_VERSION);
  if (!line.ok()) return fail(line.status().message(), kExitUsage);
  if (!line->invocation) {
    std::fwrite(line->text.data(), 1, line->text.size(), stdout);
    return finish(line->name);
  }
  install_logging(line->invocation->verbosity());
  const Status status = line->invocation->run();
  if (!status.ok()) {
    std::fflush(stdout);  // so that what was said before the failure stands before it on a terminal
    const int exit_code = status.code() == StatusCode::kCancelled ? kExitInterrupted : kExitFailure;
    return fail(status.with_context(line->name).message(), exit_code);
  }
  return finish(line->name);
}

}  // namespace
}  // namespace ripplekv

int main(int argc, char** argv) {
  // A closed pipe is a write that fails, not a death that leaves temporary files behind.
  std::signal(SIGPIPE, SIG_IGN);
  std::set_terminate(ripplekv::end_at_once);
  ripplekv::report_bus_errors();
  try {
    return ripplekv::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    return ripplekv::fail("ripplekv: out of memory", ripplekv::kExitFailure);
  } catch (const std::exception& error) {
    return ripplekv::fail(std::string("ripplekv: internal error: ") + error.what(), ripplekv::kExitFailure);
  }
}
