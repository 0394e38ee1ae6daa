// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The suites' files of samples. What is accepted is text with an answer, scored between 0 and 1 on its own document.
#include <array>
#include <filesystem>

#include "base/utf8.h"
#include "eval/suite.h"
#include "targets.h"

namespace ripplekv::fuzz {
namespace {

struct Kind {
  std::string_view suite, task;
};
constexpr std::array kKinds = {Kind{"longbench", "hotpotqa"}, Kind{"longbench", "trec"}, Kind{"longbench", "lcc"},
                               Kind{"longbench", "samsum"},   Kind{"ruler", "vt"},       Kind{"ruler", "qa_1"},
                               Kind{"leval", "quality"}};
constexpr size_t kScoredMax = 4096;  // bytes: scoring takes the product of two lengths

// The folder of the file; LongBench's prompts are put beside it once.
std::string folder_with(std::string_view task, std::string_view bytes) {
  const std::filesystem::path folder =
      std::filesystem::path(put_file(std::string(task) + ".jsonl", bytes)).parent_path();
  static const bool has_config = [&] {
    std::filesystem::create_directory(folder / "config");
    put_file("config/dataset2prompt.json", R"({"hotpotqa": "{context} {input}", "trec": "{context}{input}",
                                              "lcc": "{context}", "samsum": "{context}{input}"})");
    put_file("config/dataset2maxlen.json", R"({"hotpotqa": 32, "trec": 64, "lcc": 64, "samsum": 128})");
    return true;
  }();
  RKV_CHECK(has_config);
  return folder.string();
}

}  // namespace

int fuzz_samples(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Kind& kind = kKinds[data[0] % kKinds.size()];
  SuiteOptions options;
  options.data_dir = folder_with(kind.task, text_of(data + 1, size - 1));
  options.tasks = {std::string(kind.task)};
  options.n_samples = data[0] / kKinds.size();
  const auto samples = read_suite(kind.suite, options);
  expect_sentence(samples.status());
  if (!samples.ok()) return 0;
  RKV_CHECK(!samples->empty());
  for (const EvalSample& sample : *samples) {
    RKV_CHECK(valid_utf8(sample.document) && valid_utf8(sample.question) && !sample.answers.empty());
    RKV_CHECK(sample.n_answer_max > 0);
    if (sample.document.size() > kScoredMax || sample.answers.front().size() > kScoredMax) continue;
    const auto score = score_answer(sample, sample.document);
    expect_sentence(score.status());
    RKV_CHECK(!score.ok() || (*score >= 0 && *score <= 1));
  }
  return 0;
}

std::vector<std::string> samples_seeds() {
  const std::string long_bench =
      R"({"_id": "a1", "context": "Some t\u00e9xt.", "input": "Why?", "answers": ["So", "No"], "all_classes": ["So", "No"]})";
  const std::string ruler = R"({"index": 3, "input": "Text\nQuestion: 5?", "outputs": ["A", "B"], "length": 512})";
  const std::string l_eval = R"({"input": "Text", "instructions": ["A or B?", "Q2"], "outputs": ["B", "It is."]})";
  std::vector<std::string> seeds;
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const std::string_view suite = kKinds[i].suite;
    const std::string& record = suite == "longbench" ? long_bench : suite == "ruler" ? ruler : l_eval;
    seeds.push_back(std::string(1, static_cast<char>(i)) + record + "\n");
  }
  return seeds;
}

}  // namespace ripplekv::fuzz
