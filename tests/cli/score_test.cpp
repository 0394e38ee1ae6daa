// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv score from outside: the list comes back with our scores, and what is wrong in it is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/shell.h"
#include "test_util/paths.h"
#include "test_util/reference.h"

namespace ripplekv {
namespace {

using test::Outcome;

class ScoreTest : public ::testing::Test {
 protected:
  void put(const std::string& text) const { std::ofstream(folder_ + "/in.json", std::ios::binary) << text; }
  Outcome run(const std::string& args, const std::string& before = "") const {
    return test::shell("cd '" + folder_ + "'; " + before + " $P score " + args + " 2>&1");
  }
  const std::string folder_ = test::temp_dir();
};

TEST_F(ScoreTest, TheListComesBackWithOurScores) {
  put(R"([{"score": 0.25, "metric": "qa_f1", "prediction": "a red door", "answer": "red wall", "note": 7},
          {"metric": "classification", "prediction": "Date", "answer": "Date", "all_classes": ["Date", "City"]}])");
  const Outcome outcome = run("in.json -o out.json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("qa_f1                      1    0.5000           1                  0.25"),
            std::string::npos)
      << outcome.text;
  const auto scored = test::read_reference(folder_ + "/out.json");
  ASSERT_EQ(scored.size(), 2U);
  EXPECT_EQ(scored[0].at("score"), 0.5);
  EXPECT_EQ(scored[0].at("note"), 7);
  EXPECT_EQ(scored[1].at("score"), 1.0);
}

// The best over the accepted answers, RULER's share of the wanted ones, and what a task scores on its first line.
TEST_F(ScoreTest, AllAnswersOfASuiteAreScoredAsItDoes) {
  put(R"([{"suite": "longbench", "task": "triviaqa", "metric": "qa_f1", "prediction": "red door\nblue", "answers":
           ["green", "red door"]},
          {"suite": "ruler", "task": "niah_multivalue", "metric": "string_match_all", "prediction": "12 and 34",
           "answers": ["12", "34", "56", "78"]}])");
  const Outcome outcome = run("in.json -o out.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  const auto scored = test::read_reference(folder_ + "/out.json");
  EXPECT_EQ(scored[0].at("score"), 1.0);
  EXPECT_EQ(scored[1].at("score"), 0.5);
}

TEST_F(ScoreTest, ReferencePairs) {
  const std::string path = test::reference_path("longbench_metrics.json");
  RKV_NEED_FILE(path, "longbench_metrics.json");
  const Outcome outcome = run("'" + path + "' -o out.json");
  if (outcome.text.find("python3-jieba") != std::string::npos) GTEST_SKIP() << outcome.text;
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  const auto expected = test::read_reference(path);
  const auto scored = test::read_reference(folder_ + "/out.json");
  ASSERT_EQ(scored.size(), expected.size());
  for (size_t i = 0; i < scored.size(); ++i) {
    EXPECT_NEAR(scored[i].at("score").get<double>(), expected[i].at("score").get<double>(), 1e-4) << expected[i];
  }
}

TEST_F(ScoreTest, WhatIsWrongIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "in.json: got no list of pairs"},
      {"[]", "in.json: got no list of pairs"},
      {"[", "in.json: ends in the middle"},
      {"[1]", "in.json: key '[0]': got number, expected an object"},
      {R"([{"metric": "bleu", "prediction": "", "answer": ""}])", "key '[0].metric': unknown metric: got 'bleu'"},
      {R"([{"metric": "qa_f1", "answer": ""}])", "key '[0].prediction': is missing"},
      {R"([{"metric": "retrieval", "prediction": "3", "answer": "3"}])", "key '[0]': answer: got '3'"},
      {R"([{"metric": "count", "prediction": "3", "answer": "3", "score": "x"}])", "key '[0].score': got text 'x'"},
      {R"([{"metric": "count", "prediction": "3", "answers": ["3"]}])", "key '[0].suite': is missing"},
      {R"([{"metric": "count", "prediction": "3", "answers": [], "suite": "ruler", "task": "vt"}])",
       "key '[0]': metric: got 'count', expected string_match_all, which ruler scores vt by"},
      {R"([{"metric": "string_match_all", "prediction": "3", "answers": [], "suite": "ruler", "task": "vt"}])",
       "key '[0]': got no answer to score against"},
      {R"([{"metric": "count", "prediction": "3", "answer": "3", "suite": "ruler", "task": "vt"}])",
       "key '[0].answers': is missing"},
  };
  for (const auto& [text, expected] : cases) {
    put(text);
    const Outcome outcome = run("in.json -o out.json");
    EXPECT_EQ(outcome.exit_code, 1) << text;
    EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 1) << outcome.text;
    EXPECT_NE(outcome.text.find(expected), std::string::npos) << outcome.text;
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/out.json"));
  }
}

TEST_F(ScoreTest, ChineseWithoutJiebaIsRefused) {
  put(R"([{"metric": "rouge_zh", "prediction": "x", "answer": "x"}])");
  const Outcome outcome = run("in.json", "RIPPLEKV_JIEBA_DIR=/nonexistent");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.text.find("got no folder /nonexistent"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("python3-jieba"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace ripplekv
