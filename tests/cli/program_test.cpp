// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The built program from outside: exit codes, what goes to which stream, outputs that cannot be written.
// Only what needs no model: help, versions and refused command lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "cli/shell.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using test::Outcome;
using test::shell;

TEST(Program, HelpGoesToStdout) {
  for (const std::string args : {"", "--help", "help", "help run", "run --help", "--version", "help --markdown"}) {
    const Outcome out = shell("$P " + args + " 2>/dev/null");
    EXPECT_EQ(out.exit_code, 0) << args;
    EXPECT_NE(out.text.find("ripplekv"), std::string::npos) << args;
    EXPECT_EQ(shell("$P " + args + " 2>&1 >/dev/null").text, "") << args;
  }
}

TEST(Program, UsageErrorsAreOneLineOnStderrAndExit2) {
  for (const std::string args : {"rnu", "run --promt x", "run -fa", "run -n x", "allocate", "run --kv-budget '1\n2'",
                                 "-m x", "help rnu", "run '--pro\nmpt'", "run -p $(printf '\\377')", "''"}) {
    const Outcome err = shell("$P " + args + " 2>&1 >/dev/null");
    EXPECT_EQ(err.exit_code, 2) << args;
    EXPECT_TRUE(err.text.starts_with("ripplekv")) << err.text;
    EXPECT_EQ(std::count(err.text.begin(), err.text.end(), '\n'), 1) << err.text;
    EXPECT_EQ(shell("$P " + args + " 2>/dev/null").text, "") << args;
  }
}

TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
  for (const std::string args : {"--version", "help --markdown", "models", "models --json"}) {
    const Outcome full = shell("export RIPPLEKV_CACHE_DIR=/nowhere; $P " + args + " 2>&1 >/dev/full");
    EXPECT_EQ(full.exit_code, 1) << args;
    EXPECT_NE(full.text.find(": standard output could not be written: No space left on device\n"), std::string::npos)
        << full.text;
    const Outcome closed = shell("export RIPPLEKV_CACHE_DIR=/nowhere; $P " + args + " 2>&1 >&-");
    EXPECT_EQ(closed.exit_code, 1) << args;
    EXPECT_NE(closed.text.find(": standard output could not be written: Bad file descriptor\n"), std::string::npos)
        << closed.text;
  }
  // The reader is gone before anything is written: a message and an exit code, no death by SIGPIPE.
  const Outcome gone = shell("exec 3>&1; { sleep 0.3; $P help --markdown 2>&3; echo code $? >&3; } | true");
  EXPECT_NE(gone.text.find("could not be written"), std::string::npos) << gone.text;
  EXPECT_NE(gone.text.find("code 1"), std::string::npos) << gone.text;
  EXPECT_EQ(shell("$P --nonsense 2>/dev/full >&2").exit_code, 2);
}

// A text that does not fit, and one that does but not what is made of it: there the JSON library's destructor throws
// too.
TEST(Program, MemoryThatRunsOutIsASentence) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer needs more address space than this test leaves";
#endif
  const std::string folder = test::temp_dir();
  std::ofstream(folder + "/large.json") << std::string(60'000'000, ' ');
  std::string ones = "[";
  for (int i = 0; i < 4'000'000; ++i) ones += "1,";
  std::ofstream(folder + "/ones.json") << ones + "1]";
  for (const std::string name : {"/large.json", "/ones.json"}) {
    const std::string file = folder + name;
    const std::string command = "$P allocate --kv-budget 10% --profile " + file + " 2>&1";
    const Outcome out = shell("ulimit -v 50000; " + command);
    EXPECT_EQ(out.exit_code, 1) << name;
    EXPECT_EQ(out.text, "ripplekv: out of memory\n") << name;
    EXPECT_NE(shell(command).text.find(name), std::string::npos)
        << "with enough memory it is the file that is at fault";
  }
}

}  // namespace
}  // namespace ripplekv
