// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The runner on a tiny model: every number is what a prefill, an extension, a decode and a trace of their own give.
#include "eval/runner.h"

#include <gguf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/generate.h"
#include "engine/tiny_engine.h"
#include "engine/trace.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class RunnerTest : public test::TinyEngineTest {
 protected:
  EvalPolicy named(const std::string& name, const std::string& selector, const std::string& allocator) {
    EvalPolicy eval{name, policy(selector, allocator, 1), &profile_};
    eval.policy.kv_format = kF32Cache;
    return eval;
  }
  RunnerOptions options() {
    RunnerOptions options;
    options.policies = {named("full", "", "full"), named("a", "snapkv", "uniform"), named("b", "snapkv", "ripple"),
                        named("c", "h2o", "uniform"), named("d", "streaming_llm", "pyramid")};
    options.kept = {0.3, 0.5};
    options.n_answer = 9;
    options.full_format = kF32Cache;
    return options;
  }
  void SetUp() override {
    TinyEngineTest::SetUp();
    profile_ = profile();
  }
  Profile profile_;
};

// A cache that keeps every row agrees on every token, however many: a share that is summed up would fall short of 1.
TEST_F(RunnerTest, AgreementOnAllTokensIsOne) {
  RunnerOptions options = this->options();
  options.policies = {named("a", "snapkv", "uniform")};
  options.kept = {0.5, 1.0};
  options.n_answer = 50;
  const auto result = run_prompt(*engine_, tokens(80), options, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->full_answer.size(), 50U);
  EXPECT_EQ(result->results[0].held, 0.5);
  EXPECT_EQ(result->results[1].held, 1);
  EXPECT_EQ(result->results[1].top1, 1);
}

TEST_F(RunnerTest, EachResultIsWhatATraceOfItsOwnSays) {
  const auto prompt = tokens(80);
  const auto result = run_prompt(*engine_, prompt, options(), nullptr);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->n_prompt, 80);

  Sequence full = prefill(*engine_, prompt, plan_full(config(), 80, kF32Cache));
  GenerateOptions greedy;
  greedy.sampling.temperature = 0;
  greedy.n_predict = 9;
  greedy.n_ctx = 1000;
  const auto answer = generate(*engine_, full, prompt, greedy, nullptr);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(result->full_answer, answer->ids);

  ASSERT_EQ(result->results.size(), 9U);  // full once, four policies at two budgets
  EXPECT_EQ(result->results[0].policy, "full");
  EXPECT_EQ(result->results[0].kl, 0);
  EXPECT_EQ(result->results[0].top1, 1);
  EXPECT_EQ(result->results[0].rows, 320);
  size_t i = 1;
  const std::vector<EvalPolicy> policies = options().policies;
  for (const EvalPolicy& of : std::span(policies).subspan(1)) {
    for (const double kept : {0.3, 0.5}) {
      SCOPED_TRACE(of.name);
      const PolicyResult& got = result->results[i++];
      EXPECT_EQ(got.policy, of.name);
      EXPECT_EQ(got.kept, kept);
      EXPECT_EQ(got.rows, static_cast<int64_t>(kept * 320));
      Policy at = of.policy;
      at.budget = {KvBudget::Kind::kFraction, kept};
      const auto traced = trace_prompt(*engine_, prompt, answer->ids, plan(at, 80), nullptr);
      ASSERT_TRUE(traced.ok());
      EXPECT_NEAR(got.kl, traced->kl, 1e-9);
      EXPECT_NEAR(got.top1, traced->top1, 1e-9);
      double nll = 0;
      for (double of_token : traced->answer_nll) nll += of_token / 9;
      EXPECT_NEAR(got.nll, nll, 1e-6);
      EXPECT_GE(got.kl_max, got.kl);
      EXPECT_TRUE(got.answer.empty());
    }
  }
}

TEST_F(RunnerTest, PoliciesAnswerAsTheyWouldAlone) {
  const auto prompt = tokens(80, 4);
  RunnerOptions with_answers = options();
  with_answers.n_generate = 12;
  const auto result = run_prompt(*engine_, prompt, with_answers, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->results[0].answer, result->full_text);
  const PolicyResult& second = result->results[3];
  EXPECT_EQ(second.policy, "b");
  Sequence alone = prefill(*engine_, prompt, plan(policy("snapkv", "ripple", 0.3), 80));
  GenerateOptions greedy;
  greedy.sampling.temperature = 0;
  greedy.n_predict = 12;
  greedy.n_ctx = 1000;
  const auto answer = generate(*engine_, alone, prompt, greedy, nullptr);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(second.answer, answer->text);
  EXPECT_EQ(second.n_answered, static_cast<int64_t>(answer->ids.size()));
}

void expect_same(const PromptResult& got, const PromptResult& expected) {
  EXPECT_EQ(got.full_answer, expected.full_answer);
  ASSERT_EQ(got.results.size(), expected.results.size());
  for (size_t i = 0; i < got.results.size(); ++i) {
    const PolicyResult& a = got.results[i];
    const PolicyResult& b = expected.results[i];
    EXPECT_EQ(a.policy, b.policy);
    EXPECT_EQ(a.kept, b.kept);
    EXPECT_EQ(a.kl, b.kl);
    EXPECT_EQ(a.answer, b.answer);
    EXPECT_EQ(a.n_answered, b.n_answered);
    EXPECT_EQ(a.error, b.error);
  }
}

// However many share a batch, more than there are too, and with some that end sooner, one that is refused among them.
TEST_F(RunnerTest, AnswersAtOnceAreThoseOneAfterTheOther) {
  const auto prompt = tokens(80, 4);
  RunnerOptions alone = options();
  alone.n_generate = 40;
  alone.policies.insert(alone.policies.begin() + 2, named("q", "snapkv", "uniform"));
  alone.policies[2].policy.kv_format = {KvType::kQ8_0, KvType::kQ4_0};
  alone.policies[3].policy.selector_options.window = 40;  // 30% of 80 rows cannot hold it
  const auto expected = run_prompt(*engine_, prompt, alone, nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_TRUE(std::any_of(expected->results.begin(), expected->results.end(),
                          [](const PolicyResult& of) { return !of.error.empty(); }));
  for (const int n : {2, 3, 15}) {
    SCOPED_TRACE(n);
    RunnerOptions together = alone;
    together.n_parallel = n;
    const auto result = run_prompt(*engine_, prompt, together, nullptr);
    ASSERT_TRUE(result.ok()) << result.status().message();
    expect_same(*result, *expected);
  }
}

// Whenever it is stopped there is no result, or the whole one.
TEST_F(RunnerTest, AStoppedAnswerIsNoResult) {
  const auto prompt = tokens(80, 4);
  RunnerOptions last = options();
  last.policies = {named("a", "snapkv", "uniform")};
  last.kept = {0.5};
  last.n_generate = 60;
  const auto expected = run_prompt(*engine_, prompt, last, nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  int n_stopped = 0;
  for (int microseconds = 0; microseconds < 20000; microseconds += 500) {
    std::atomic<bool> cancel = false;
    engine_->set_cancel(&cancel);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
      cancel = true;
    });
    const auto result = run_prompt(*engine_, prompt, last, nullptr);
    stopper.join();
    if (result.ok()) {
      expect_same(*result, *expected);
    } else {
      EXPECT_EQ(result.status().code(), StatusCode::kCancelled) << result.status().message();
      ++n_stopped;
    }
  }
  engine_->set_cancel(nullptr);
  EXPECT_GT(n_stopped, 0);
}

// A model whose end token is the first that it says. Nothing can be compared behind a whole prompt, and answers that
// nobody asked for are no reason to go on; behind a document the end itself is compared.
TEST_F(RunnerTest, AnAnswerThatEndsAtOnce) {
  const auto prompt = tokens(80);
  RunnerOptions plain = options();
  const auto before = run_prompt(*engine_, prompt, plain, nullptr);
  ASSERT_TRUE(before.ok());
  test::TinyGguf tiny = tiny_model();
  tiny.edit = [&](gguf_context* gguf) {
    gguf_set_val_u32(gguf, "tokenizer.ggml.eos_token_id", static_cast<uint32_t>(before->full_answer[0]));
  };
  model_ = load(test::tiny_gguf(tiny));
  engine_ = make_engine(512);
  profile_ = profile();
  plain = options();
  EXPECT_NE(run_prompt(*engine_, prompt, plain, nullptr).status().message().find("answer has 1 token, expected at"),
            std::string::npos);
  plain.n_generate = 5;
  plain.n_parallel = 3;
  const auto result = run_prompt(*engine_, prompt, plain, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->results.size(), 9U);
  for (const PolicyResult& of : result->results) {
    EXPECT_FALSE(of.compared) << of.policy;
    EXPECT_EQ(of.answer, "") << of.policy;
    EXPECT_EQ(of.n_answered, 1) << of.policy;
    EXPECT_GT(of.nll, 0) << of.policy;
  }
  // The same prompt in two parts.
  plain.n_generate = 0;
  auto apart = PromptRunner::create(*engine_, std::span(prompt).first(70), plain, 10, nullptr);
  ASSERT_TRUE(apart.ok());
  const auto asked = apart->ask(std::span(prompt).subspan(70), plain.policies);
  ASSERT_TRUE(asked.ok()) << asked.status().message();
  EXPECT_EQ(asked->full_answer.size(), 1U);
  for (const PolicyResult& of : asked->results) EXPECT_TRUE(of.compared) << of.policy;
  EXPECT_GT(asked->results[1].kl, 0);
}

// At equal bytes a smaller format keeps more rows; none exceeds the budget, none leaves more than a row per layer.
TEST_F(RunnerTest, EqualBytes) {
  const auto prompt = tokens(100);
  RunnerOptions at_bytes = options();
  at_bytes.match = MatchBy::kBytes;
  EvalPolicy small = named("q", "snapkv", "ripple");
  small.policy.kv_format = {KvType::kQ8_0, KvType::kQ4_0};
  EvalPolicy half = named("h", "snapkv", "uniform");
  half.policy.kv_format = {};
  at_bytes.policies = {half, small};
  at_bytes.kept = {0.3};
  const auto result = run_prompt(*engine_, prompt, at_bytes, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const int64_t budget = bytes_per_row(config().layer_shape(), KvFormat{}) * 100 * 4 * 3 / 10;
  for (const PolicyResult& of : result->results) {
    EXPECT_LE(of.bytes, budget) << of.policy;
    EXPECT_GE(of.bytes, budget - 4 * bytes_per_row(config().layer_shape(), KvFormat{})) << of.policy;
  }
  EXPECT_EQ(result->results[0].rows, 120);
  EXPECT_GT(result->results[1].rows, 250);
}

// What follows reads a document of 70 tokens and then questions of it.
class AgnosticRunnerTest : public RunnerTest {
 protected:
  static constexpr int64_t kDocument = 70;
  static constexpr int64_t kQuestion = 11;

  PromptRunner runner(const RunnerOptions& options) {
    auto made = PromptRunner::create(*engine_, tokens(kDocument), options, kQuestion, nullptr);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  static PromptResult ask(PromptRunner& runner, const std::vector<int32_t>& question, const RunnerOptions& options) {
    auto result = runner.ask(question, options.policies);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(*result);
  }
};

// With nothing dropped it does not matter when the question was read. Both caches are held to KL <= 1e-6 of each other
// (extend_test.cpp); so two log probabilities of a likely token differ by no more than about the root of twice that.
TEST_F(AgnosticRunnerTest, TheFullCacheAnswersAsIfThePromptWereWhole) {
  RunnerOptions with_answers = options();
  with_answers.n_generate = 12;
  with_answers.kept = {1};
  PromptRunner apart = runner(with_answers);
  const auto question = tokens(kQuestion, 2);
  const PromptResult agnostic = ask(apart, question, with_answers);
  std::vector<int32_t> whole = tokens(kDocument);
  whole.insert(whole.end(), question.begin(), question.end());
  const auto aware = run_prompt(*engine_, whole, with_answers, nullptr);
  ASSERT_TRUE(aware.ok());
  EXPECT_EQ(agnostic.n_prompt, aware->n_prompt);
  EXPECT_EQ(agnostic.full_answer, aware->full_answer);
  EXPECT_EQ(agnostic.full_text, aware->full_text);
  ASSERT_EQ(agnostic.results.size(), aware->results.size());
  for (size_t i = 0; i < agnostic.results.size(); ++i) {  // the full cache, and policies that keep all
    const PolicyResult& got = agnostic.results[i];
    EXPECT_NEAR(got.nll, aware->results[i].nll, std::sqrt(2e-6)) << got.policy;
    EXPECT_LE(got.kl, 1e-6) << got.policy;
    EXPECT_EQ(got.rows, aware->results[i].rows) << got.policy;
    EXPECT_EQ(got.answer, aware->full_text) << got.policy;
  }
}

TEST_F(AgnosticRunnerTest, EachResultIsThatOfAPrefillAndAnExtensionOfItsOwn) {
  RunnerOptions with_answers = options();
  with_answers.n_generate = 9;
  PromptRunner apart = runner(with_answers);
  for (const uint64_t seed : {2, 3}) {
    const auto question = tokens(kQuestion, seed);
    const PromptResult result = ask(apart, question, with_answers);
    const auto extended = [&](const CachePlan& compressed) {
      Sequence sequence = prefill(*engine_, tokens(kDocument), compressed);
      CachePlan after = compressed;
      after.n_prompt += kQuestion;
      for (int64_t& rows : after.rows) rows += kQuestion;
      const Status status = engine_->extend(sequence, question, after);
      EXPECT_TRUE(status.ok()) << status.message();
      return sequence;
    };
    const auto scored = std::span(result.full_answer).first(8);
    const auto distributions = [&](Sequence& sequence) {
      std::vector<float> all = sequence.logits;
      const auto later = engine_->score(sequence.cache, scored);
      EXPECT_TRUE(later.ok());
      all.insert(all.end(), later->begin(), later->end());
      return all;
    };
    Sequence full = extended(plan_full(config(), kDocument, kF32Cache));
    const std::vector<float> p = distributions(full);
    size_t i = 1;
    for (const EvalPolicy& of : std::span(with_answers.policies).subspan(1)) {
      for (const double kept : with_answers.kept) {
        SCOPED_TRACE(of.name);
        const PolicyResult& got = result.results[i++];
        Policy at = of.policy;
        at.budget = {KvBudget::Kind::kFraction, kept};
        Sequence alone = extended(plan(at, kDocument));
        const std::vector<float> q = distributions(alone);
        const auto n_vocab = static_cast<size_t>(config().n_vocab);
        double kl = 0;
        for (size_t t = 0; t < 9; ++t) {
          kl += test::kl_of_logits(std::span(p).subspan(t * n_vocab, n_vocab),
                                   std::span(q).subspan(t * n_vocab, n_vocab)) /
                9;
        }
        EXPECT_GT(kl, 1e-5) << "nothing was dropped";
        EXPECT_NEAR(got.kl, kl, 1e-6);
        EXPECT_EQ(got.rows, static_cast<int64_t>(kept * 4 * kDocument) + 4 * kQuestion);
        EXPECT_EQ(got.rows, alone.cache.n_rows());
        const LayerBytes bytes = alone.cache.bytes();
        EXPECT_EQ(got.bytes, bytes.payload + bytes.scales + bytes.index);
        GenerateOptions greedy;
        greedy.sampling.temperature = 0;
        greedy.n_predict = 9;
        greedy.n_ctx = 1000;
        const auto answer = generate(*engine_, alone, {}, greedy, nullptr);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(got.answer, answer->text);
      }
    }
  }
}

TEST_F(AgnosticRunnerTest, AnswersAtOnceAreThoseOneAfterTheOther) {
  RunnerOptions alone = options();
  alone.n_generate = 30;
  RunnerOptions together = alone;
  together.n_parallel = 5;
  PromptRunner first = runner(alone);
  PromptRunner second = runner(together);
  for (const uint64_t seed : {2, 3}) {
    const auto question = tokens(kQuestion, seed);
    expect_same(ask(second, question, together), ask(first, question, alone));
  }
}

// A question leaves no trace: the next one, and the same one again, find the document alone.
TEST_F(AgnosticRunnerTest, QuestionsDoNotSeeEachOther) {
  const RunnerOptions plain = options();
  PromptRunner apart = runner(plain);
  const PromptResult first = ask(apart, tokens(kQuestion, 2), plain);
  const PromptResult other = ask(apart, tokens(kQuestion - 4, 3), plain);
  const PromptResult again = ask(apart, tokens(kQuestion, 2), plain);
  EXPECT_NE(first.full_answer, other.full_answer);
  for (const Spent& spent :
       {apart.cost().prefill, apart.cost().forks, apart.cost().questions, apart.cost().scoring, apart.cost().answers})
    EXPECT_GT(spent.seconds, 0);
  EXPECT_EQ(first.full_answer, again.full_answer);
  ASSERT_EQ(first.results.size(), again.results.size());
  for (size_t i = 0; i < first.results.size(); ++i) {
    EXPECT_EQ(first.results[i].kl, again.results[i].kl);
    EXPECT_EQ(first.results[i].nll, again.results[i].nll);
  }
}

// What does not fit one policy is that policy's failure, and no other's.
TEST_F(RunnerTest, ABudgetThatDoesNotFitFailsAlone) {
  RunnerOptions small = options();
  small.kept = {0.05, 0.5};
  const auto result = run_prompt(*engine_, tokens(80), small, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->results.size(), 1 + 4 * 2U);
  for (const PolicyResult& of : result->results) {
    const std::string expected = of.kept == 0.05 ? of.policy + " at 5%: --kv-budget 5%: budget: " : "";
    EXPECT_EQ(of.error.substr(0, expected.size()), expected);
    EXPECT_EQ(of.error.empty(), expected.empty()) << of.error;
    EXPECT_EQ(of.rows == 0, of.kept == 0.05);
  }
}

TEST_F(RunnerTest, Refusals) {
  std::atomic<bool> cancel = true;
  engine_->set_cancel(&cancel);
  EXPECT_EQ(run_prompt(*engine_, tokens(80), options(), nullptr).status().code(), StatusCode::kCancelled);
  engine_->set_cancel(nullptr);
}

}  // namespace
}  // namespace ripplekv
