// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// L-Eval's files: several questions about one document, taken in turns.
#include <gtest/gtest.h>

#include "eval/suite_folder.h"

namespace ripplekv {
namespace {

std::string record(const std::string& name, int n_question) {
  std::string questions;
  std::string answers;
  for (int i = 1; i <= n_question; ++i) {
    questions += (i > 1 ? ", \"" : "\"") + name + " q" + std::to_string(i) + "\"";
    answers += std::string(i > 1 ? ", " : "") + "\"B\"";
  }
  return R"({"input": "Text of )" + name + R"(", "instructions": [)" + questions + R"(], "outputs": [)" + answers +
         "]}\n";
}

std::vector<std::string> ids_of(const Result<std::vector<EvalSample>>& samples) {
  EXPECT_TRUE(samples.ok()) << samples.status().message();
  std::vector<std::string> ids;
  if (samples.ok()) {
    for (const EvalSample& sample : *samples) ids.push_back(sample.id);
  }
  return ids;
}

TEST(LEval, QuestionsInTurnsAndNeighboursByDocument) {
  const test::SuiteFolder folder;
  folder.put("quality.jsonl", record("a", 3) + record("b", 1) + record("c", 2));
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids_of(folder.read("leval")), Ids({"1:1", "1:2", "1:3", "2:1", "3:1", "3:2"}));
  EXPECT_EQ(ids_of(folder.read("leval", {}, 2)), Ids({"1:1", "2:1"}));
  EXPECT_EQ(ids_of(folder.read("leval", {}, 5)), Ids({"1:1", "1:2", "2:1", "3:1", "3:2"}));
  EXPECT_EQ(ids_of(folder.read("leval", {}, 100)).size(), 6U);
  // Each knows of all that its document could be asked, whether or not they are.
  const auto first = folder.read("leval", {}, 1);
  const auto all = folder.read("leval");
  ASSERT_TRUE(first.ok() && all.ok());
  EXPECT_EQ((*first)[0].questions_beside,
            (std::vector<std::string>{(*all)[0].question, (*all)[1].question, (*all)[2].question}));
}

TEST(LEval, ASample) {
  const test::SuiteFolder folder;
  folder.put("quality.jsonl", record("a", 1));
  folder.put("news_summ.jsonl", record("n", 1));
  const auto samples = folder.read("leval");
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 2U);
  const EvalSample& choice = (*samples)[0];
  EXPECT_EQ(choice.document, "Text of a");
  EXPECT_EQ(choice.question.find("\n\na q1\n"), 0U);
  EXPECT_NE(choice.question.find("letter"), std::string::npos);
  EXPECT_EQ(choice.metric, "choice");
  EXPECT_TRUE(choice.chat);
  const EvalSample& summary = (*samples)[1];
  EXPECT_EQ(summary.metric, "rouge_l");
  EXPECT_EQ(summary.question, "\n\nn q1\n");
}

TEST(LEval, DamagedRecordsAreNamed) {
  const test::SuiteFolder folder;
  folder.put("quality.jsonl", record("a", 1) + R"({"input": "x", "instructions": ["q"], "outputs": []})");
  folder.expect_refused("leval", {},
                        {"quality.jsonl line 2: key 'outputs': got 0 answers, expected one for each of 1"});
  folder.put("quality.jsonl", R"({"input": "x", "instructions": [], "outputs": []})");
  folder.expect_refused("leval", {}, {"line 1: key 'instructions': is empty"});
  folder.put("quality.jsonl", R"({"input": ["x"], "instructions": ["q"], "outputs": ["a"]})");
  folder.expect_refused("leval", {}, {"line 1: key 'input': got an array"});
}

TEST(LEval, OfficialFiles) {
  const std::string path = test::data_path("leval");
  RKV_NEED_FILE(path, "data/leval");
  SuiteOptions options;
  options.data_dir = path;
  const auto samples = read_suite("leval", options);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  std::map<std::string, int> n_sample;
  for (const EvalSample& sample : *samples) {
    ++n_sample[sample.task];
    if (sample.metric != "choice") continue;
    const auto own = score_answer(sample, sample.answers.front());
    ASSERT_TRUE(own.ok());
    EXPECT_EQ(*own, 1) << sample.task << " " << sample.id << " " << sample.answers.front();
  }
  EXPECT_EQ(n_sample.size(), 7U);
}

}  // namespace
}  // namespace ripplekv
