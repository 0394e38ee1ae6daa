// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LongBench's files: prompts are filled as Python's str.format fills them, and what is damaged is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "eval/jieba.h"
#include "eval/suite_folder.h"

namespace ripplekv {
namespace {

constexpr std::string_view kRecord =
    R"({"_id": "x1", "context": "A {long} text.", "input": "Why?", "answers": ["So", "No"], "all_classes": null})";

class LongBenchTest : public ::testing::Test {
 protected:
  LongBenchTest() {
    folder_.put("config/dataset2prompt.json",
                R"({"hotpotqa": "Read {{this}}:\n{context}\n\nQ: {input}\nA:", "lcc": "Code\n{context}Next:\n",
                    "trec": "{input} of {context}", "qasper": "{context} {length}", "musique": "{input}",
                    "2wikimqa": "{context} {"})");
    folder_.put("config/dataset2maxlen.json", R"({"hotpotqa": 32, "lcc": 64, "trec": 16, "qasper": 1, "musique": 1,
                                                  "2wikimqa": 1, "samsum": 128, "narrativeqa": 0})");
    folder_.put("hotpotqa.jsonl", std::string(kRecord) + "\n");
  }
  void put_record(const std::string& task, const std::string& old_text, const std::string& new_text) {
    std::string record(kRecord);
    record.replace(record.find(old_text), old_text.size(), new_text);
    folder_.put(task + ".jsonl", std::string(kRecord) + "\n\n" + record);
  }
  test::SuiteFolder folder_;
};

TEST_F(LongBenchTest, APromptIsDocumentAndQuestion) {
  const auto samples = folder_.read("longbench");
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 1U);
  const EvalSample& sample = samples->front();
  EXPECT_EQ(sample.document, "Read {this}:\nA {long} text.");
  EXPECT_EQ(sample.question, "\n\nQ: Why?\nA:");
  EXPECT_EQ(sample.prompt(), sample.document + sample.question);
  EXPECT_EQ(sample.answers, std::vector<std::string>({"So", "No"}));
  EXPECT_EQ(sample.suite + "/" + sample.task + "/" + sample.id, "longbench/hotpotqa/x1");
  EXPECT_EQ(sample.metric, "qa_f1");
  EXPECT_EQ(sample.language, "en");
  EXPECT_EQ(sample.n_answer_max, 32);
  EXPECT_TRUE(sample.chat);
  EXPECT_EQ(sample.depth, -1);
}

TEST_F(LongBenchTest, FewShotAndCodeAreNotWrapped) {
  put_record("lcc", "x1", "x2");
  put_record("trec", "\"x1\", ", "\"x2\", ");
  folder_.put("trec.jsonl",
              R"({"_id": "t", "context": "C", "input": "I", "answers": ["D"], "all_classes": ["D", "E"]})");
  const auto samples = folder_.read("longbench");
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 4U);  // in the table's order
  EXPECT_EQ((*samples)[1].task, "trec");
  EXPECT_EQ((*samples)[1].classes, std::vector<std::string>({"D", "E"}));
  EXPECT_EQ((*samples)[1].document, "I of C");
  EXPECT_EQ((*samples)[1].question, "");
  EXPECT_EQ((*samples)[2].document, "Code\nA {long} text.");
  EXPECT_EQ((*samples)[2].question, "Next:\n");
  for (size_t i = 1; i < 4; ++i) EXPECT_FALSE((*samples)[i].chat);
}

TEST_F(LongBenchTest, OnlyAsManyAsAsked) {
  folder_.put("lcc.jsonl", std::string(kRecord) + "\nnot JSON\n");
  const auto samples = folder_.read("longbench", {"lcc"}, 1);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ(samples->size(), 1U);
  folder_.expect_refused("longbench", {"lcc"}, {"lcc.jsonl line 2: damaged JSON"});
}

TEST_F(LongBenchTest, DamagedRecordsAreNamed) {
  put_record("lcc", "x1", "x1");
  folder_.expect_refused("longbench", {}, {"lcc.jsonl line 3", "'x1' is on line 1 already"});
  put_record("lcc", "\"context\"", "\"Context\"");
  folder_.expect_refused("longbench", {}, {"lcc.jsonl line 3: key 'context': is missing"});
  put_record("lcc", "\"Why?\"", "7");
  folder_.expect_refused("longbench", {}, {"line 3: key 'input': got 7, expected text"});
  put_record("lcc", R"(["So", "No"])", "[]");
  folder_.expect_refused("longbench", {}, {"line 3: key 'answers': is empty"});
  put_record("lcc", R"("No")", "null");
  folder_.expect_refused("longbench", {}, {"line 3: key 'answers[1]': got null"});
  folder_.put("lcc.jsonl", "[1]\n");
  folder_.expect_refused("longbench", {}, {"lcc.jsonl line 1: got JSON that is array, expected an object"});
  folder_.put("lcc.jsonl", "\n \n");
  folder_.expect_refused("longbench", {}, {"lcc.jsonl: is empty"});
  folder_.put("trec.jsonl", std::string(kRecord));
  folder_.expect_refused("longbench", {"trec"}, {"trec.jsonl line 1: key 'all_classes': got null"});
}

TEST_F(LongBenchTest, PromptsAndLengthsAreChecked) {
  for (const char* task : {"qasper", "musique", "2wikimqa", "samsum", "narrativeqa"}) {
    folder_.put(std::string(task) + ".jsonl", std::string(kRecord));
  }
  folder_.expect_refused("longbench", {"qasper"}, {"dataset2prompt.json: key 'qasper': got '{length}'"});
  folder_.expect_refused("longbench", {"musique"}, {"key 'musique': got {context} 0 times"});
  folder_.expect_refused("longbench", {"2wikimqa"}, {"key '2wikimqa': got '{'"});
  folder_.expect_refused("longbench", {"samsum"}, {"dataset2prompt.json: key 'samsum': is missing"});
  folder_.put("config/dataset2prompt.json", R"({"narrativeqa": "{context}"})");
  folder_.expect_refused("longbench", {"narrativeqa"}, {"dataset2maxlen.json: key 'narrativeqa': got 0"});
  folder_.put("config/dataset2prompt.json", "[]");
  folder_.expect_refused("longbench", {}, {"dataset2prompt.json: got JSON that is array"});
  std::filesystem::remove(folder_.path() + "/config/dataset2prompt.json");
  folder_.expect_refused("longbench", {}, {"LongBench's prompts and answer lengths", "dataset2prompt.json"});
}

TEST_F(LongBenchTest, FilesThatAreNotThere) {
  folder_.expect_refused("longbench", {"vcsum"}, {"task vcsum", "vcsum.jsonl"});
  std::filesystem::remove(folder_.path() + "/hotpotqa.jsonl");
  folder_.expect_refused("longbench", {}, {"no file of longbench in folder", "TASK.jsonl", "repobench-p"});
  std::filesystem::remove_all(folder_.path());
  folder_.expect_refused("longbench", {}, {"no folder " + folder_.path()});
  EXPECT_FALSE(read_suite("longbench", {}).ok());
}

TEST(LongBench, OfficialFiles) {
  const std::string path = test::data_path("longbench");
  RKV_NEED_FILE(path, "data/longbench");
  SuiteOptions options;
  options.data_dir = path;
  options.tasks = {"multi_news", "passage_retrieval_zh"};
  if (Jieba::installed().ok()) options.tasks.emplace_back("multifieldqa_zh");
  const auto samples = read_suite("longbench", options);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  std::map<std::string, int> n_sample;
  for (const EvalSample& sample : *samples) {
    ++n_sample[sample.task];
    EXPECT_EQ(sample.prompt().find("{context}"), std::string::npos);
    const auto own = score_answer(sample, sample.answers.front());
    ASSERT_TRUE(own.ok()) << own.status().message();
    EXPECT_NEAR(*own, 1, 1e-6) << sample.id;
  }
  EXPECT_EQ(n_sample["multi_news"], 80);
  EXPECT_EQ(n_sample["passage_retrieval_zh"], 40);
  const EvalSample& news = *std::find_if(samples->begin(), samples->end(),
                                         [](const EvalSample& sample) { return sample.task == "multi_news"; });
  EXPECT_EQ(news.n_answer_max, 512);
  EXPECT_EQ(news.question, "\n\nNow, write a one-page summary of all the news.\n\nSummary:");
}

}  // namespace
}  // namespace ripplekv
