// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The prompts that `eval` writes for other programs, and the referee that reads them, scripts/eval_peers.py, on a tiny
// model beside a stand-in for OpenVINO GenAI: nothing is fetched, and what is asked of the peer is counted.
#include <gtest/gtest.h>

#include <algorithm>
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

// Reads the prompt in its first step, evicts whole blocks behind its second, says "ship 37", and notes in asked.txt
// what it was asked. With a file fail.txt it throws where it would evict.
constexpr const char* kStandIn = R"(
import os
__version__ = "1.0"
class GenerationConfig: pass
class SchedulerConfig:
    rows = None
class AggregationMode:
    NORM_SUM = 1
def CacheEvictionConfig(**settings):
    assert settings["max_cache_size"] % 32 == 0 and settings["max_cache_size"] > 64
    return settings["max_cache_size"]
class Handle:
    generated_ids = [7, 8, 9]
    def read_all(self):
        return [self]
class Tokenizer:
    def decode(self, ids):
        return "ship 37"
class Metrics: pass
class ContinuousBatchingPipeline:
    def __init__(self, model, scheduler, device, properties):
        self.scheduler = scheduler
        assert properties == {"INFERENCE_NUM_THREADS": 1, "KV_CACHE_PRECISION": "f16"}, properties
        self.rows = getattr(scheduler, "cache_eviction_config", None)
        self.left = None
    def add_request(self, id_, ids, config):
        if self.rows and os.path.exists("fail.txt"):
            raise RuntimeError("no room")
        self.n = len(ids.data[0])
        self.n_step = self.dropped = 0
        self.left = 3
        with open("asked.txt", "a") as file:
            file.write(f"{self.rows} {self.n} {config.max_new_tokens}\n")
        return Handle()
    def has_non_finished_requests(self):
        return self.left > 0
    def step(self):
        self.left -= 1
        self.n += self.n_step > 0
        self.n_step += 1
        self.blocks = -(-self.n // 32) - self.dropped
        if self.rows and self.n_step > 1:
            self.dropped += max(0, self.n // 32 - self.dropped - self.rows // 32)
    def get_metrics(self):
        metrics = Metrics()
        metrics.cache_usage = 100 * self.blocks / self.scheduler.num_kv_blocks
        metrics.cache_size_in_bytes = 320 * self.scheduler.num_kv_blocks
        return metrics
    def get_tokenizer(self):
        return Tokenizer()
)";

class PeersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_gguf(test::tiny_chat_model(), folder_ + "/tiny.gguf");
    std::string text;
    for (int i = 0; i < 12; ++i) text += "ship " + std::to_string(i * 37 % 101) + " lies at quay. ";
    std::filesystem::create_directories(folder_ + "/data");
    std::ofstream data(folder_ + "/data/financial_qa.jsonl");
    for (int i = 0; i < 2; ++i) {
      data << json{{"input", std::to_string(i) + text}, {"instructions", {"Which ship?"}}, {"outputs", {"ship 37"}}}
           << "\n";
    }
    std::filesystem::create_directories(folder_ + "/python");
    std::ofstream(folder_ + "/python/openvino_genai.py") << kStandIn;
    std::ofstream(folder_ + "/python/openvino.py")
        << "class Tensor:\n    def __init__(self, data):\n        self.data = data\n";
    std::ofstream(folder_ + "/python/numpy.py") << "int64 = 0\ndef array(data, dtype):\n    return data\n";
  }
  Outcome run(const std::string& line) const {
    return test::shell("export RIPPLEKV_CACHE_DIR='" + folder_ + "/cache' OMP_WAIT_POLICY=passive PYTHONPATH='" +
                       folder_ + "/python' PYTHONDONTWRITEBYTECODE=1; cd '" + folder_ + "'; (" + line + ") 2>&1");
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::string folder_ = test::temp_dir();
};

// What another program needs to answer the same tokens and be scored by the same references; failures are named.
TEST_F(PeersTest, EvalWritesItsPrompts) {
  const Outcome outcome = run(
      "$P eval leval -m tiny.gguf --data data --tasks financial_qa --max-tokens 150 --answer-tokens 4 --budgets 40% "
      "--policies snapkv:window=8 --question both -o pr.jsonl --prompts new/prompts.jsonl");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  std::map<std::string, size_t> tokens_of;  // by sample and question, in the results
  std::ifstream results(folder_ + "/pr.jsonl");
  std::string line;
  for (std::getline(results, line); std::getline(results, line);) {
    const json result = json::parse(line);
    tokens_of[result.at("sample").get<std::string>() + result.at("question").get<std::string>()] =
        result.at("n_prompt");
  }
  std::ifstream prompts(folder_ + "/new/prompts.jsonl");
  std::getline(prompts, line);
  const json header = json::parse(line);
  EXPECT_EQ(header.at("format"), "ripplekv.prompts");
  EXPECT_EQ(header.at("suite"), "leval");
  EXPECT_FALSE(header.at("end_ids").empty());
  int n_line = 0;
  for (; std::getline(prompts, line); ++n_line) {
    const json prompt = json::parse(line);
    const std::string question = prompt.at("question");
    EXPECT_EQ(prompt.at("ids").size(), tokens_of.at(prompt.at("sample").get<std::string>() + question)) << line;
    EXPECT_EQ(prompt.at("n_document") == prompt.at("ids").size(), question == "aware") << line;
    EXPECT_EQ(prompt.at("answers"), json({"ship 37"}));
    EXPECT_EQ(prompt.at("metric"), "qa_f1");
  }
  EXPECT_EQ(n_line, 4) << "two samples, two ways";
  ASSERT_EQ(
      run("$P eval leval -m tiny.gguf --data data --tasks financial_qa --max-tokens 5 --answer-tokens 4 --policies "
          "full -o short.jsonl --prompts short.prompts.jsonl")
          .exit_code,
      1);
  EXPECT_NE(text_of("short.prompts.jsonl").find("\"error\":\"sample '"), std::string::npos)
      << text_of("short.prompts.jsonl");
}

TEST_F(PeersTest, TheRefereeAsksOnceAndCountsFailuresApart) {
  if (run("python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'").exit_code != 0) {
    GTEST_SKIP() << "no Python 3.10 or later to run scripts/eval_peers.py with";
  }
  const std::string command =
      "python3 " + test::source_dir() +
      "/scripts/eval_peers.py leval --program \"$P\" -m tiny.gguf -t 1 --data data --max-tokens 280 --policies "
      "full,snapkv:window=8 --budgets 50% --out out --json table.json --peer-properties KV_CACHE_PRECISION=f16 -- "
      "--answer-tokens 4";
  std::ofstream(folder_ + "/fail.txt") << "";
  const Outcome failed = run(command);
  EXPECT_EQ(failed.exit_code, 1) << failed.text;
  EXPECT_NE(failed.text.find("failed: financial_qa:"), std::string::npos) << failed.text;
  EXPECT_NE(failed.text.find("OpenVINO GenAI, aware, at 0.5: no room"), std::string::npos) << failed.text;
  EXPECT_NE(failed.text.find("| 50% | OpenVINO GenAI | 0 (2 failed) | - | - | - |"), std::string::npos) << failed.text;
  EXPECT_NE(failed.text.find("| 100% | OpenVINO GenAI | 2 | "), std::string::npos) << failed.text;
  const json of_failed = json::parse(text_of("table.json"));
  EXPECT_EQ(of_failed.at("failures").size(), 2U);
  const std::string asked = text_of("asked.txt");
  EXPECT_EQ(std::count(asked.begin(), asked.end(), '\n'), 2) << asked;

  // What failed is tried again and nothing else; a torn line is measured again.
  std::filesystem::remove(folder_ + "/fail.txt");
  std::ofstream(folder_ + "/out/openvino.jsonl", std::ios::app) << "{\"sample\": \"fin";
  const Outcome done = run(command);
  ASSERT_EQ(done.exit_code, 0) << done.text;
  const std::string asked_later = text_of("asked.txt").substr(asked.size());
  EXPECT_EQ(std::count(asked_later.begin(), asked_later.end(), '\n'), 2) << asked_later;
  EXPECT_EQ(asked_later.find("None"), std::string::npos) << "full caches were answered: " << asked_later;
  const json table = json::parse(text_of("table.json"));
  EXPECT_TRUE(table.at("failures").empty());
  int n_peer = 0;
  const json ours_full = table.at("rows")[0].at("aware").at("rows");
  for (const json& row : table.at("rows")) {
    const bool peer = row.at("policy") == "OpenVINO GenAI";
    const json& aware = row.at("aware");
    EXPECT_EQ(aware.at("samples"), 2) << row;
    EXPECT_EQ(row.contains("agnostic"), !peer) << row;
    EXPECT_EQ(row.contains("over_peer"), !peer) << row;
    EXPECT_GT(aware.at("bytes"), 0);
    if (!peer) continue;
    ++n_peer;
    EXPECT_EQ(aware.at("score").at("value"), 1) << "it names the ship: " << row;
    if (row.at("kept") == 1) {
      EXPECT_EQ(aware.at("rows"), ours_full) << row;
      continue;
    }
    // Half of about 280 tokens: four blocks of three layers, and the rows of the block that is not full.
    EXPECT_EQ(aware.at("rows_set"), 128 * 3) << row;
    EXPECT_GE(aware.at("rows"), 127 * 3) << row;
    EXPECT_LT(aware.at("rows"), 159 * 3) << row;
    EXPECT_NEAR(aware.at("bytes"), aware.at("rows").get<double>() / 3 / 32 * 320, 1) << row;
  }
  EXPECT_EQ(n_peer, 2);
  EXPECT_EQ(run(command).exit_code, 0);
  EXPECT_EQ(text_of("asked.txt"), asked + asked_later) << "nothing is asked twice";

  // Where `eval` refuses to go on there is no table of what lies there from before.
  std::filesystem::remove(folder_ + "/table.json");
  const Outcome refused = run(command + " --weights f32");
  EXPECT_EQ(refused.exit_code, 1) << refused.text;
  EXPECT_NE(refused.text.find("holds results with weights"), std::string::npos) << refused.text;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/table.json"));
}

}  // namespace
}  // namespace ripplekv
