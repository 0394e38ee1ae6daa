// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// RULER's files: where the document ends, both layouts of the folder, records that are damaged.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "eval/suite_folder.h"

namespace ripplekv {
namespace {

std::string record(int index, const std::string& input, const std::string& prefix = "") {
  nlohmann::json json = {{"index", index}, {"input", input}, {"outputs", {"12"}}, {"length", 99}};
  if (!prefix.empty()) json["answer_prefix"] = prefix;
  return json.dump() + "\n";
}

EvalSample only(const test::SuiteFolder& folder, const std::string& task) {
  const auto samples = folder.read("ruler", {task});
  EXPECT_TRUE(samples.ok()) << samples.status().message();
  return samples.ok() && samples->size() == 1 ? samples->front() : EvalSample();
}

TEST(Ruler, TheQuestionBeginsBehindTheDocument) {
  const test::SuiteFolder folder;
  folder.put("niah_single_1.jsonl", record(4, "Remember.\nWhat a day.\nWhat is the number? The number is"));
  const EvalSample niah = only(folder, "niah_single_1");
  EXPECT_EQ(niah.document, "Remember.\nWhat a day.");
  EXPECT_EQ(niah.question, "\nWhat is the number? The number is");
  EXPECT_EQ(niah.id, "4");
  EXPECT_EQ(niah.length, 99);
  EXPECT_EQ(niah.n_answer_max, 128);
  EXPECT_FALSE(niah.chat);

  folder.put("vt/validation.jsonl",
             record(0, "Example\nQuestion: one? Answer: x\nText\nQuestion: two?", " Answer: they are"));
  const EvalSample vt = only(folder, "vt");
  EXPECT_EQ(vt.document, "Example\nQuestion: one? Answer: x\nText");
  EXPECT_EQ(vt.question, "\nQuestion: two? Answer: they are");

  const std::string order = "Answer the question from the documents.";
  folder.put("qa_1.jsonl", record(0, order + "\n\nDocuments\n\n" + order + "\n\nQuestion: Who? Answer:"));
  EXPECT_EQ(only(folder, "qa_1").document, order + "\n\nDocuments");

  folder.put("cwe.jsonl", record(0, "Words of another kind\nWhich?"));
  EXPECT_EQ(only(folder, "cwe").question, "\nWhich?");
  folder.put("fwe.jsonl", record(0, "one line"));
  EXPECT_EQ(only(folder, "fwe").document, "one line");
}

TEST(Ruler, DamagedRecordsAreNamed) {
  const test::SuiteFolder folder;
  folder.put("vt.jsonl", record(0, "a\nb") + record(0, "c\nd"));
  folder.expect_refused("ruler", {}, {"vt.jsonl line 2", "'0' is on line 1 already"});
  folder.put("vt.jsonl", record(-1, "a\nb"));
  folder.expect_refused("ruler", {}, {"vt.jsonl line 1: key 'index': got -1"});
  folder.put("vt.jsonl", record(0, ""));
  folder.expect_refused("ruler", {}, {"key 'input': is empty"});
  folder.put("vt.jsonl", R"({"index": 0, "input": "a", "outputs": [1], "length": 5})");
  folder.expect_refused("ruler", {}, {"key 'outputs[0]': got 1, expected text"});
}

TEST(Ruler, OfficialFile) {
  const std::string path = test::data_path("ruler");
  RKV_NEED_FILE(path, "data/ruler");
  SuiteOptions options;
  options.data_dir = path;
  const auto samples = read_suite("ruler", options);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ(samples->size(), 60U);
  for (const EvalSample& sample : *samples) {
    EXPECT_EQ(sample.question.find("\nWhat is the special magic uuid for "), 0U);
    EXPECT_NE(sample.document.find(sample.answers.front()), std::string::npos);
  }
}

}  // namespace
}  // namespace ripplekv
