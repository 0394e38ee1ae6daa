// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Command lines for tests: argv in, Args or the error out. Runs no command.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"

namespace ripplekv {

using Words = std::vector<std::string>;

inline Result<CommandLine> parse(const Words& args) { return parse_command_line(kCommands, args, "1.2.3"); }

inline std::string joined(const Words& args) {
  std::string out;
  for (const std::string& arg : args) out += "<" + arg + ">";
  return out;
}

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The error of a command line that must be refused.
inline std::string error_of(const Words& args) {
  const Result<CommandLine> line = parse(args);
  EXPECT_FALSE(line.ok()) << joined(args);
  if (line.ok()) return "";
  EXPECT_EQ(line.status().code(), StatusCode::kInvalidArgument);
  return line.status().message();
}

template <class Args>
Args parsed(const Words& args) {
  const Result<CommandLine> line = parse(Words{std::string(Args::kName)} + args);
  EXPECT_TRUE(line.ok()) << joined(args) << line.status().message();
  if (!line.ok()) return Args();
  const auto* invocation = dynamic_cast<const InvocationOf<Args>*>(line->invocation.get());
  EXPECT_NE(invocation, nullptr) << joined(args);
  return invocation ? invocation->args() : Args();
}

// A command line and what its error must say.
struct Refusal {
  Words args;
  Words says;
};

inline void check_refusals(const std::vector<Refusal>& cases) {
  for (const Refusal& c : cases) {
    SCOPED_TRACE(joined(c.args).substr(0, 200));
    const std::string error = error_of(c.args);
    EXPECT_LT(error.size(), 400U);
    for (const std::string& fragment : c.says) {
      EXPECT_NE(error.find(fragment), std::string::npos) << fragment << "\nis not in\n" << error;
    }
  }
}

}  // namespace ripplekv
