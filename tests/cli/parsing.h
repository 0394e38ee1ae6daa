// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Command lines for tests: argv in, Args or the error out. Runs no command.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
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

// One flag: all its names, a value ("" for none), the arguments it needs beside it, and what must then hold.
template <class Args>
struct FlagCase {
  Words names;
  std::string value;
  Words beside;
  std::function<bool(const Args&)> holds;
  bool required = false;
  bool last_wins = false;  // over a flag in `beside`
};

template <class Args>
void check_flags(const Words& always, const std::vector<FlagCase<Args>>& cases) {
  std::set<std::string> tested = {"-h", "--help"};
  for (const FlagCase<Args>& c : cases) {
    const Words context = c.required ? c.beside : always + c.beside;
    if (c.required) {
      EXPECT_NE(error_of(Words{std::string(Args::kName)} + context).find("is required"), std::string::npos);
    } else {
      EXPECT_FALSE(c.holds(parsed<Args>(context))) << c.names.front() << ": the case cannot fail";
    }
    for (const std::string& name : c.names) {
      tested.insert(name);
      SCOPED_TRACE(name);
      if (c.value.empty()) {
        EXPECT_TRUE(c.holds(parsed<Args>(context + Words{name})));
        EXPECT_EQ(c.holds(parsed<Args>(Words{name} + context)), !c.last_wins);
        EXPECT_NE(error_of(Words{std::string(Args::kName)} + context + Words{name + "=1"}).find("expected none"),
                  std::string::npos);
      } else {
        EXPECT_TRUE(c.holds(parsed<Args>(context + Words{name, c.value})));
        EXPECT_TRUE(c.holds(parsed<Args>(Words{name, c.value} + context)));
        EXPECT_TRUE(c.holds(parsed<Args>(context + Words{name + "=" + c.value})));
        EXPECT_NE(error_of(Words{std::string(Args::kName)} + context + Words{name}).find("got no value"),
                  std::string::npos);
      }
    }
  }
  std::set<std::string> registered;
  for (const Command& command : kCommands) {
    if (command.name != Args::kName) continue;
    for (const std::string& name : command.make()->options().names()) registered.insert(name);
  }
  EXPECT_EQ(tested, registered);
}

template <class Args>
using Cases = std::vector<FlagCase<Args>>;

template <class Args, class... Parts>
Cases<Args> all(Cases<Args> first, const Parts&... parts) {
  (first.insert(first.end(), parts.begin(), parts.end()), ...);
  return first;
}

template <class Args>
Cases<Args> loading_cases() {
  return {
      {{"-m", "--model"}, "a b.gguf", {}, [](const Args& a) { return a.model.path == "a b.gguf"; }},
      {{"--weights"}, "f32", {}, [](const Args& a) { return a.model.weights == "f32"; }},
      {{"-ngl", "--n-gpu-layers", "--gpu-layers"}, "7", {}, [](const Args& a) { return a.model.n_gpu_layers == 7; }},
      {{"-t", "--threads"}, "3", {}, [](const Args& a) { return a.model.n_threads == 3; }},
      {{"-ub", "--ubatch-size"}, "1k", {}, [](const Args& a) { return a.model.n_ubatch == 1024; }},
  };
}

template <class Args>
Cases<Args> model_cases() {
  return all(loading_cases<Args>(),
             Cases<Args>{{{"-c", "--ctx-size"}, "8k", {}, [](const Args& a) { return a.model.n_ctx == 8192; }}});
}

template <class Args>
FlagCase<Args> verbose_case() {
  return {{"-v", "--verbose"}, "", {}, [](const Args& a) { return a.output.verbosity == 1; }};
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
