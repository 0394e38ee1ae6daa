// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The commands that compare and choose, from outside on a tiny model: eval, validate, tune, allocate with a target,
// bench.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/shell.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

using nlohmann::json;
using test::Outcome;

class MeasuringCommandsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const test::TinyGguf tiny = test::tiny_chat_model();
    folder_ = test::temp_dir();
    test::write_tiny_gguf(tiny, folder_ + "/tiny.gguf");
    std::string text;
    for (int i = 0; i < 12; ++i) text += "ship " + std::to_string(i * 37 % 101) + " lies at quay. ";
    std::filesystem::create_directory(folder_ + "/data");
    for (const char* task : {"tv_show_summ", "financial_qa"}) {
      std::ofstream file(folder_ + "/data/" + task + ".jsonl");
      for (int i = 0; i < 2; ++i) {
        file << json{{"input", std::to_string(i) + text}, {"instructions", {"Which ship?"}}, {"outputs", {"ship 37"}}}
             << "\n";
      }
    }
    const Outcome profiled =
        run("profile -m $M --limit 2 --max-tokens 200 --answer-tokens 4 --window 8 --curves "
            "10%,30% -o $D/p.json");
    ASSERT_EQ(profiled.exit_code, 0) << profiled.text;
    EXPECT_NE(profiled.text.find("reliability"), std::string::npos) << profiled.text;
  }
  static Outcome run(const std::string& args) {
    return test::shell("export RIPPLEKV_CACHE_DIR='" + folder_ + "/cache' OMP_WAIT_POLICY=passive; D='" + folder_ +
                       "'; M='" + folder_ + "/tiny.gguf'; $P " + args + " 2>&1");
  }
  static std::string text_of(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string folder_;
};

std::string MeasuringCommandsTest::folder_;

TEST_F(MeasuringCommandsTest, EvalMeasuresOnceAndGoesOn) {
  const std::string command =
      "eval leval -m $M --data $D/data --max-tokens 150 --answer-tokens 4 --budgets 20%,40% "
      "--profile $D/p.json -o $D/r.jsonl --policies ";
  const Outcome first = run(command + "snapkv:window=8,full");
  ASSERT_EQ(first.exit_code, 0) << first.text;
  EXPECT_NE(first.text.find("| 20% | snapkv:window=8 | 4 |"), std::string::npos) << first.text;
  EXPECT_NE(first.text.find("| 100% | full | 4 |"), std::string::npos) << first.text;
  const std::string lines = text_of("r.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1 + 4 * 3);

  // Another policy is added to what is there; what is there stays as it is. A torn line is measured again.
  std::ofstream(folder_ + "/r.jsonl", std::ios::app) << "{\"sample\": \"to";
  const Outcome more = run(command + "snapkv:window=8,full,snapkv+curves:window=8,streaming_llm+ripple:window=8");
  ASSERT_EQ(more.exit_code, 0) << more.text;
  const std::string all = text_of("r.jsonl");
  EXPECT_EQ(all.substr(0, lines.size()), lines);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1 + 4 * 7);
  // Policies of the same file that this command does not ask about are not in its table, nor are other samples.
  const Outcome less = run(command + "full,snapkv:window=8 --limit 1");
  EXPECT_NE(less.text.find("| 20% | snapkv:window=8 | 2 |"), std::string::npos) << less.text;
  EXPECT_NE(run(command + "snapkv -c 300").text.find("n_ctx 0, expected 300; --fresh"), std::string::npos);
  const Outcome never = run(command + "snapkv:kv-type=auto --match bytes");
  EXPECT_NE(never.text.find("snapkv:kv-type=auto: --kv-type auto: got the allocator uniform"), std::string::npos)
      << never.text;
  EXPECT_NE(run(command + "snapkv --weights f32").text.find("weights \"native\", expected \"f32\"; --fresh"),
            std::string::npos);
}

// Samples are known by task and number, profiles by their file: what is in them must be the same.
TEST_F(MeasuringCommandsTest, EvalGoesOnWithTheSameTextsAndProfileOnly) {
  const auto put = [](const std::string& folder, const std::string& ship) {
    std::filesystem::create_directories(folder_ + "/" + folder + "/same");
    std::string text = ship;
    for (int i = 0; i < 12; ++i) text += " ship " + std::to_string(i * 37 % 101) + " lies at quay.";
    std::ofstream(folder_ + "/" + folder + "/same/financial_qa.jsonl")
        << json{{"input", text}, {"instructions", {"Which ship?"}}, {"outputs", {"ship 37"}}} << "\n";
  };
  put("one", "Argo");
  put("other", "Bounty");
  const std::string command =
      " -m $M --max-tokens 150 --answer-tokens 4 --budgets 40% --policies snapkv+ripple:window=8 -o $D/same.jsonl";
  ASSERT_EQ(run("eval leval --data $D/one/same --profile $D/p.json" + command).exit_code, 0);
  const Outcome text = run("eval leval --data $D/other/same --profile $D/p.json" + command);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.text.find("from another text or another profile"), std::string::npos) << text.text;
  ASSERT_EQ(run("profile -m $M --limit 1 --max-tokens 200 --answer-tokens 4 --window 8 --curves none -o $D/p1.json")
                .exit_code,
            0);
  const Outcome profile = run("eval leval --data $D/one/same --profile $D/p1.json" + command);
  EXPECT_EQ(profile.exit_code, 1);
  EXPECT_NE(profile.text.find("from another text or another profile"), std::string::npos) << profile.text;
  EXPECT_EQ(run("eval leval --data $D/one/same --profile $D/p.json" + command).exit_code, 0);
}

// Two questions of each document: one prefill for both, both ways side by side, and each way is gone on with by itself.
TEST_F(MeasuringCommandsTest, EvalAsksAfterCompression) {
  std::filesystem::create_directory(folder_ + "/asked");
  std::string text;
  for (int i = 0; i < 12; ++i) text += "ship " + std::to_string(i * 37 % 101) + " lies at quay. ";
  std::ofstream(folder_ + "/asked/financial_qa.jsonl")
      << json{{"input", text}, {"instructions", {"Which ship?", "At which quay?"}}, {"outputs", {"ship 37", "none"}}}
      << "\n";
  const std::string command =
      "eval leval -m $M --data $D/asked --max-tokens 200 --answer-tokens 4 --budgets 40% --policies "
      "full,snapkv:window=8 -o $D/q.jsonl --question ";
  const Outcome aware = run(command + "aware");
  ASSERT_EQ(aware.exit_code, 0) << aware.text;
  EXPECT_EQ(aware.text.find("agnostic"), std::string::npos) << aware.text;
  const std::string before = text_of("q.jsonl");
  const Outcome both = run(command + "both");
  ASSERT_EQ(both.exit_code, 0) << both.text;
  EXPECT_NE(both.text.find("| 40% | snapkv:window=8 | aware | 2 |"), std::string::npos) << both.text;
  EXPECT_NE(both.text.find("| 40% | snapkv:window=8 | agnostic | 2 |"), std::string::npos) << both.text;
  EXPECT_NE(both.text.find("| 100% | full | agnostic | 2 |"), std::string::npos) << both.text;
  EXPECT_NE(both.text.find("questions"), std::string::npos) << "where the time went: " << both.text;
  const std::string after = text_of("q.jsonl");
  EXPECT_EQ(after.substr(0, before.size()), before) << "what was measured stays";
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 1 + 2 * 4);
  EXPECT_NE(run(command + "never").text.find("expected aware, agnostic, both"), std::string::npos)
      << run(command + "never").text;
}

TEST_F(MeasuringCommandsTest, EvalScoresAnswers) {
  const Outcome outcome =
      run("eval leval -m $M --data $D/data --tasks financial_qa --limit 1 --max-tokens 150 "
          "--answer-tokens 4 --budgets 40% --policies full,snapkv:window=8 --generate -o $D/g.jsonl "
          "--json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("\"score\""), std::string::npos) << outcome.text;
  EXPECT_NE(text_of("g.jsonl").find("\"answer\""), std::string::npos);
}

TEST_F(MeasuringCommandsTest, EvalFailsForAFailedSampleAndTriesItAgain) {
  const std::string command =
      "eval leval -m $M --data $D/data --max-tokens 150 --answer-tokens 4 --budgets 2% "
      "--policies snapkv -o $D/f.jsonl";
  for (int round = 0; round < 2; ++round) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.text.find("| 2% | snapkv | 0 (4 failed) | - |"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("4 of 4 samples failed"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("snapkv at 2%: --kv-budget 2%"), std::string::npos) << outcome.text;
  }
  EXPECT_NE(text_of("f.jsonl").find("\"error\""), std::string::npos);
  EXPECT_EQ(text_of("f.jsonl").find("\"kl\""), std::string::npos) << "a failure is never a score";
}

// A needle that a cut could drop is no test of anything.
TEST_F(MeasuringCommandsTest, GeneratedSamplesAreNotCut) {
  const std::string command = "eval needle -m $M --lengths 1k --depths 50% --policies snapkv -o $D/n.jsonl ";
  EXPECT_NE(run(command + "--max-tokens 300").text.find("expected at most 300 (--max-tokens)"), std::string::npos);
  EXPECT_NE(run(command + "-c 500").text.find("expected at most 500 (the context"), std::string::npos);
}

TEST_F(MeasuringCommandsTest, Validate) {
  const Outcome outcome =
      run("validate -m $M --data $D/data --limit 2 --max-tokens 150 --answer-tokens 4 --window 8 "
          "--kept 20%,40% --profile $D/p.json --json $D/v.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  const json validation = json::parse(text_of("v.json"));
  ASSERT_EQ(validation.at("spearman").size(), 2U * 7);
  for (const json& of : validation.at("spearman")) {
    EXPECT_LE(std::abs(of.at("rho").get<double>()), 1);
    EXPECT_LE(of.at("lo"), of.at("hi"));
  }
  EXPECT_EQ(validation.at("damage")[0].at("mean").size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/v.json.0.part"));
  const Outcome refused = run("validate -m $M --data $D/none.jsonl --json $D/v2.json");
  EXPECT_NE(refused.text.find("none.jsonl"), std::string::npos) << refused.text;
  EXPECT_EQ(refused.text.find("1 of"), std::string::npos) << "nothing has begun: " << refused.text;
}

TEST_F(MeasuringCommandsTest, TuneWritesTheBest) {
  const Outcome outcome =
      run("tune -m $M --profile $D/p.json --kv-budget 20% --window 8 --calibration $D/data --limit 2 --max-tokens 150 "
          "--answer-tokens 4 -o $D/best.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  for (const char* tried : {"snapkv+uniform", "snapkv+ripple:r=8:gamma=8:transform=log", "snapkv+curves",
                            "snapkv+head_curves", "best on these"})
    EXPECT_NE(outcome.text.find(tried), std::string::npos) << tried;
  const json budgets = json::parse(text_of("best.json"));
  EXPECT_NE(outcome.text.find("best on these 2 samples: snapkv+" + budgets.at("allocator").get<std::string>()),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(run("tune -m $M --kv-budget 20% --profile $D/none.json").exit_code, 0);
  EXPECT_EQ(run("tune -m $M --kv-budget 200 --profile $D/p.json").exit_code, 2);
}

TEST_F(MeasuringCommandsTest, AllocateByTargetAndAudit) {
  const std::string samples =
      " --window 8 --calibration $D/data --limit 2 --max-tokens 150 --answer-tokens 4 --profile $D/p.json -m $M ";
  const Outcome loose = run("allocate --target-kl 10 --allocator curves --json" + samples);
  const Outcome tight = run("allocate --target-kl 1e-3 --allocator uniform --json -o $D/t.json" + samples);
  const Outcome impossible = run("allocate --target-kl 1e-12 -ctk q4_0 -ctv q4_0 --json" + samples);
  ASSERT_EQ(tight.exit_code, 0) << tight.text;
  const auto parsed = [](const Outcome& outcome) { return json::parse(outcome.text.substr(outcome.text.find('{'))); };
  EXPECT_LE(parsed(tight).at("measured").at("kl"), 1e-3);
  EXPECT_LT(parsed(loose).at("kept_fraction"), parsed(tight).at("kept_fraction"));
  EXPECT_TRUE(parsed(loose).at("measured").contains("predicted_kl"));
  EXPECT_NE(impossible.exit_code, 0);
  EXPECT_NE(impossible.text.find("no budget holds the target"), std::string::npos) << impossible.text;
  const Outcome audited = run("allocate --kv-budget 30% --allocator curves --audit -t 1 --weights f32" + samples);
  EXPECT_NE(audited.text.find("measured on 2 samples: mean KL"), std::string::npos) << audited.text;
  EXPECT_NE(audited.text.find("is what they do to each other"), std::string::npos) << audited.text;
}

// Rows and formats for bytes: within them, by what every layer of the file says, and foretold layer by layer.
TEST_F(MeasuringCommandsTest, FormatsAreTheAllocatorsChoice) {
  // The grid: 10%, 30% and all rows in f16, q8_0 and q8_0/q4_0. All rows as they are do nothing, rounded ones
  // something.
  const json profile = json::parse(text_of("p.json"));
  for (const json& sample : profile.at("samples")) {
    const auto damage = sample.at("damage").get<std::vector<std::vector<double>>>();
    ASSERT_EQ(damage.size(), 9U);
    EXPECT_EQ(damage[2], std::vector<double>(damage[2].size(), 0.0));
    for (const size_t all_rows : {5, 8})
      EXPECT_GT(*std::max_element(damage[all_rows].begin(), damage[all_rows].end()), 0);
  }
  const std::string samples =
      " --window 8 --calibration $D/data --limit 2 --max-tokens 150 --answer-tokens 4 --profile $D/p.json -m $M ";
  const Outcome audited = run("allocate --kv-budget 30% --kv-type auto --audit --json -o $D/auto.json" + samples);
  ASSERT_EQ(audited.exit_code, 0) << audited.text;
  EXPECT_TRUE(json::parse(audited.text.substr(audited.text.find('{'))).at("measured").contains("predicted_kl"));
  const json budgets = json::parse(text_of("auto.json"));
  EXPECT_EQ(budgets.at("allocator"), "head_curves");
  EXPECT_EQ(budgets.at("budget"), "30%");
  EXPECT_EQ(budgets.at("budget_of"), "bytes");
  int n_rounded = 0;
  for (const json& layer : budgets.at("layers")) n_rounded += layer.at("k") != "f16" ? 1 : 0;
  EXPECT_GT(n_rounded, 0);
  // Rows of bytes need no model: its artefacts know its rows. Without that they are refused.
  const Outcome shown =
      run("allocate --kv-budget 30% --kv-type auto --window 8 --tokens 100 --json --profile $D/p.json");
  ASSERT_EQ(shown.exit_code, 0) << shown.text;
  const json exported = json::parse(run("export $D/auto.json --tokens 100").text);
  EXPECT_EQ(exported.at("kv_budget"), "30% of the f16 cache's bytes");
  EXPECT_EQ(json::parse(shown.text).at("budget_of"), "bytes");
  const json rows_shown = json::parse(shown.text).at("rows");
  ASSERT_EQ(exported.at("layers").size(), rows_shown.size());
  for (size_t il = 0; il < rows_shown.size(); ++il) EXPECT_EQ(exported.at("layers")[il].at("rows"), rows_shown[il]);
  EXPECT_EQ(run("report --budgets $D/auto.json --tokens 100 -o $D/auto.html").exit_code, 0);
  ASSERT_EQ(
      run("allocate --kv-budget 30% --kv-type auto --allocator curves --window 8 --profile $D/p.json -o $D/older.json")
          .exit_code,
      0);
  json older = json::parse(text_of("older.json"));
  older.at("model").erase("head_dim");
  older.at("model").erase("n_head_kv");
  std::ofstream(folder_ + "/older.json") << older;
  for (const char* command : {"export $D/older.json", "report --budgets $D/older.json -o $D/older.html"}) {
    const Outcome refused = run(command);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.text.find("older.json: budgets that count bytes"), std::string::npos) << refused.text;
  }

  const Outcome compared =
      run("eval leval -m $M --data $D/data --limit 1 --max-tokens 150 --answer-tokens 4 --budgets 30% --match bytes "
          "--profile $D/p.json --policies snapkv:window=8,snapkv+curves:window=8:kv-type=auto -o $D/auto.jsonl");
  ASSERT_EQ(compared.exit_code, 0) << compared.text;
  std::map<std::string, int64_t> bytes;
  std::map<std::string, int64_t> rows;
  std::ifstream results(folder_ + "/auto.jsonl");
  for (std::string line; std::getline(results, line);) {
    const json result = json::parse(line);
    if (!result.contains("kl")) continue;
    bytes[result.at("policy")] = result.at("bytes");
    rows[result.at("policy")] = result.at("rows");
  }
  const std::string chosen = "snapkv+curves:window=8:kv-type=auto";
  EXPECT_GT(rows[chosen], rows["snapkv:window=8"]);
  EXPECT_LE(bytes[chosen], bytes["snapkv:window=8"] + 2 * 2 * (32 * 2 * 2 + 4)) << "within a row of f16";

  const Outcome answered =
      run("run -m $M --budget $D/auto.json -f $D/data/financial_qa.jsonl --raw --temp 0 -n 2 --receipt");
  EXPECT_EQ(answered.exit_code, 0) << answered.text;  // holds what was planned
  const auto full_bytes = [](const std::string& flags) {
    const Outcome out = run("run -m $M -f $D/data/financial_qa.jsonl --raw --temp 0 -n 1 --json " + flags);
    return std::stoll(out.text.substr(out.text.find("kv_bytes_full\": ") + 16));
  };
  EXPECT_EQ(full_bytes("--budget $D/auto.json"), full_bytes("--kv-type f16"));
  EXPECT_LT(full_bytes("--kv-type q8_0"), full_bytes("--kv-type f16"));
  ASSERT_EQ(run("profile -m $M --limit 1 --max-tokens 150 --answer-tokens 4 --window 8 --curves 30% --curve-types f16 "
                "-o $D/f16.json")
                .exit_code,
            0);
  EXPECT_NE(run("run -m $M --kv-budget 30% --kv-type auto --window 8 --profile $D/f16.json -p ship")
                .text.find("hold one kv format"),
            std::string::npos);
}

// kvpress keeps int(n * (1 - ratio)) rows: of every exported ratio that is the number planned.
TEST_F(MeasuringCommandsTest, Export) {
  ASSERT_EQ(run("allocate --profile $D/p.json --allocator ripple --kv-budget 30% --window 8 -o $D/b.json").exit_code,
            0);
  for (const int n : {97, 100, 1000, 4096}) {
    const Outcome outcome = run("export $D/b.json --to kvpress --tokens " + std::to_string(n));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    const json exported = json::parse(outcome.text);
    ASSERT_EQ(exported.at("compression_ratios").size(), 3U);
    for (size_t il = 0; il < 3; ++il) {
      const double ratio = exported.at("compression_ratios")[il];
      EXPECT_EQ(static_cast<int>(n * (1 - ratio)), exported.at("rows")[il].get<int>()) << n << " " << il;
    }
  }
  EXPECT_NE(run("export $D/b.json --to csv").text.find("layer,rows,kept_fraction,k,v,head_rows\n0,"),
            std::string::npos);
  EXPECT_EQ(run("export $D/b.json -o $D/x.json").exit_code, 0);
  EXPECT_EQ(json::parse(text_of("x.json")).at("layers").size(), 3U);
  EXPECT_EQ(run("export $D/none.json").exit_code, 1);
  ASSERT_EQ(
      run("allocate -m $M --allocator uniform --kv-budget 30% --window 8 --head-floor 0.2 -o $D/h.json").exit_code, 0);
  const Outcome ragged = run("export $D/h.json --to kvpress");
  EXPECT_EQ(ragged.exit_code, 1);
  EXPECT_NE(ragged.text.find("share a layer's rows (head_floor 0.2)"), std::string::npos) << ragged.text;
  EXPECT_EQ(run("export $D/h.json --to csv").exit_code, 0);
}

// The default profile measures every KV head, and what it says is used and shown; with one head there is nothing to
// ask.
TEST_F(MeasuringCommandsTest, HeadsKeepRowsOfTheirOwn) {
  ASSERT_EQ(run("allocate --profile $D/p.json --kv-budget 30% --window 8 --tokens 200 -o $D/heads.json").exit_code, 0);
  const json budgets = json::parse(text_of("heads.json"));
  EXPECT_EQ(budgets.at("allocator"), "head_curves");
  const json exported = json::parse(run("export $D/heads.json --tokens 200").text);
  for (const json& layer : exported.at("layers")) {
    int64_t sum = 0;
    for (const json& rows : layer.at("head_rows")) sum += rows.get<int64_t>();
    EXPECT_EQ(sum, 2 * layer.at("rows").get<int64_t>());
  }
  const Outcome csv = run("export $D/heads.json --tokens 200 --to csv");
  EXPECT_NE(
      csv.text.find("f16,f16," + std::to_string(exported.at("layers")[0].at("head_rows")[0].get<int64_t>()) + " "),
      std::string::npos)
      << csv.text;
  // Heads that share by scores keep what a prompt decides: no number of theirs is shown.
  const Outcome shared = run(
      "allocate --profile $D/p.json --kv-budget 30% --allocator head_curves --window 8 --tokens 200 --head-floor 0.5 "
      "-o $D/shared.json");
  EXPECT_EQ(shared.text.find("       heads "), std::string::npos) << shared.text;
  EXPECT_NE(shared.text.find("share its rows by their scores"), std::string::npos) << shared.text;
  EXPECT_FALSE(json::parse(run("export $D/shared.json --tokens 200").text).at("layers")[0].contains("head_rows"));
  const Outcome kvpress = run("export $D/heads.json --to kvpress");
  EXPECT_EQ(kvpress.exit_code, 1);
  EXPECT_NE(kvpress.text.find("rows of its own number (head_curves)"), std::string::npos) << kvpress.text;
  EXPECT_EQ(run("run -m $M --budget $D/heads.json -f $D/data/financial_qa.jsonl --raw --temp 0 -n 2").exit_code, 0);
  const Outcome audited = run(
      "allocate -m $M --profile $D/p.json --kv-budget 30% --kv-type auto --allocator head_curves --window 8 --audit "
      "--calibration $D/data --limit 1 --max-tokens 150 --answer-tokens 4");
  EXPECT_NE(audited.text.find("       heads "), std::string::npos) << audited.text;
  EXPECT_NE(audited.text.find("damages add up to"), std::string::npos) << audited.text;
  ASSERT_EQ(run("profile -m $M --limit 1 --max-tokens 150 --answer-tokens 4 --window 8 --curves 30% --head-curves none "
                "-o $D/layers.json")
                .exit_code,
            0);
  EXPECT_EQ(
      json::parse(run("allocate --profile $D/layers.json --kv-budget 30% --window 8 --json").text).at("allocator"),
      "curves");
  const Outcome without = run("allocate --profile $D/layers.json --kv-budget 30% --window 8 --allocator head_curves");
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_NE(without.text.find("profile --head-curves"), std::string::npos) << without.text;
}

// The real package, which scripts/check_export.sh installs (5.5 GB): only where it is asked for.
TEST_F(MeasuringCommandsTest, KvpressKeepsTheExportedRows) {
  if (std::getenv("RIPPLEKV_TEST_KVPRESS") == nullptr) GTEST_SKIP() << "RIPPLEKV_TEST_KVPRESS=1 asks for it";
  ASSERT_EQ(run("allocate --profile $D/p.json --allocator ripple --kv-budget 30% --window 8 -o $D/k.json").exit_code,
            0);
  const Outcome outcome = test::shell("RIPPLEKV_PROGRAM=\"$P\" '" + test::source_dir() + "/scripts/check_export.sh' '" +
                                      folder_ + "/k.json' 97 1000 2>&1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("1000 tokens: kvpress keeps"), std::string::npos) << outcome.text;
}

// At toy size; no times are held.
TEST_F(MeasuringCommandsTest, BenchMeasuresEverythingBesideThePeer) {
  const Outcome outcome = run(
      "bench -m $M --peer llama.cpp --contexts 200,2000 --policies full,snapkv:window=8,snapkv+curves:window=8 "
      "--budgets 10% --kv-types f16,q8_0/q4_0 --profile $D/p.json --decode 3 --repeats 2 -ub 128 --json $D/bench.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("2000 tokens: memory full"), std::string::npos) << outcome.text;
  const json records = json::parse(text_of("bench.json"));
  std::map<std::string, int> n_of;
  int n_of_rows = 0;
  for (const json& record : records) {
    n_of[record.at("work")] += record.at("peer") == "llama.cpp" ? 1 : 0;
    n_of_rows += record.at("peer_setting") == "full cache of 200 tokens" ? 1 : 0;
    EXPECT_GT(record.at("ratio"), 0) << record;
    if (record.at("work") == "memory") continue;
    EXPECT_GT(record.at("seconds"), 0) << record;
    EXPECT_LE(record.at("seconds_min"), record.at("seconds_max"));
  }
  // Three caches in two formats at two lengths.
  EXPECT_EQ(n_of["prefill"], 12);
  EXPECT_EQ(n_of["decode"], 12);
  EXPECT_EQ(n_of["memory"], 12);
  EXPECT_EQ(n_of["first_token"], 1);
  for (const json& record : records) {
    EXPECT_NEAR(record.at("held"), record.at("policy") == "full" ? 1 : 0.1, 0.005) << record;
  }
  EXPECT_EQ(n_of_rows, 4) << "10% of 2000 rows beside the full cache of 200";
}

// Whatever --kv-types says: their formats are the allocator's choice.
TEST_F(MeasuringCommandsTest, BenchMeasuresMixedFormatsOnceAndSaysSo) {
  const Outcome outcome =
      run("bench -m $M --contexts 300 --works decode,memory --decode 2 --repeats 1 --policies "
          "snapkv:window=8,snapkv+curves:window=8:kv-type=auto --budgets 30% --kv-types f16,q8_0/q4_0 "
          "--profile $D/p.json --json $D/mixed.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  std::map<std::string, int> n_of;
  for (const json& record : json::parse(text_of("mixed.json"))) {
    const bool mixed = record.at("policy") == "snapkv+curves:window=8:kv-type=auto";
    EXPECT_EQ(record.at("k") == "auto" && record.at("v") == "auto", mixed) << record;
    if (mixed) ++n_of[record.at("work")];
  }
  EXPECT_EQ(n_of, (std::map<std::string, int>{{"decode", 1}, {"memory", 1}}));
}

TEST_F(MeasuringCommandsTest, BenchReadsAPromptAndRefusesWhatCannotBe) {
  std::ofstream(folder_ + "/ids.json") << "[5, 6, 7]";
  const std::string common = "bench -m $M --works decode --decode 2 --repeats 1 ";
  const Outcome outcome = run(common + "--contexts 50 --policies full -f $D/ids.json --json $D/ids.out.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(json::parse(text_of("ids.out.json"))[0].at("prompt"), "ids.json");
  std::ofstream(folder_ + "/ids.json") << "[]";
  EXPECT_NE(run(common + "-f $D/ids.json").text.find("0 tokens, expected a prompt"), std::string::npos);
  std::ofstream(folder_ + "/ids.json") << "\n [5, 6, 7";
  EXPECT_NE(run(common + "-f $D/ids.json").text.find("expected a list of token ids, or a text that begins with '['"),
            std::string::npos)
      << run(common + "-f $D/ids.json").text;
  std::ofstream(folder_ + "/ids.json") << "[5, \"6\"]";
  EXPECT_NE(run(common + "-f $D/ids.json").text.find("got string in it, expected a list of token ids"),
            std::string::npos);
  EXPECT_NE(run(common + "--contexts 60").text.find("snapkv at 10% of 60 tokens"), std::string::npos);
  EXPECT_NE(run(common + "--contexts 1g").text.find("--contexts: a prompt of 1073741824 tokens needs"),
            std::string::npos);
  EXPECT_EQ(run(common + "--policies snapkv+curves --contexts 600 --profile $D/none.json").exit_code, 1);
}

}  // namespace
}  // namespace ripplekv
