// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The words around the commands: help texts, unknown commands, flags that belong to another command or to llama.cpp.
#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/llama_flags.h"

namespace ripplekv {
namespace {

constexpr std::string_view kProgram = "ripplekv";
constexpr std::string_view kWhat = "runs GGUF language models with a KV cache whose size is chosen layer by layer";

std::string overview(std::span<const Command> commands, std::string_view version) {
  std::string out =
      fmt::format("{} {}: {}\n\nusage: {} COMMAND [options]\n\ncommands:\n", kProgram, version, kWhat, kProgram);
  for (const Command& command : commands) out += fmt::format("  {:<10}{}\n", command.name, command.summary);
  out += fmt::format("  {:<10}{}\n\nexamples:\n", "help", "Show this text, or with a COMMAND its options");
  for (const Command& command : commands) out += fmt::format("  {} {} {}\n", kProgram, command.name, command.example);
  out += "\nFolders of files that are to be written are made where they are missing.\n";
  out += fmt::format("`{0} help --markdown` prints every command's options as Markdown, `{0} --version` the version.\n",
                     kProgram);
  return out;
}

std::string help_of(const Command& command) {
  return fmt::format("{0}\n\nusage: {1} {2} [options]\nas in: {1} {2} {3}\n\n{4}", command.summary, kProgram,
                     command.name, command.example, command.make()->options().help());
}

std::string markdown_of(std::span<const Command> commands) {
  std::string out =
      "# Commands and their flags\n\nWritten by `ripplekv help --markdown`: change the program, not this file. Folders "
      "of "
      "files that\nare to be written are made where they are missing.\n";
  for (const Command& command : commands) {
    out += fmt::format("\n## `{0} {1}`\n\n{2}.\n\n```sh\n{0} {1} {3}\n```\n{4}", kProgram, command.name,
                       command.summary, command.example, command.make()->options().markdown());
  }
  return out;
}

const Command* find_command(std::span<const Command> commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

Status unknown_command(std::span<const Command> commands, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  names.push_back("help");
  if (name.starts_with('-')) {
    return invalid_argument(fmt::format("got {} first, expected a command: {}", quoted(name), fmt::join(names, ", ")));
  }
  const std::string_view nearest = nearest_name(names, name);
  return invalid_argument(fmt::format("unknown command {}, expected {}{}", quoted(name), fmt::join(names, ", "),
                                      nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest)));
}

// What the commands know of a flag that one of them lacks.
std::string explain_flag(std::span<const Command> commands, std::string_view flag) {
  if (const std::string_view word = explain_llama_flag(flag); !word.empty()) return std::string(word);
  std::vector<std::string_view> owners;
  for (const Command& command : commands) {
    if (command.make()->options().has(flag)) owners.push_back(command.name);
  }
  if (owners.empty()) return "";
  return fmt::format("it belongs to `{} {}`", kProgram, fmt::join(owners, fmt::format("` and `{} ", kProgram)));
}

Result<std::string> help_text(std::span<const Command> commands, std::span<const std::string> topics,
                              std::string_view version) {
  if (topics.size() > 1) {
    return invalid_argument(fmt::format("got {} after {}, expected one command", quoted(topics[1]), quoted(topics[0])));
  }
  if (topics.empty() || topics[0] == "help" || topics[0] == "--help" || topics[0] == "-h") {
    return overview(commands, version);
  }
  if (topics[0] == "--markdown") return markdown_of(commands);
  if (const Command* command = find_command(commands, topics[0])) return help_of(*command);
  return unknown_command(commands, topics[0]);
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<const Command> commands, std::span<const std::string> args,
                                       std::string_view version) {
  CommandLine line;
  line.name = kProgram;
  const std::string first = args.empty() ? "help" : args.front();
  const auto rest = args.empty() ? args : args.subspan(1);
  if (first == "--version") {
    line.text = fmt::format("{} {}\n", kProgram, version);
    return line;
  }
  if (first == "help" || first == "--help" || first == "-h") {
    Result<std::string> text = help_text(commands, rest, version);
    if (!text.ok()) return text.status().with_context(fmt::format("{} help", kProgram));
    line.text = *std::move(text);
    return line;
  }
  const Command* command = find_command(commands, first);
  if (!command) return unknown_command(commands, first).with_context(kProgram);

  line.name = fmt::format("{} {}", kProgram, command->name);
  line.invocation = command->make();
  const Status status =
      line.invocation->options().parse(rest, [&](std::string_view flag) { return explain_flag(commands, flag); });
  if (!status.ok()) return status.with_context(line.name);
  if (line.invocation->options().help_asked()) {
    line.text = help_of(*command);
    line.invocation.reset();
  }
  return line;
}

}  // namespace ripplekv
