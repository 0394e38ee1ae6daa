// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The tables of the suites, and what follows from them: scoring, grouping, cutting.
#include "eval/suite.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "eval/metrics.h"

namespace ripplekv {
namespace {

const SuiteInfo& suite(std::string_view name) {
  const auto found = find_suite(name);
  EXPECT_TRUE(found.ok());
  return **found;
}

EvalSample sample(std::string_view suite_name, std::string_view task_name, std::vector<std::string> answers) {
  EvalSample made;
  for (const TaskInfo& task : suite(suite_name).tasks) {
    if (task.name != task_name) continue;
    made.suite = suite_name;
    made.task = task_name;
    made.metric = task.metric;
  }
  EXPECT_FALSE(made.suite.empty());
  made.answers = std::move(answers);
  return made;
}

double score(const EvalSample& of, std::string_view prediction) {
  const auto value = score_answer(of, prediction);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : -1;
}

TEST(Suites, TheTablesAreWhole) {
  std::set<std::string_view> metrics;
  for (const MetricInfo& metric : metric_registry()) metrics.insert(metric.name);
  for (const SuiteInfo& info : suite_registry()) {
    std::set<std::string_view> names;
    std::vector<std::string_view> groups;
    for (const TaskInfo& task : info.tasks) {
      EXPECT_TRUE(names.insert(task.name).second) << task.name;
      EXPECT_TRUE(metrics.contains(task.metric)) << task.name;
      EXPECT_EQ(task.n_answer_max == 0, info.name == "longbench") << task.name;
      if (groups.empty() || groups.back() != task.group) groups.push_back(task.group);
    }
    EXPECT_EQ(std::set<std::string_view>(groups.begin(), groups.end()).size(), groups.size()) << "groups apart";
  }
  EXPECT_EQ(suite("longbench").tasks.size(), 21U);
  EXPECT_EQ(suite("ruler").tasks.size(), 13U);
  const auto none = find_suite("longbunch");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(), "unknown suite: got 'longbunch', expected longbench, ruler, leval, needle");
}

TEST(Suites, UnknownTasksAreRefusedWithAllThereAre) {
  const auto samples = read_suite("ruler", {.tasks = {"niah_singel_1"}});
  ASSERT_FALSE(samples.ok());
  EXPECT_NE(samples.status().message().find("did you mean niah_single_1?"), std::string::npos);
  EXPECT_NE(samples.status().message().find("cwe, fwe, qa_1, qa_2"), std::string::npos);
  EXPECT_FALSE(read_suite("ruler", {.n_samples = -1}).ok());
}

TEST(Suites, TheBestAnswerCounts) {
  const EvalSample hotpot = sample("longbench", "hotpotqa", {"a red door", "green gate"});
  EXPECT_EQ(score(hotpot, "The green gate"), 1);
  EXPECT_EQ(score(hotpot, "wall"), 0);
  EXPECT_EQ(score(sample("ruler", "qa_1", {"x-1", "y-2"}), "It is Y-2"), 1);
}

TEST(Suites, RulerWantsEveryAnswer) {
  const EvalSample many = sample("ruler", "niah_multivalue", {"11", "22", "33", "44"});
  EXPECT_EQ(score(many, "22, 44 and 33"), 0.75);
  EXPECT_EQ(score(many, ""), 0);
}

TEST(Suites, FewShotAnswersAreTheirFirstLine) {
  EvalSample trec = sample("longbench", "trec", {"Date"});
  trec.classes = {"Date", "City"};
  EXPECT_EQ(score(trec, "\n\nDate\nQuestion: more\nType: City"), 1);
  EXPECT_EQ(score(trec, "City\nDate"), 0);
  const EvalSample samsum = sample("longbench", "samsum", {"Ann will call."});
  EXPECT_NEAR(score(samsum, "Ann will call.\nDialogue: much else"), 1, 1e-8);
  // Other tasks are scored on all they say.
  EXPECT_LT(score(sample("longbench", "gov_report", {"Ann will call."}), "Ann will call.\nDialogue: much else"), 0.9);
}

TEST(Suites, AnErrorNamesTheSample) {
  EvalSample retrieval = sample("longbench", "passage_retrieval_en", {"third"});
  retrieval.id = "7";
  const auto value = score_answer(retrieval, "3");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().message().find("longbench passage_retrieval_en 7: "), 0U);
  retrieval.answers.clear();
  EXPECT_FALSE(score_answer(retrieval, "3").ok());
}

TEST(Suites, LongBenchAveragesItsGroups) {
  // The averages of two models in LongBench's published English table, from its scores by task.
  const std::map<std::string, double> scores = {{"narrativeqa", 23.6},
                                                {"qasper", 43.3},
                                                {"multifieldqa_en", 52.3},
                                                {"hotpotqa", 51.6},
                                                {"2wikimqa", 37.7},
                                                {"musique", 26.9},
                                                {"gov_report", 29.5},
                                                {"qmsum", 23.4},
                                                {"multi_news", 26.7},
                                                {"trec", 68.0},
                                                {"triviaqa", 91.4},
                                                {"samsum", 41.7},
                                                {"passage_count", 4.5},
                                                {"passage_retrieval_en", 71.0},
                                                {"lcc", 54.7},
                                                {"repobench-p", 53.6}};
  const auto groups = group_scores(suite("longbench"), scores);
  ASSERT_EQ(groups.size(), 7U);
  const std::vector<double> published = {39.8, 38.7, 26.5, 67.1, 37.8, 54.1, 44.0};
  for (size_t i = 0; i < groups.size(); ++i) EXPECT_NEAR(groups[i].score, published[i], 0.1) << groups[i].group;
  EXPECT_EQ(groups.front().group, "single-document QA");
  EXPECT_EQ(groups.front().n_task, 3);
  EXPECT_EQ(groups.back().group, "average");
  EXPECT_EQ(groups.back().n_task, 16);
}

TEST(Suites, RulerAveragesItsTasks) {
  const auto groups = group_scores(suite("ruler"), {{"niah_single_1", 1.0}, {"niah_single_2", 1.0}, {"vt", 0.25}});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].score, 1);
  EXPECT_EQ(groups[1].score, 0.25);
  EXPECT_EQ(groups[2].score, 0.75);
  EXPECT_TRUE(group_scores(suite("ruler"), {}).empty());
}

TEST(TruncateMiddle, KeepsBothEnds) {
  std::vector<int32_t> ids(10);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_EQ(truncate_middle(ids, 10), ids);
  EXPECT_EQ(truncate_middle(ids, 4), std::vector<int32_t>({0, 1, 8, 9}));
  EXPECT_EQ(truncate_middle(ids, 5), std::vector<int32_t>({0, 1, 8, 9}));  // one less, as published
  EXPECT_EQ(truncate_middle(ids, 2), std::vector<int32_t>({0, 9}));
}

}  // namespace
}  // namespace ripplekv
