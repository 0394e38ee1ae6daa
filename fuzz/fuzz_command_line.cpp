// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A command line: one argument a line. Parsing only, no command is run.
#include <algorithm>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "targets.h"

namespace ripplekv::fuzz {

int fuzz_command_line(const uint8_t* data, size_t size) {
  std::string_view input = text_of(data, size);
  std::vector<std::string> args;
  while (!input.empty()) {
    const std::string_view arg = input.substr(0, input.find('\n'));
    args.emplace_back(arg);
    input.remove_prefix(std::min(input.size(), arg.size() + 1));
  }
  const auto line = parse_command_line(kCommands, args, "1.2.3");
  expect_sentence(line.status());
  if (!line.ok()) {
    RKV_CHECK(line.status().code() == StatusCode::kInvalidArgument);
    return 0;
  }
  RKV_CHECK((line->invocation == nullptr) != line->text.empty());
  return 0;
}

std::vector<std::string> command_line_seeds() {
  std::vector<std::string> seeds = {"help\nrun", "help\n--markdown", "--version",
                                    "run\n-m\nmodel.gguf\n-p\nHello\n-c\n4096\n-n\n-1\n-ctk\nq8_0\n-ctv\nq4_0\n-vv",
                                    "profile\n-m\nm.gguf\n-o\np.json\n--curves\n0.05,0.1,0.2"};
  // Every flag of every command, with values that some of them take.
  for (const Command& command : kCommands) {
    seeds.push_back(std::string(command.name) + "\n" + std::string(command.example));
    std::string& example = seeds.back();
    for (char& c : example) c = c == ' ' ? '\n' : c;
    for (const char* value : {"3", "0.5", "20%", "1:2,3"}) {
      seeds.emplace_back(command.name);
      for (const std::string& name : command.make()->options().names()) {
        if (name.find("help") == std::string::npos && name != "-h") seeds.back() += "\n" + name + "=" + value;
      }
    }
  }
  return seeds;
}

}  // namespace ripplekv::fuzz
