// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What `eval --generate` has the full cache say, against llama.cpp's own greedy generation on the same LongBench
// prompts. F32 weights and rows on both sides: with native few-bit weights rounding alone may decide between two nearly
// tied tokens, and libllama differs as much from itself between two chunk sizes.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "engine/prompt.h"
#include "eval/prompts.h"
#include "eval/runner.h"
#include "model/vocab.h"
#include "test_util/oracle.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

constexpr int kAnswer = 20;
constexpr int64_t kPrompt = 192;  // tokens: longer ones lose their middle, as the suite says

TEST(LongBenchModelTest, TheFullCacheSaysWhatLlamaCppSays) {
  RKV_NEED_FILE(test::model_path(), "the default model");
  const std::string file = test::data_path("longbench/multi_news.jsonl");
  RKV_NEED_FILE(file, "LongBench's data");
  const test::QuietLog quiet;
  const std::string f32 = test::temp_dir() + "/f32.gguf";
  ASSERT_TRUE(test::write_f32_gguf(test::model_path(), f32));
  const auto loaded = Model::load(test::model_path(), {.weights = WeightsMode::kF32});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Model& model = **loaded;
  auto engine = Engine::create(*loaded, {.n_threads = 2});
  ASSERT_TRUE(engine.ok());
  test::Oracle oracle(f32, {.f32_cache = true, .n_ctx = kPrompt + kAnswer});
  ASSERT_TRUE(oracle.ok());
  const auto chat = model_chat_template(model);
  ASSERT_TRUE(chat.ok()) << chat.status().message();

  SuiteOptions suite;
  suite.data_dir = file.substr(0, file.rfind('/'));
  suite.tasks = {"multi_news", "passage_retrieval_zh"};
  suite.n_samples = 3;
  const auto samples = read_suite("longbench", suite);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_GE(samples->size(), 5U);
  for (const EvalSample& sample : std::span(*samples).first(5)) {
    SCOPED_TRACE(sample.task + " " + sample.id);
    const auto prompt = tokenize_prompt(model, &*chat, sample, kPrompt);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_GT(prompt->ids.size(), 150U);
    RunnerOptions options;
    options.policies = {{"full", {}, nullptr}};
    options.policies[0].policy.allocator = "full";
    options.n_answer = 2;
    options.n_generate = kAnswer;
    options.full_format = {KvType::kF32, KvType::kF32};
    const auto result = run_prompt(**engine, prompt->ids, options, nullptr);
    ASSERT_TRUE(result.ok()) << result.status().message();

    // Libllama reads the same text with its own tokenizer and goes on by itself.
    EXPECT_EQ(oracle.tokenize(model.vocab().text(prompt->ids, /*special=*/true), /*parse_special=*/true), prompt->ids);
    std::vector<int32_t> ids;
    std::vector<float> logits = oracle.logits(prompt->ids).back();
    while (ids.size() < kAnswer) {
      ids.push_back(test::argmax(logits));
      if (model.vocab().is_end(ids.back()) || ids.size() == kAnswer) break;
      logits = oracle.more_logits(std::span(ids).last(1)).back();
    }
    // The last token may end within a character.
    const std::string bytes = model.vocab().text(ids, /*special=*/false);
    std::string text;
    if (append_utf8(bytes, text) < bytes.size()) text += "\xEF\xBF\xBD";
    EXPECT_EQ(result->results[0].answer, text);
    EXPECT_EQ(result->full_answer, ids);
  }
}

}  // namespace
}  // namespace ripplekv
