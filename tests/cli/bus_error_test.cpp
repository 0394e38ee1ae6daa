// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A model file that shrinks while it is mapped: the engine's own check, the handler for what the check misses, and the
// whole program. Where nothing is shown to go wrong without the handler, the test would prove nothing: so that is
// shown.
#include "cli/bus_error.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include "cli/shell.h"
#include "model/gguf_file.h"
#include "ripplekv/engine.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

namespace fs = std::filesystem;

TEST(BusError, AModelThatShrinksIsAnErrorOfTheNextRun) {
  const test::QuietLog quiet;
  const std::string path = test::tiny_gguf({});
  const auto model = Model::load(path);
  ASSERT_TRUE(model.ok());
  const auto engine = Engine::create(*model, {.n_threads = 1});
  ASSERT_TRUE(engine.ok());
  const std::vector<int32_t> tokens = test::random_tokens(20, (*model)->config().n_vocab, 1);
  const CachePlan plan = plan_full((*model)->config(), 20, {});
  auto sequence = (*engine)->prefill(tokens, plan, {.n_decode = 4});
  ASSERT_TRUE(sequence.ok()) << sequence.status().message();
  const DecodeStep step{&*sequence, tokens[0]};
  ASSERT_TRUE((*engine)->decode({&step, 1}).ok());
  const int64_t n_pos = sequence->cache.n_pos();

  const auto size = fs::file_size(path);
  fs::resize_file(path, size / 2);
  for (const Status& status :
       {(*engine)->decode({&step, 1}), (*engine)->prefill(tokens, plan, {.n_decode = 4}).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(status.message(), "model '" + path + "': shrank to " + std::to_string(size / 2) +
                                    " bytes while it was in use, expected the " + std::to_string(size) +
                                    " it had when opened");
  }
  EXPECT_EQ(sequence->cache.n_pos(), n_pos);
}

TEST(BusError, WeightsThatWereReadOutliveTheFile) {
  const test::QuietLog quiet;
  const std::string path = test::tiny_gguf({});
  const auto model = Model::load(path, {.weights = WeightsMode::kF32});
  ASSERT_TRUE(model.ok());
  const auto engine = Engine::create(*model, {.n_threads = 1});
  fs::resize_file(path, 0);
  const std::vector<int32_t> tokens = test::random_tokens(20, (*model)->config().n_vocab, 1);
  EXPECT_TRUE((*engine)->prefill(tokens, plan_full((*model)->config(), 20, {}), {}).ok());
}

// A file replaced by another of its name, as downloaders do, is no matter: the mapping is of the old one.
TEST(BusError, AReplacedFileIsNoError) {
  const test::QuietLog quiet;
  const std::string path = test::tiny_gguf({});
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok());
  fs::remove(path);
  fs::copy_file(test::tiny_gguf({.n_layer = 1}), path);
  EXPECT_TRUE((*file)->check_size().ok());
}

struct End {
  bool by_sigbus = false;
  int exit_code = -1;
  std::string text;  // of stderr
};

// A child that maps a model, has it cut, and touches it.
End touch_cut_model(bool with_handler, int raised = 0) {
  const std::string path = test::tiny_gguf({});
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGBUS, SIG_DFL);  // a sanitizer's handler would report it as its own
    if (with_handler) report_bus_errors();
    const auto file = GgufFile::open(path);
    if (raised != 0) raise(raised);
    if (!file.ok() || truncate(path.c_str(), 0) != 0) _exit(3);
    const volatile uint8_t* byte = (*file)->mapping().data();
    _exit(*byte == 0 ? 4 : 5);
  }
  close(ends[1]);
  End end;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    end.text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  end.by_sigbus = WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

TEST(BusError, WhatTheCheckMissesIsASentence) {
  EXPECT_TRUE(touch_cut_model(/*with_handler=*/false).by_sigbus);
  const End end = touch_cut_model(/*with_handler=*/true);
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.text, "ripplekv: the model file was cut short while it was in use, expected it to stay as it was\n");
}

TEST(BusError, AnotherSigbusIsNotTakenForOne) {
  const End end = touch_cut_model(/*with_handler=*/true, SIGBUS);
  EXPECT_TRUE(end.by_sigbus);
  EXPECT_EQ(end.text, "");
}

// The prompt comes through a pipe after the model was loaded and cut.
TEST(BusError, TheProgramSaysSoAndExitsWith1) {
  const std::string path = test::tiny_gguf({});
  const std::string pipe = test::temp_dir() + "/prompt";
  const test::Outcome out =
      test::shell("mkfifo " + pipe + "; $P trace -m " + path + " --input " + pipe + " 2>&1 & timeout 20 sh -c 'exec >" +
                  pipe + "; truncate -s 100 " + path + "; echo abc'; wait $!");
  EXPECT_EQ(out.exit_code, 1) << out.text;
  EXPECT_NE(out.text.find("shrank to 100 bytes while it was in use"), std::string::npos) << out.text;
}

}  // namespace
}  // namespace ripplekv
