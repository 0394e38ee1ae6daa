// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Traces of a tiny model: the same rows and distributions as the engine's own prefill and decoding.
#include "engine/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/tiny_engine.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class TraceTest : public test::TinyEngineTest {
 protected:
  Trace trace(std::span<const int32_t> ids, std::span<const int32_t> answer, const CachePlan& plan) {
    const auto traced = trace_prompt(*engine_, ids, answer, plan, nullptr);
    EXPECT_TRUE(traced.ok()) << traced.status().message();
    return *traced;
  }
  static double nll(std::span<const float> logits, int32_t token) {
    std::vector<float> certain(logits.size(), -1e9F);
    certain[static_cast<size_t>(token)] = 0;
    return test::kl_of_logits(certain, logits);  // of a certain token: its -log p
  }
};

TEST_F(TraceTest, IsWhatPrefillAndScoreSay) {
  const auto prompt = tokens(70);
  const auto answer = tokens(9, 2);
  const CachePlan planned = plan(policy("snapkv", "ripple", 0.4), 70);
  const Trace traced = trace(prompt, answer, planned);

  Sequence sequence = prefill(*engine_, prompt, planned);
  Sequence full = prefill(*engine_, prompt, plan_full(config(), 70, kF32Cache));
  EXPECT_EQ(traced.kept, sequence.kept);
  EXPECT_EQ(traced.receipt.lines.size(), 4U);
  EXPECT_EQ(traced.receipt.lines[2].rows_held, planned.rows[2]);

  ASSERT_EQ(traced.next_token_top10.size(), 10U);
  EXPECT_EQ(traced.next_token_top10[0].first, test::argmax(full.logits));
  for (size_t i = 0; i < 10; ++i) {
    const auto& [id, log_probability] = traced.next_token_top10[i];
    EXPECT_NEAR(-log_probability, nll(full.logits, id), 1e-5);
    EXPECT_LE(log_probability, traced.next_token_top10[i == 0 ? 0 : i - 1].second);
  }

  ASSERT_EQ(traced.answer_nll.size(), 9U);
  EXPECT_NEAR(traced.answer_nll[0], nll(full.logits, answer[0]), 1e-5);
  double kl = 0;
  double nll_full = nll(full.logits, answer[0]);
  double top1 = 0;
  for (size_t i = 0; i + 1 < answer.size(); ++i) {
    decode(sequence, answer[i]);
    decode(full, answer[i]);
    EXPECT_NEAR(traced.answer_nll[i + 1], nll(sequence.logits, answer[i + 1]), 1e-4) << i;
    kl += test::kl_of_logits(full.logits, sequence.logits) / 8;
    nll_full += nll(full.logits, answer[i + 1]);
    top1 += test::argmax(full.logits) == test::argmax(sequence.logits) ? 0.125 : 0;
  }
  EXPECT_NEAR(traced.kl, kl, 1e-4 * kl);
  EXPECT_GT(traced.kl, 1e-4);
  EXPECT_NEAR(traced.nll_full, nll_full / 9, 1e-4);
  EXPECT_DOUBLE_EQ(traced.top1, top1);
}

TEST_F(TraceTest, AFullPlanLosesNothing) {
  const auto prompt = tokens(30);
  const auto answer = tokens(5, 2);
  const Trace traced = trace(prompt, answer, plan_full(config(), 30, kF32Cache));
  EXPECT_LE(traced.kl, 1e-12);
  EXPECT_EQ(traced.top1, 1.0);
  double mean = 0;
  for (double nll_of_token : traced.answer_nll) mean += nll_of_token / 5;
  EXPECT_NEAR(mean, traced.nll_full, 1e-9);
  for (const KeepList& keep : traced.kept) {
    for (const auto& head : keep) {
      ASSERT_EQ(head.size(), 30U);
      EXPECT_EQ(head.back(), 29);
    }
  }
}

TEST_F(TraceTest, NoAnswerOrOneToken) {
  const auto prompt = tokens(30);
  const Trace without = trace(prompt, {}, plan_full(config(), 30, kF32Cache));
  EXPECT_TRUE(without.answer_nll.empty());
  EXPECT_EQ(without.next_token_top10.size(), 10U);
  const int32_t one = 7;
  const Trace single = trace(prompt, {&one, 1}, plan_full(config(), 30, kF32Cache));
  ASSERT_EQ(single.answer_nll.size(), 1U);
  EXPECT_NEAR(single.answer_nll[0], single.nll_full, 1e-12);
}

TEST_F(TraceTest, Refusals) {
  const auto prompt = tokens(30);
  const CachePlan full = plan_full(config(), 30, kF32Cache);
  const auto refused = [&](std::span<const int32_t> ids, std::span<const int32_t> answer, const CachePlan& plan) {
    return trace_prompt(*engine_, ids, answer, plan, nullptr).status();
  };
  EXPECT_EQ(refused({}, {}, plan_full(config(), 0, kF32Cache)).message(), "prompt: 0 tokens, expected at least 1");
  auto bad = prompt;
  bad[29] = 300;
  EXPECT_EQ(refused(bad, {}, full).message(), "prompt: token id 300, expected 0 to 299");
  EXPECT_EQ(refused(prompt, std::span(bad).last(1), full).code(), StatusCode::kInvalidArgument);
  CachePlan other = full;
  other.rows[0] = 31;
  EXPECT_EQ(refused(prompt, {}, other).code(), StatusCode::kInvalidArgument);
  std::atomic<bool> cancel = true;
  engine_->set_cancel(&cancel);
  EXPECT_EQ(refused(prompt, {}, full).code(), StatusCode::kCancelled);
  engine_->set_cancel(nullptr);
}

}  // namespace
}  // namespace ripplekv
