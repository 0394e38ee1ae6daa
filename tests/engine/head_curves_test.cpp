// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// KV heads with rows of their own number: from their damage to budgets, plans and caches; what is planned is held, in
// prefill, forks, later turns, decode-time budgets and questions after the fact, and bytes are those of equal counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/prefilled.h"
#include "engine/tiny_engine.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class HeadCurvesTest : public test::TinyEngineTest {
 protected:
  static std::vector<int64_t> counts(const Sequence& sequence, int il) { return sequence.cache.layer(il).head_rows(); }
  static int64_t sum_of(const std::vector<int64_t>& rows) {
    return std::accumulate(rows.begin(), rows.end(), int64_t{0});
  }
};

TEST_F(HeadCurvesTest, PlansHoldTheSumTheFloorAndThePrompt) {
  int64_t n_unequal = 0;
  for (const int64_t n_prompt : {12, 30, 120, 1000}) {
    for (const double fraction : {0.2, 0.3, 0.7, 1.0}) {
      const auto planned = try_plan(policy("snapkv", "head_curves", fraction), n_prompt);
      if (!planned.ok()) continue;  // 16 rows do not fit
      EXPECT_EQ(sum_of(planned->rows), sum_of(try_plan(policy("snapkv", "uniform", fraction), n_prompt)->rows));
      ASSERT_EQ(planned->head_rows.size(), 4U);
      for (size_t il = 0; il < 4; ++il) {
        const std::vector<int64_t> heads = planned->rows_of_heads(static_cast<int>(il), planned->rows[il], 2);
        ASSERT_EQ(heads.size(), 2U);
        EXPECT_EQ(sum_of(heads), 2 * planned->rows[il]);
        for (int64_t rows : heads) {
          EXPECT_GE(rows, std::min<int64_t>(16, n_prompt));  // the window of 8 and the margin
          EXPECT_LE(rows, n_prompt);
        }
        n_unequal += heads[0] != heads[1] ? 1 : 0;
      }
      EXPECT_TRUE(check_plan(*planned, config()).ok());
    }
  }
  EXPECT_GT(n_unequal, 10);
  // Layer 2: its first head loses nothing, its second much.
  const CachePlan planned = plan(policy("snapkv", "head_curves", 0.3), 1000);
  EXPECT_EQ(planned.head_rows[2][0], 16);
  EXPECT_GT(planned.head_rows[2][1], 100);
}

TEST_F(HeadCurvesTest, EveryHeadHoldsWhatWasPlannedInTheBytesOfEqualCounts) {
  const auto prompt = tokens(120);
  for (const char* selector : {"snapkv", "h2o", "streaming_llm", "tova", "sinks+knorm", "expected_attention"}) {
    for (const KvFormat& format : {kF32Cache, KvFormat{KvType::kQ8_0, KvType::kQ4_0}}) {
      SCOPED_TRACE(selector);
      Policy of = policy(selector, "head_curves", 0.3);
      of.kv_format = format;
      CachePlan planned = plan(of, 120);
      const Sequence sequence = prefill(*engine_, prompt, planned);
      for (int il = 0; il < 4; ++il) EXPECT_EQ(counts(sequence, il), planned.head_rows[static_cast<size_t>(il)]) << il;
      planned.head_rows.clear();
      const Sequence equal = prefill(*engine_, prompt, planned);
      EXPECT_EQ(equal.logits, sequence.logits);
      for (int il = 0; il < 4; ++il) {
        EXPECT_EQ(sequence.cache.layer(il).bytes().allocated(), equal.cache.layer(il).bytes().allocated()) << il;
      }
    }
  }
  // Beside --head-floor the counts are what heads begin to share from.
  Policy shared = policy("snapkv", "head_curves", 0.3);
  shared.selector_options.head_floor = 0.5;
  const CachePlan planned = plan(shared, 120);
  const Sequence sequence = prefill(*engine_, prompt, planned);
  for (int il = 0; il < 4; ++il) {
    EXPECT_EQ(sum_of(counts(sequence, il)), 2 * planned.rows[static_cast<size_t>(il)]);
    for (size_t head = 0; head < 2; ++head) {
      EXPECT_GE(counts(sequence, il)[head], planned.head_rows[static_cast<size_t>(il)][head] / 2);
    }
  }
}

TEST_F(HeadCurvesTest, AForkIsWhatAPrefillOfItsOwnMakes) {
  const auto prompt = tokens(90);
  for (const char* name : {"snapkv", "streaming_llm"}) {
    const Policy of = policy(name, "head_curves", 0.4);
    const std::vector<SelectorSpec> specs = {{name, of.selector_options}};
    auto made = PrefilledPrompt::create(*engine_, prompt, specs, plan_full(config(), 90, kF32Cache), 0);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const CachePlan planned = plan(of, 90);
    auto fork = made->fork(planned);
    ASSERT_TRUE(fork.ok()) << fork.status().message();
    Sequence own = prefill(*engine_, prompt, planned);
    expect_same_cache(fork->cache, own.cache);
    decode(*fork, 7);
    decode(own, 7);
    EXPECT_EQ(fork->logits, own.logits);
  }
}

TEST_F(HeadCurvesTest, LaterTurnsAndDecodeTimeBudgetsKeepEveryHeadsCount) {
  Sequence sequence = prefill(*engine_, tokens(120), plan(policy("snapkv", "head_curves", 0.3), 120));
  const CachePlan longer = plan(policy("snapkv", "head_curves", 0.3), 320);
  ASSERT_TRUE(engine_->extend(sequence, tokens(200, 3), longer).ok());
  for (int il = 0; il < 4; ++il) {
    // A head with too few rows leaves them to the other.
    EXPECT_EQ(sum_of(counts(sequence, il)), 2 * longer.rows[static_cast<size_t>(il)]) << il;
  }
  CachePlan planned = plan(policy("snapkv", "head_curves", 0.3), 100);
  planned.decode_slack = 6;
  Sequence limited = prefill(*engine_, tokens(100), planned);
  int n_compressed = 0;
  for (int32_t step = 0; step < 30; ++step) {
    decode(limited, 20 + step);
    for (int il = 0; il < 4; ++il) {
      if (counts(limited, il) == planned.head_rows[static_cast<size_t>(il)]) ++n_compressed;
      ASSERT_LE(limited.cache.layer(il).n_rows(), planned.rows[static_cast<size_t>(il)] + 6);
    }
  }
  EXPECT_GE(n_compressed, 4 * 3) << "every seventh token";
}

TEST_F(HeadCurvesTest, PlansThatContradictThemselvesAreRefused) {
  const CachePlan good = plan(policy("snapkv", "head_curves", 0.3), 120);
  const auto refused = [&](const std::function<void(CachePlan&)>& change) {
    CachePlan bad = good;
    change(bad);
    return !check_plan(bad, config()).ok();
  };
  EXPECT_TRUE(refused([](CachePlan& p) { p.head_rows.pop_back(); }));
  EXPECT_TRUE(refused([](CachePlan& p) { p.head_rows[1].push_back(1); }));
  EXPECT_TRUE(refused([](CachePlan& p) { p.head_rows[1][0] += 1; }));
  EXPECT_TRUE(refused([](CachePlan& p) { p.head_rows[1] = {2 * p.rows[1], 0}; }));
  EXPECT_TRUE(refused([](CachePlan& p) { p.head_rows[1] = {2 * p.rows[1] - 121, 121}; }));
  EXPECT_FALSE(refused([](CachePlan& p) { p.head_rows[1].clear(); }));
}

// With one KV head a layer is its head.
TEST_F(HeadCurvesTest, TheDamageOfTheOnlyHeadIsTheLayers) {
  test::TinyGguf tiny = tiny_model();
  tiny.n_head = 4;
  tiny.n_head_kv = 1;
  model_ = load(test::tiny_gguf(tiny));
  engine_ = make_engine(512);
  ProfileSettings settings;
  settings.n_answer = 6;
  settings.n_repeat = 1;
  settings.selector_options.window = 8;
  settings.curve_fractions = {0.3, 0.6};
  settings.head_fractions = {0.3, 0.6};
  const ProfileSample measured = profiled(settings, 60);
  ASSERT_EQ(measured.damage.size(), 2U);
  EXPECT_EQ(measured.head_damage, measured.damage);
}

TEST_F(HeadCurvesTest, EveryHeadIsMeasuredAndTheCacheLeftAsItWas) {
  ProfileSettings settings;
  settings.n_answer = 6;
  settings.n_repeat = 1;
  settings.selector_options.window = 8;
  settings.head_fractions = {0.3};  // 18 of 61 rows, of which 43 cannot go with two heads in a layer: 17
  const ProfileSample measured = profiled(settings, 61);
  EXPECT_TRUE(measured.damage.empty());
  ASSERT_EQ(measured.head_damage.size(), 1U);
  ASSERT_EQ(measured.head_damage[0].size(), 8U);
  for (double nats : measured.head_damage[0]) EXPECT_GT(nats, 0);
  // The nudges are measured behind one layer's heads and before the next one's: no trace of them is left.
  settings.head_fractions.clear();
  EXPECT_EQ(profiled(settings, 61).sensitivity, measured.sensitivity);
}

TEST_F(HeadCurvesTest, ItNeedsTheDamageOfHeads) {
  Profile without = profile();
  without.settings.head_fractions.clear();
  for (ProfileSample& sample : without.samples) sample.head_damage.clear();
  const auto refused = make_budgets(model_->id(), policy("snapkv", "head_curves", 0.3), &without);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("profile --head-curves"), std::string::npos);
}

}  // namespace
}  // namespace ripplekv
