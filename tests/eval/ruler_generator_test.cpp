// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Generated samples: every task at several lengths has its answers in the document, as often as the task says, and
// fills the length; the same options give the same samples.
#include "eval/ruler_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace ripplekv {
namespace {

int64_t count_tokens(std::string_view text) { return static_cast<int64_t>(text.size() + 3) / 4; }

SuiteOptions options_of(std::vector<int64_t> lengths, std::vector<std::string> tasks = {}) {
  SuiteOptions options;
  options.lengths = std::move(lengths);
  options.tasks = std::move(tasks);
  options.count_tokens = count_tokens;
  return options;
}

std::vector<EvalSample> make(std::string_view suite, const SuiteOptions& options) {
  auto samples = read_suite(suite, options);
  EXPECT_TRUE(samples.ok()) << samples.status().message();
  return samples.ok() ? *std::move(samples) : std::vector<EvalSample>();
}

size_t n_times(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

TEST(RulerGenerator, EveryTaskAtEveryLength) {
  SuiteOptions options = options_of({1024, 4096, 30000});
  options.n_samples = 2;
  const auto samples = make("ruler", options);
  EXPECT_EQ(samples.size(), 11U * 3 * 2);  // all but qa_1 and qa_2
  std::set<std::string> ids;
  for (const EvalSample& sample : samples) {
    EXPECT_TRUE(ids.insert(sample.task + " " + sample.id).second);
    const int64_t n = count_tokens(sample.prompt()) + sample.n_answer_max;
    EXPECT_LE(n, sample.length) << sample.task;
    EXPECT_GE(n, sample.length * 9 / 10) << sample.task;  // 1%, or a unit: at 1024 tokens, one sentence of 60
    std::string answer;
    for (const std::string& wanted : sample.answers) {
      answer += wanted + " ";
      EXPECT_NE(sample.document.find(wanted), std::string::npos) << sample.task;
      EXPECT_EQ(sample.question.find(wanted), std::string::npos) << sample.task;
    }
    EXPECT_EQ(*score_answer(sample, answer), 1);
    EXPECT_EQ(*score_answer(sample, sample.question), 0) << sample.task;
    EXPECT_EQ(sample.question.substr(0, 1), "\n");
  }
}

TEST(RulerGenerator, NumbersOfKeysAndValues) {
  const std::map<std::string, std::pair<size_t, size_t>> expected = {
      // task: needles in the text, answers; 0: the text is all needles
      {"niah_single_1", {1, 1}},   {"niah_single_2", {1, 1}},   {"niah_single_3", {1, 1}},
      {"niah_multikey_1", {4, 1}}, {"niah_multikey_2", {0, 1}}, {"niah_multikey_3", {0, 1}},
      {"niah_multivalue", {4, 4}}, {"niah_multiquery", {4, 4}}};
  for (const auto& [task, numbers] : expected) {
    const auto samples = make("ruler", options_of({2048}, {task}));
    ASSERT_EQ(samples.size(), 1U);
    const EvalSample& sample = samples.front();
    const size_t n_needle = n_times(sample.document, "The secret ");
    EXPECT_EQ(sample.answers.size(), numbers.second) << task;
    if (numbers.first == 0) {
      const std::string lines = sample.document.substr(sample.document.find("\n\n") + 1);
      EXPECT_EQ(n_needle, n_times(lines, "\n")) << task;
    } else {
      EXPECT_EQ(n_needle, numbers.first) << task;
    }
    for (const std::string& answer : sample.answers) EXPECT_EQ(n_times(sample.document, answer), 1U) << task;
  }
}

TEST(RulerGenerator, VariablesFollowFromTheValue) {
  const auto samples = make("ruler", options_of({4096}, {"vt"}));
  ASSERT_EQ(samples.size(), 1U);
  const EvalSample& sample = samples.front();
  ASSERT_EQ(sample.answers.size(), 5U);
  size_t at = 0;
  for (size_t i = 0; i < sample.answers.size(); ++i) {
    const std::string set = "VAR " + sample.answers[i] + " = ";
    const size_t found = sample.document.find(set);
    ASSERT_NE(found, std::string::npos);
    EXPECT_GT(found, at);  // in the order they follow from one another
    at = found;
    const std::string value = sample.document.substr(found + set.size(), 9);
    if (i == 0) {
      EXPECT_NE(sample.question.find("hold the value " + value.substr(0, 5)), std::string::npos);
    } else {
      EXPECT_EQ(value, "VAR " + sample.answers[i - 1]);
    }
  }
}

TEST(RulerGenerator, CommonWordsAreTheMostCommon) {
  for (const auto& [length, n_common, n_uncommon] : {std::tuple(2048, 6, 1), std::tuple(8192, 30, 3)}) {
    const auto samples = make("ruler", options_of({length}, {"cwe"}));
    ASSERT_EQ(samples.size(), 1U);
    const EvalSample& sample = samples.front();
    const std::string list = sample.document.substr(sample.document.rfind("\n\n"));
    std::map<std::string, int> n_of;
    std::istringstream words(list);
    for (std::string number, word; words >> number >> word;) ++n_of[word];
    EXPECT_GT(n_of.size(), 20U);
    for (const auto& [word, n] : n_of) {
      const bool is_common = std::count(sample.answers.begin(), sample.answers.end(), word) > 0;
      EXPECT_EQ(n, is_common ? n_common : n_uncommon) << word;
    }
    EXPECT_EQ(sample.answers.size(), 10U);
  }
}

TEST(RulerGenerator, FrequentWordsAreTheThreeBehindTheDots) {
  for (const int64_t length : {300, 1024, 16384}) {
    const auto samples = make("ruler", options_of({length}, {"fwe"}));
    ASSERT_EQ(samples.size(), 1U);
    const EvalSample& sample = samples.front();
    std::istringstream words(sample.document.substr(sample.document.find("\n\n")));
    std::map<std::string, int> n_of;
    for (std::string word; words >> word;) ++n_of[word];
    ASSERT_EQ(sample.answers.size(), 3U);
    EXPECT_GT(n_of["..."], n_of[sample.answers[0]]);
    EXPECT_GT(n_of[sample.answers[0]], n_of[sample.answers[1]]);
    EXPECT_GT(n_of[sample.answers[1]], n_of[sample.answers[2]]);
    for (const auto& [word, n] : n_of) {
      if (word != "..." && std::count(sample.answers.begin(), sample.answers.end(), word) == 0) {
        EXPECT_LT(n, n_of[sample.answers[2]]) << word;
      }
    }
  }
}

TEST(RulerGenerator, TheSeedDecides) {
  SuiteOptions options = options_of({1024}, {"niah_single_2", "cwe"});
  options.n_samples = 3;
  const auto first = make("ruler", options);
  const auto again = make("ruler", options);
  ASSERT_EQ(first.size(), 6U);
  std::set<std::string> prompts;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].prompt(), again[i].prompt());
    prompts.insert(first[i].prompt());
  }
  EXPECT_EQ(prompts.size(), 6U);
  options.n_samples = 1;  // a sample does not depend on how many there are
  EXPECT_EQ(make("ruler", options)[1].prompt(), first[3].prompt());
  options.seed = 2;
  EXPECT_NE(make("ruler", options)[0].prompt(), first[0].prompt());
}

TEST(RulerGenerator, WhatCannotBe) {
  const auto refused = [](const SuiteOptions& options, const std::string& part) {
    const auto samples = read_suite("ruler", options);
    ASSERT_FALSE(samples.ok());
    EXPECT_NE(samples.status().message().find(part), std::string::npos) << samples.status().message();
  };
  refused(options_of({}), "no lengths");
  refused(options_of({0}), "got 0, expected 1 to");
  refused(options_of({200}, {"niah_single_1"}), "niah_single_1 at length 200, 128 of it for the answer: too short");
  refused(options_of({4096}, {"qa_1"}), "its questions are not generated");
}

TEST(Needle, AGridMovesOneNeedleThroughOneText) {
  SuiteOptions options = options_of({1024, 2048});
  options.depths = {0, 0.5, 1};
  const auto samples = make("needle", options);
  ASSERT_EQ(samples.size(), 6U);
  for (size_t i = 0; i < samples.size(); ++i) {
    const EvalSample& sample = samples[i];
    EXPECT_EQ(sample.length, i < 3 ? 1024 : 2048);
    EXPECT_EQ(sample.depth, options.depths[i % 3]);
    EXPECT_EQ(sample.answers, samples[i - i % 3].answers);
    EXPECT_EQ(sample.question, samples[i - i % 3].question);
    const auto at = static_cast<double>(sample.document.find(sample.answers.front()));
    EXPECT_NEAR(at / static_cast<double>(sample.document.size()), sample.depth, 0.1);
  }
  options.depths = {1.5};
  EXPECT_FALSE(read_suite("needle", options).ok());
  options.depths = {};
  EXPECT_FALSE(read_suite("needle", options).ok());
}

}  // namespace
}  // namespace ripplekv
