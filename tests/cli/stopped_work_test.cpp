// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What commands that measure for long leave where they are stopped: by Ctrl-C, by a kill, by a full disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/shell.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

using nlohmann::json;
using test::Outcome;

class StoppedWorkTest : public ::testing::Test {
 protected:
  void SetUp() override { test::write_tiny_gguf(test::tiny_chat_model(), folder_ + "/tiny.gguf"); }
  Outcome run(const std::string& line) const {
    return test::shell("export RIPPLEKV_CACHE_DIR='" + folder_ + "/cache' OMP_WAIT_POLICY=passive; cd '" + folder_ +
                       "'; " + line);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Thousands of rounds, and `signal` once the first are written.
  Outcome stop_bench(const std::string& signal) const {
    return run(
        "$P bench -m tiny.gguf --contexts 60 --policies full --works prefill,decode --decode 2 --repeats 1000 "
        "--json bench.json >out.txt 2>err.txt & pid=$!; i=0; "
        "while [ ! -s bench.json ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; "
        "kill -" +
        signal + " $pid; wait $pid");
  }
  const std::string folder_ = test::temp_dir();
};

TEST_F(StoppedWorkTest, BenchEndsWithWhatThereIs) {
  const Outcome outcome = stop_bench("INT");
  EXPECT_EQ(outcome.exit_code, 130) << text_of("err.txt");
  const json records = json::parse(text_of("bench.json"));
  ASSERT_GE(records.size(), 1U);
  EXPECT_GE(records[0].at("repeats"), 1);
  EXPECT_LT(records[records.size() - 1].at("repeats"), 1000);
  EXPECT_EQ(records[0].at("policy"), "full");
  EXPECT_TRUE(records[0].contains("fingerprint"));
  EXPECT_NE(text_of("out.txt").find("| prefill | 60 | full |"), std::string::npos) << "the table of it";
  EXPECT_NE(text_of("err.txt").find("interrupted after " + std::to_string(records.size()) + " record"),
            std::string::npos)
      << text_of("err.txt");
}

TEST_F(StoppedWorkTest, AKilledBenchLeavesAWholeFile) {
  stop_bench("KILL");
  EXPECT_GE(json::parse(text_of("bench.json")).size(), 1U);
}

// A limit on the size of files stands for the disk: the header goes in, the results do not.
TEST_F(StoppedWorkTest, EvalOnAFullDiskSaysSoAndGoesOnLater) {
  const std::string command =
      "$P eval needle -m tiny.gguf --lengths 600 --depths 50% --answer-tokens 4 --budgets 30%,40%,50%,60% --policies "
      "full,streaming_llm,snapkv:window=8 -o r.jsonl";
  const Outcome full = run("trap '' XFSZ; (ulimit -f 2; " + command + " >out.txt 2>err.txt)");
  EXPECT_EQ(full.exit_code, 1);
  const std::string error = text_of("err.txt");
  EXPECT_NE(error.find("r.jsonl: cannot be written: File too large\n"), std::string::npos) << error;
  EXPECT_EQ(error.find("failed;"), std::string::npos) << error;
  const Outcome later = run(command + " 2>&1");
  EXPECT_EQ(later.exit_code, 0) << later.text;
  const std::string lines = text_of("r.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1 + 1 + 2 * 4) << lines;
}

}  // namespace
}  // namespace ripplekv
