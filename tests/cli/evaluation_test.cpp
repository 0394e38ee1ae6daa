// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What a results file is held against when it is gone on with.
#include "cli/evaluation.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace ripplekv {
namespace {

TEST(Evaluation, SourcesTellWhateverChangesAMeasurement) {
  const Sources sources({{"snapkv", {}, nullptr}});
  const EvalSample sample = {.task = "t",
                             .id = "1",
                             .document = "ab",
                             .question = "c",
                             .answers = {"d"},
                             .classes = {"d", "e"},
                             .metric = "classification",
                             .n_answer_max = 8};
  std::set<std::string> all = {sources.of(sample, "snapkv")};
  const std::vector<std::function<void(EvalSample&)>> changes = {
      [](EvalSample& of) { of.document = "a", of.question = "bc"; },
      [](EvalSample& of) { of.question = "C"; },
      [](EvalSample& of) { of.answers = {"D"}; },
      [](EvalSample& of) {
        of.answers = {"d", "d"};
      },
      [](EvalSample& of) { of.classes = {"d"}; },
      [](EvalSample& of) {
        of.answers = {"d", "d"}, of.classes = {"e"};
      },
      [](EvalSample& of) { of.questions_beside = {"c"}; },
      [](EvalSample& of) { of.metric = "qa_f1"; },
      [](EvalSample& of) { of.n_answer_max = 64; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    EvalSample changed = sample;
    changes[i](changed);
    EXPECT_TRUE(all.insert(sources.of(changed, "snapkv")).second) << i;
  }
  EvalSample renamed = sample;
  renamed.id = "2";
  EXPECT_TRUE(all.contains(sources.of(renamed, "snapkv"))) << "the line has its name";
}

}  // namespace
}  // namespace ripplekv
