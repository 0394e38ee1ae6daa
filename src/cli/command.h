// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A command: a name, a line of help, and how to make an Invocation, which holds the command's arguments together with
// the table that parses them. make_command() builds one from an Args struct (args.h) and the function that runs it.
// The list of commands is in commands.h.
#pragma once

#include <memory>
#include <string_view>

#include "cli/args.h"
#include "cli/option_table.h"
#include "ripplekv/status.h"

namespace ripplekv {

// One call of a command: parse through options(), then run().
class Invocation {
 public:
  virtual ~Invocation() = default;
  OptionTable& options() { return options_; }
  virtual int verbosity() const = 0;
  virtual Status run() const = 0;

 private:
  OptionTable options_;
};

template <class Args>
class InvocationOf final : public Invocation {
 public:
  explicit InvocationOf(Status (*command)(const Args&)) : command_(command) { add_args(options(), args_); }
  const Args& args() const { return args_; }
  int verbosity() const override { return args_.output.verbosity; }
  Status run() const override { return command_(args_); }

 private:
  Args args_;
  Status (*command_)(const Args&);
};

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view example;  // arguments of a typical call
  std::unique_ptr<Invocation> (*make)();
};

template <class Args, Status (*kRun)(const Args&)>
constexpr Command make_command() {
  return {Args::kName, Args::kSummary, Args::kExample,
          []() -> std::unique_ptr<Invocation> { return std::make_unique<InvocationOf<Args>>(kRun); }};
}

}  // namespace ripplekv
