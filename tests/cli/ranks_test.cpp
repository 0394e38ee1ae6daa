// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Several processes that share the samples of one command, as mpirun starts them: the same files as one process makes,
// also where one was killed half way. Needs a build with RIPPLEKV_MPI and OpenMPI's mpirun.
#include "base/ranks.h"

#include <gtest/gtest.h>

#include <filesystem>
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

class RanksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::shell("command -v mpirun >/dev/null").exit_code != 0) GTEST_SKIP() << "mpirun is not on this machine";
    const Outcome alone =
        test::shell("export OMPI_COMM_WORLD_SIZE=2; $P eval needle -m none.gguf --policies full -o /dev/null 2>&1");
    if (alone.text.find("without MPI") != std::string::npos) GTEST_SKIP() << "built without RIPPLEKV_MPI";
    if (!folder_.empty()) return;
    folder_ = test::temp_dir();
    test::write_tiny_gguf(test::tiny_chat_model(), folder_ + "/tiny.gguf");
    std::filesystem::create_directory(folder_ + "/data");
    std::ofstream file(folder_ + "/data/financial_qa.jsonl");
    for (int i = 0; i < 30; ++i) {
      std::string text = std::to_string(i);
      for (int j = 0; j < 60; ++j) text += " ship " + std::to_string((i + j) * 37 % 101) + " lies at quay.";
      file << json{{"input", text}, {"instructions", {"Which ship?", "Which quay?"}}, {"outputs", {"1", "2"}}} << "\n";
    }
  }
  // A shell line with $R before what two ranks shall run.
  static Outcome run(const std::string& line) {
    return test::shell(
        "export RIPPLEKV_CACHE_DIR='" + folder_ +
        "/cache' OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; D='" + folder_ +
        "'; M='" + folder_ + "/tiny.gguf'; R='mpirun --oversubscribe --bind-to none -np 2'; { " + line + "; } 2>&1");
  }
  static std::string text_of(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string eval(const std::string& output, int n_sample) {
    return "$P eval leval -t 1 -m $M --data $D/data --limit " + std::to_string(n_sample) +
           " --max-tokens 900 --answer-tokens 4 --budgets 20%,40% --policies full,snapkv:window=8,h2o "
           "--question both -o $D/" +
           output;
  }
  static std::string profile(const std::string& output) {
    return "$P profile -t 1 -m $M --calibration $D/data --limit 8 --max-tokens 600 --answer-tokens 4 "
           "--window 8 --curves 10%,30% --weights native -o $D/" +
           output;
  }
  // But for the seconds it took.
  static json artefact(const std::string& name) {
    json profile = json::parse(text_of(name), nullptr, false);
    EXPECT_TRUE(profile.is_object()) << name;
    profile.erase("seconds");
    return profile;
  }
  // Starts two ranks and kills the second once its part satisfies a condition of the shell; all are gone afterwards.
  static void kill_one(const std::string& command, const std::string& condition) {
    run("$R " + command + " >$D/killed.log & MPI=$!; " + "for i in $(seq 600); do kill -0 $MPI 2>/dev/null || break; " +
        condition +
        " && { kill -9 $(ps -o pid= --ppid $MPI | tail -1); break; }; sleep 0.02; done; "
        "wait $MPI; echo over");
  }
  static std::string folder_;
};

std::string RanksTest::folder_;

TEST_F(RanksTest, EvalWritesTheSameFile) {
  ASSERT_EQ(run(eval("one.jsonl", 7)).exit_code, 0);
  const Outcome two = run("$R " + eval("two.jsonl", 7));
  ASSERT_EQ(two.exit_code, 0) << two.text;
  EXPECT_EQ(text_of("two.jsonl"), text_of("one.jsonl"));
  EXPECT_TRUE(parts_of(folder_ + "/two.jsonl").empty());
  const size_t table = two.text.find("| kept | policy |");
  ASSERT_NE(table, std::string::npos) << two.text;
  EXPECT_EQ(two.text.find("| kept | policy |", table + 1), std::string::npos) << "one table: " << two.text;
  // And a policy more, by two ranks and by one.
  for (const char* output : {"one.jsonl", "two.jsonl"}) {
    const std::string start = std::string(output) == "two.jsonl" ? "$R " : "";
    const Outcome more = run(start + eval(output, 7) + " --policies snapkv:window=8,tova");
    ASSERT_EQ(more.exit_code, 0) << more.text;
  }
  EXPECT_EQ(text_of("two.jsonl"), text_of("one.jsonl"));
}

TEST_F(RanksTest, ProfileIsTheSameArtefact) {
  ASSERT_EQ(run(profile("one.json")).exit_code, 0);
  const Outcome two = run("$R " + profile("two.json"));
  ASSERT_EQ(two.exit_code, 0) << two.text;
  EXPECT_EQ(artefact("two.json"), artefact("one.json"));
  EXPECT_TRUE(parts_of(folder_ + "/two.json").empty());
}

TEST_F(RanksTest, ARankThatDiesLeavesWhatCanBeGoneOnWith) {
  ASSERT_EQ(run(eval("whole.jsonl", 24)).exit_code, 0);
  for (const char* again : {"$R ", ""}) {  // by two ranks or by one
    std::filesystem::remove(folder_ + "/killed.jsonl");
    kill_one(eval("killed.jsonl", 24), "[ $(cat $D/killed.jsonl.rank1.part 2>/dev/null | wc -l) -gt 20 ]");
    EXPECT_FALSE(parts_of(folder_ + "/killed.jsonl").empty()) << text_of("killed.log");
    const Outcome resumed = run(again + eval("killed.jsonl", 24));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
    EXPECT_EQ(text_of("killed.jsonl"), text_of("whole.jsonl"));
    EXPECT_TRUE(parts_of(folder_ + "/killed.jsonl").empty());
  }
  ASSERT_EQ(run(profile("whole.json")).exit_code, 0);
  for (const char* again : {"$R ", ""}) {
    std::filesystem::remove(folder_ + "/killed.json");
    kill_one(profile("killed.json"), "[ -e $D/killed.json.rank1.part ]");
    const Outcome resumed = run(again + profile("killed.json"));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
    EXPECT_EQ(artefact("killed.json"), artefact("whole.json"));
    EXPECT_TRUE(parts_of(folder_ + "/killed.json").empty());
  }
}

}  // namespace
}  // namespace ripplekv
