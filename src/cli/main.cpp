// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The program: parse, run, report. The only place that catches exceptions and chooses exit codes:
// 0 done, 1 failed while running, 2 the command line was refused before any work, 130 interrupted by a signal.
#include <fmt/format.h>
#include <ggml.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "cli/bus_error.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "cli/mpi.h"
#include "cli/standard_output.h"

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
  const Status status = flush_out();
  return status.ok() ? 0 : fail(status.with_context(name).message(), kExitFailure);
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

// Instead of ggml's own abort, which nothing can catch: one sentence and the exit code of any other failure.
extern "C" void on_ggml_abort(const char* message) {
  const bool no_memory = std::strstr(message, "mem_buffer") != nullptr;
  std::fputs(no_memory ? "ripplekv: out of memory" : "ripplekv: internal error in ggml: ", stderr);
  std::fputs(no_memory ? "" : message, stderr);
  std::fputc('\n', stderr);
  std::_Exit(kExitFailure);
}

int run_program(const std::vector<std::string>& args) {
  Result<CommandLine> line = parse_command_line(kCommands, args, RIPPLEKV_VERSION);
  if (!line.ok()) return fail(line.status().message(), kExitUsage);
  if (!line->invocation) {
    write_out(line->text);
    return finish(line->name);
  }
  install_logging(line->invocation->verbosity());
  const Status status = line->invocation->run();
  if (!status.ok()) {
    (void)flush_out().ok();  // so that what was said before the failure stands before it on a terminal
    const int exit_code = status.code() == StatusCode::kCancelled ? kExitInterrupted : kExitFailure;
    fail(status.with_context(line->name).message(), exit_code);
    leave_ranks(exit_code);
    return exit_code;
  }
  const int exit_code = finish(line->name);
  leave_ranks(exit_code);
  return exit_code;
}

}  // namespace
}  // namespace ripplekv

int main(int argc, char** argv) {
  // A closed pipe is a write that fails, not a death that leaves temporary files behind.
  std::signal(SIGPIPE, SIG_IGN);
  ripplekv::hold_closed_streams();
  std::set_terminate(ripplekv::end_at_once);
  ripplekv::report_bus_errors();
  ggml_set_abort_callback(ripplekv::on_ggml_abort);
  try {
    return ripplekv::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    return ripplekv::fail("ripplekv: out of memory", ripplekv::kExitFailure);
  } catch (const std::exception& error) {
    return ripplekv::fail(std::string("ripplekv: internal error: ") + error.what(), ripplekv::kExitFailure);
  }
}
