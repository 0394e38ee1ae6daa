// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Generation on a tiny model: what ends it, what reaches the callback, and that seeds decide it.
#include "engine/generate.h"

#include <gguf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "engine/tiny_engine.h"
#include "model/vocab.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class GenerateTest : public test::TinyEngineTest {
 protected:
  // Most tokens are words, few are single bytes.
  void load_words(const std::function<void(gguf_context*)>& edit) {
    test::TinyGguf tiny = tiny_model();
    tiny.n_vocab = 3000;
    tiny.edit = edit;
    model_ = load(test::tiny_gguf(tiny));
    engine_ = make_engine(512);
  }
  GenerateOptions greedy(int64_t n_predict) const {
    GenerateOptions options;
    options.sampling.n_vocab = config().n_vocab;
    options.sampling.temperature = 0;
    options.n_predict = n_predict;
    options.n_ctx = 4096;
    return options;
  }
  GenerateOptions warm(int64_t n_predict, uint32_t seed) const {
    GenerateOptions options = greedy(n_predict);
    options.sampling.temperature = 1.5;
    options.sampling.seed = seed;
    return options;
  }
  // From a fresh prefill of the same prompt. `shown` is what the callback got.
  Generated generate_from_prompt(const GenerateOptions& options) {
    Sequence sequence = prefill(*engine_, prompt_, plan_full(config(), 20, kF32Cache));
    shown_.clear();
    const auto generated =
        generate(*engine_, sequence, prompt_, options, [&](std::string_view text) { shown_ += text; });
    EXPECT_TRUE(generated.ok()) << generated.status().message();
    n_pos_ = sequence.cache.n_pos();
    return *generated;
  }
  void SetUp() override {
    load_words([](gguf_context*) {});
    prompt_ = tokens(20);
  }

  std::vector<int32_t> prompt_;
  std::string shown_;
  int64_t n_pos_ = 0;
};

TEST_F(GenerateTest, StopsAtTheLimit) {
  for (const int64_t n : {0, 1, 2, 17}) {
    const Generated generated = generate_from_prompt(greedy(n));
    EXPECT_EQ(static_cast<int64_t>(generated.ids.size()), n);
    EXPECT_EQ(generated.stopped_by, "limit");
    EXPECT_EQ(generated.n_decoded, std::max<int64_t>(0, n - 1)) << "the last token need not go through the model";
    EXPECT_EQ(n_pos_, 20 + generated.n_decoded);
    EXPECT_EQ(shown_, generated.text);
    EXPECT_EQ(generated.text.empty(), n == 0);
  }
}

TEST_F(GenerateTest, GreedyTakesTheLikeliestTokenEachTime) {
  const Generated generated = generate_from_prompt(greedy(12));
  EXPECT_EQ(generate_from_prompt(greedy(12)).ids, generated.ids);
  Sequence sequence = prefill(*engine_, prompt_, plan_full(config(), 20, kF32Cache));
  for (int32_t id : generated.ids) {
    EXPECT_EQ(id, test::argmax(sequence.logits));
    decode(sequence, id);
  }
}

TEST_F(GenerateTest, SeedsDecide) {
  const Generated first = generate_from_prompt(warm(24, 7));
  EXPECT_EQ(generate_from_prompt(warm(24, 7)).ids, first.ids);
  EXPECT_NE(generate_from_prompt(warm(24, 8)).ids, first.ids);
  // libllama takes this one as "draw a seed"; a seed that was asked for is a seed.
  EXPECT_EQ(generate_from_prompt(warm(24, UINT32_MAX)).ids, generate_from_prompt(warm(24, UINT32_MAX)).ids);
}

TEST_F(GenerateTest, TopKOfOneIsGreedy) {
  GenerateOptions options = warm(12, 3);
  options.sampling.top_k = 1;
  EXPECT_EQ(generate_from_prompt(options).ids, generate_from_prompt(greedy(12)).ids);
}

TEST_F(GenerateTest, ARepetitionPenaltyKnowsThePromptAndTheAnswer) {
  GenerateOptions options = greedy(40);
  options.sampling.repeat_penalty = 1e6;
  options.sampling.repeat_last_n = -1;
  const Generated generated = generate_from_prompt(options);
  std::set<int32_t> seen(prompt_.begin(), prompt_.end());
  for (int32_t id : generated.ids) EXPECT_TRUE(seen.insert(id).second) << "token " << id << " came again";
}

TEST_F(GenerateTest, StopsAtTheContextLimit) {
  GenerateOptions options = greedy(-1);
  options.n_ctx = 25;
  const Generated generated = generate_from_prompt(options);
  EXPECT_EQ(generated.stopped_by, "context");
  EXPECT_EQ(n_pos_, 25);
  EXPECT_EQ(generated.ids.size(), 6U) << "five tokens of room, and one more that needs none";
}

// A model whose end token is one that it says.
TEST_F(GenerateTest, StopsAtTheEndToken) {
  const Generated before = generate_from_prompt(greedy(20));
  size_t at = 3;
  while (std::find(before.ids.begin(), before.ids.begin() + static_cast<ptrdiff_t>(at), before.ids[at]) !=
         before.ids.begin() + static_cast<ptrdiff_t>(at)) {
    ASSERT_LT(++at, before.ids.size());
  }
  load_words([&](gguf_context* gguf) {
    gguf_set_val_u32(gguf, "tokenizer.ggml.eos_token_id", static_cast<uint32_t>(before.ids[at]));
  });
  const Generated generated = generate_from_prompt(greedy(20));
  EXPECT_EQ(generated.stopped_by, "end");
  EXPECT_EQ(generated.ids,
            std::vector<int32_t>(before.ids.begin(), before.ids.begin() + static_cast<ptrdiff_t>(at) + 1));
  EXPECT_EQ(n_pos_, 20 + static_cast<int64_t>(at));
  EXPECT_EQ(before.text.rfind(generated.text, 0), 0U) << "the end token has no text";
  EXPECT_LT(generated.text.size(), before.text.size());
}

TEST_F(GenerateTest, StopsAtAStopStringAndShowsNothingOfIt) {
  const Generated whole = generate_from_prompt(greedy(30));
  // From the middle of the text, within a word and across words.
  const size_t begin = whole.text.find("word", 40) + 2;
  ASSERT_LT(begin + 12, whole.text.size());
  for (const size_t length : {size_t{1}, size_t{4}, size_t{9}, size_t{12}}) {
    GenerateOptions options = greedy(30);
    const std::string stop = whole.text.substr(begin, length);
    ASSERT_TRUE(std::ranges::all_of(stop, [](char c) { return c >= ' ' && c <= '~'; })) << stop;
    options.stop = {"never said", stop};
    const Generated generated = generate_from_prompt(options);
    EXPECT_EQ(generated.stopped_by, "stop string");
    EXPECT_EQ(generated.text, whole.text.substr(0, whole.text.find(stop)));
    EXPECT_EQ(shown_, generated.text);
    EXPECT_LE(generated.ids.size(), whole.ids.size());
  }
  GenerateOptions options = greedy(30);
  options.stop = {"never said"};
  EXPECT_EQ(generate_from_prompt(options).text, whole.text);
  options.stop = {""};
  Sequence sequence = prefill(*engine_, prompt_, plan_full(config(), 20, kF32Cache));
  EXPECT_EQ(generate(*engine_, sequence, prompt_, options, nullptr).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(GenerateTest, TheTextIsValidUtf8WhateverTheBytes) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    GenerateOptions options = warm(40, seed);
    options.sampling.temperature = 50;  // any token, most of them single bytes
    options.sampling.top_k = 0, options.sampling.top_p = 1, options.sampling.min_p = 0;
    const Generated generated = generate_from_prompt(options);
    EXPECT_EQ(shown_, generated.text);
    EXPECT_TRUE(valid_utf8(generated.text));
  }
}

TEST_F(GenerateTest, CancelledInTheMiddle) {
  std::atomic<bool> cancel = false;
  engine_->set_cancel(&cancel);
  Sequence sequence = prefill(*engine_, prompt_, plan_full(config(), 20, kF32Cache));
  std::string shown;
  const auto generated = generate(*engine_, sequence, prompt_, greedy(500), [&](std::string_view text) {
    shown += text;
    cancel = shown.size() >= 10;
  });
  EXPECT_EQ(generated.status().code(), StatusCode::kCancelled);
  EXPECT_GE(shown.size(), 10U);
  EXPECT_LT(sequence.cache.n_pos(), 100);
  engine_->set_cancel(nullptr);
}

}  // namespace
}  // namespace ripplekv
