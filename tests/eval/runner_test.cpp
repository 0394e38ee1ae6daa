// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The runner on a tiny model: every number is what a prefill, a decode and a trace of their own give.
#include "eval/runner.h"

#include <gtest/gtest.h>

#include "engine/generate.h"
#include "engine/tiny_engine.h"
#include "engine/trace.h"

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

TEST_F(RunnerTest, Refusals) {
  RunnerOptions small = options();
  small.kept = {0.05};
  const auto result = run_prompt(*engine_, tokens(80), small, nullptr);
  EXPECT_NE(result.status().message().find("a at 5%"), std::string::npos) << result.status().message();
  std::atomic<bool> cancel = true;
  engine_->set_cancel(&cancel);
  EXPECT_EQ(run_prompt(*engine_, tokens(80), options(), nullptr).status().code(), StatusCode::kCancelled);
  engine_->set_cancel(nullptr);
}

}  // namespace
}  // namespace ripplekv
