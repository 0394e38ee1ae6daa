// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// argv -> what to do: run a command with parsed arguments, or print a text (help, version). Pure: prints nothing and
// runs nothing, so tests call it in-process. main.cpp does both.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cli/command.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct CommandLine {
  std::string text;                        // to be printed, if there is no invocation
  std::unique_ptr<Invocation> invocation;  // parsed, ready to run
  std::string name;                        // "ripplekv run": begins every error message
};

// `args` is argv without the program; `version` what --version prints after the program's name.
// Errors begin with the name that CommandLine would have had.
Result<CommandLine> parse_command_line(std::span<const Command> commands, std::span<const std::string> args,
                                       std::string_view version);

}  // namespace ripplekv
