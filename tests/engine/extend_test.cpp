// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Engine::extend() and fork() on tiny models: against recomputing, against rows gathered by hand, against the plan and
// the forecast; and that an error or a cancel at any point changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "engine/tiny_engine.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class ExtendTest : public test::TinyEngineTest {
 protected:
  CachePlan full(int64_t n) const { return plan_full(config(), n, kF32Cache); }
  Status extend(Sequence& sequence, std::span<const int32_t> turn, const CachePlan& plan) const {
    return engine_->extend(sequence, turn, plan, {.record_kept = true});
  }
  static void expect_ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }
  static std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static std::vector<int64_t> rows_of(const KvCache& cache) {
    std::vector<int64_t> rows;
    for (int il = 0; il < cache.n_layer(); ++il) rows.push_back(cache.layer(il).n_rows());
    return rows;
  }
};

TEST_F(ExtendTest, AFullCacheExtendedIsOnePrefillOfEverything) {
  const auto prompt = tokens(70);
  for (const int64_t n_new : {1, 2, 33, 90}) {
    const auto turn = tokens(n_new, 2);
    const Sequence expected = prefill(*engine_, joined(prompt, turn), full(70 + n_new));
    for (const int n_chunk : {7, 512}) {
      const auto engine = make_engine(n_chunk);
      Sequence sequence = prefill(*engine, prompt, full(70));
      expect_ok(engine->extend(sequence, turn, full(70 + n_new)));
      EXPECT_LE(test::kl_of_logits(expected.logits, sequence.logits), 1e-6) << n_new << " chunk " << n_chunk;
      EXPECT_EQ(sequence.cache.n_pos(), 70 + n_new);
      EXPECT_EQ(rows_of(sequence.cache), rows_of(expected.cache));
      // And what is decoded from there, rows of the answer between the turns included.
      decode(sequence, 9);
      Sequence longer = prefill(*engine_, joined(joined(prompt, turn), {9}), full(71 + n_new));
      EXPECT_LE(test::kl_of_logits(longer.logits, sequence.logits), 1e-6);
    }
  }
}

// The same rows appended by a plain run over a cache gathered by hand: layers of different lengths, heads that keep
// different rows, true positions.
TEST_F(ExtendTest, ACompressedCacheIsExtendedAtItsTruePositions) {
  const auto prompt = tokens(90);
  const auto turn = tokens(20, 2);
  Sequence sequence = prefill(*engine_, prompt, plan(policy("snapkv", "ripple", 0.4), 90));
  const Sequence whole = prefill(*engine_, prompt, full(90));
  KvCache by_hand = gathered_by_hand(whole.cache, sequence.kept);
  const auto expected = engine_->score(by_hand, turn);
  ASSERT_TRUE(expected.ok());

  const std::vector<KeepList> kept = sequence.kept;
  expect_ok(extend(sequence, turn, full(110)));
  const auto n_vocab = static_cast<size_t>(config().n_vocab);
  EXPECT_LE(test::kl_of_logits(std::span(*expected).last(n_vocab), sequence.logits), 1e-6);
  for (int il = 0; il < 4; ++il) {
    for (int head = 0; head < 2; ++head) {
      std::vector<int32_t> positions = kept[static_cast<size_t>(il)][static_cast<size_t>(head)];
      for (int32_t p = 90; p < 110; ++p) positions.push_back(p);
      EXPECT_TRUE(std::ranges::equal(sequence.cache.layer(il).positions(head), positions));
    }
  }
}

TEST_F(ExtendTest, RowsHeldAreThosePlannedForTheConversation) {
  for (const SelectorInfo& info : selector_registry()) {
    if (info.name == "full") continue;
    const std::string name(info.name);
    Sequence sequence = prefill(*engine_, tokens(120), plan(policy(name, "ripple", 0.3), 120));
    for (int32_t token = 20; token < 30; ++token) decode(sequence, token);
    int64_t n_pos = 130;
    uint64_t seed = 3;
    for (const int64_t n_new : {40, 1, 9, 150, 3}) {
      n_pos += n_new;
      const CachePlan planned = plan(policy(name, "ripple", 0.3), n_pos);
      std::vector<int64_t> before = rows_of(sequence.cache);
      std::vector<std::vector<std::vector<int32_t>>> held;
      for (int il = 0; il < 4; ++il) {
        auto& of_layer = held.emplace_back();
        for (int head = 0; head < 2; ++head) {
          const auto positions = sequence.cache.layer(il).positions(head);
          auto& list = of_layer.emplace_back(positions.begin(), positions.end());
          for (int64_t p = n_pos - n_new; p < n_pos; ++p) list.push_back(static_cast<int32_t>(p));
        }
      }
      const MemoryForecast forecast = forecast_extension(sequence.cache, planned, config(), n_new, 0);
      expect_ok(extend(sequence, tokens(n_new, seed++), planned));
      EXPECT_EQ(sequence.cache.n_pos(), n_pos);
      EXPECT_LE(sequence.receipt.kv_peak_held, forecast.kv_peak) << name << " " << n_new;
      EXPECT_GE(sequence.receipt.kv_peak_held, forecast.kv_peak - forecast.kv_peak / 50) << name << " " << n_new;
      EXPECT_EQ(sequence.receipt.kv_peak_planned, forecast.kv_peak);
      for (size_t il = 0; il < 4; ++il) {
        const LayerCache& layer = sequence.cache.layer(static_cast<int>(il));
        const int64_t rows = std::min(planned.rows[il], before[il] + n_new);
        EXPECT_EQ(layer.n_rows(), rows) << name << " layer " << il;
        EXPECT_EQ(sequence.receipt.lines[il].rows_planned, rows);
        EXPECT_EQ(sequence.receipt.lines[il].rows_held, rows);
        EXPECT_EQ(layer.bytes().allocated(), forecast.layers[il]) << name << " layer " << il;
        for (size_t head = 0; head < 2; ++head) {
          const auto positions = layer.positions(static_cast<int>(head));
          EXPECT_TRUE(std::ranges::is_sorted(positions));
          EXPECT_TRUE(std::ranges::includes(held[il][head], positions)) << "a row that was dropped came back";
          EXPECT_TRUE(std::ranges::equal(positions, sequence.kept[il][head]));
        }
      }
      decode(sequence, 40);
      ++n_pos;
    }
  }
}

// A budget in rows does not grow with the conversation, a fraction does.
TEST_F(ExtendTest, BudgetsGrowAsTheyAreNamed) {
  Policy rows = policy("snapkv", "uniform", 0);
  rows.budget = {KvBudget::Kind::kRowsPerLayer, 50};
  Sequence fixed = prefill(*engine_, tokens(100), plan(rows, 100));
  Sequence growing = prefill(*engine_, tokens(100), plan(policy("snapkv", "uniform", 0.5), 100));
  expect_ok(extend(fixed, tokens(100, 2), plan(rows, 200)));
  expect_ok(extend(growing, tokens(100, 2), plan(policy("snapkv", "uniform", 0.5), 200)));
  EXPECT_EQ(fixed.cache.n_rows(), 4 * 50);
  EXPECT_EQ(growing.cache.n_rows(), 4 * 100);
}

// The rows kept are those that the new turn's queries attend to: scores of the same rows by the parts extend() is made
// of.
TEST_F(ExtendTest, TheNewTurnsQueriesChoose) {
  const auto prompt = tokens(60);
  const auto turn = tokens(30, 2);
  const CachePlan planned = plan(policy("tova", "uniform", 0.4), 90);
  const CachePlan first = full(60);
  Sequence sequence = prefill(*engine_, prompt, first);
  expect_ok(extend(sequence, turn, planned));
  // One prefill of everything has the same last query and the same rows to choose from.
  const Sequence expected = prefill(*engine_, joined(prompt, turn), planned);
  EXPECT_EQ(sequence.kept, expected.kept);
  Sequence other = prefill(*engine_, prompt, first);
  expect_ok(extend(other, tokens(30, 5), planned));
  EXPECT_NE(other.kept, sequence.kept);
}

// ---- errors leave everything as it was ----

TEST_F(ExtendTest, ACancelAtAnyPointChangesNothing) {
  const auto prompt = tokens(80);
  const auto turn = tokens(40, 2);
  const CachePlan begin = plan(policy("snapkv", "ripple", 0.5), 80);
  CachePlan some = plan(policy("snapkv", "ripple", 0.3), 120);
  some.decode_slack = 5;
  const auto engine = make_engine(16);
  std::atomic<bool> cancel = false;
  engine->set_cancel(&cancel);
  for (const CachePlan& planned : {some, full(120)}) {
    const Sequence before = prefill(*engine_, prompt, begin);
    Sequence sequence = prefill(*engine_, prompt, begin);
    const KvSnapshot snapshot = sequence.cache.snapshot();
    for (int stop = 1; stop < 12; ++stop) {  // 3 chunks in each of 4 layers
      int n_progress = 0;
      PrefillOptions options;
      options.on_progress = [&](int64_t, int64_t) { cancel = ++n_progress == stop; };
      const Status status = engine->extend(sequence, turn, planned, options);
      ASSERT_EQ(status.code(), StatusCode::kCancelled) << stop;
      cancel = false;
      expect_same_cache(before.cache, sequence.cache);
      EXPECT_EQ(sequence.logits, before.logits);
      EXPECT_EQ(sequence.plan.rows, begin.rows);
      EXPECT_EQ(sequence.receipt.lines.size(), before.receipt.lines.size());
    }
    EXPECT_TRUE(sequence.cache.restore(snapshot).ok()) << "marks of before hold on";
    // And it goes on as if nothing had happened.
    Sequence expected = prefill(*engine_, prompt, begin);
    expect_ok(engine->extend(expected, turn, planned));
    expect_ok(engine->extend(sequence, turn, planned));
    expect_same_cache(expected.cache, sequence.cache);
    EXPECT_EQ(sequence.logits, expected.logits);
  }
}

TEST_F(ExtendTest, TurnsThatCannotBe) {
  const auto prompt = tokens(60);
  const Sequence before = prefill(*engine_, prompt, full(60));
  Sequence sequence = prefill(*engine_, prompt, full(60));
  const auto refused = [&](std::span<const int32_t> turn, const CachePlan& planned, const std::string& says,
                           int64_t n_decode = LayerCache::kManyRows) {
    const Status status = engine_->extend(sequence, turn, planned, {.n_decode = n_decode});
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(says), std::string::npos) << status.message();
    expect_same_cache(before.cache, sequence.cache);
  };
  refused({}, full(60), "0 tokens");
  const std::vector<int32_t> outside = {5, config().n_vocab};
  refused(outside, full(62), "token id");
  const auto turn = tokens(10, 2);
  refused(turn, plan_full(config(), 70, {KvType::kF16, KvType::kF16}), "the conversation began with f32/f32");
  CachePlan short_plan = full(70);
  short_plan.rows.pop_back();
  short_plan.format.pop_back();
  refused(turn, short_plan, "made for 3 layers");
  refused(turn, full(70), "a conversation of 70 tokens", LayerCache::kManyRows - 1);
}

// ---- limited answers ----

// The window of queries belongs to the rows at the end; after a turn it begins anew.
TEST_F(ExtendTest, ALimitedAnswerAfterATurnStaysWithinItsRows) {
  CachePlan limited = plan(policy("snapkv", "uniform", 0.4), 100);
  limited.decode_slack = 4;
  Sequence sequence = prefill(*engine_, tokens(100), limited);
  for (int32_t token = 20; token < 45; ++token) decode(sequence, token);
  CachePlan longer = plan(policy("snapkv", "uniform", 0.4), 155);
  longer.decode_slack = 4;
  const MemoryForecast forecast = forecast_extension(sequence.cache, longer, config(), 30, 40);
  ASSERT_TRUE(engine_->extend(sequence, tokens(30, 2), longer, {.n_decode = 40}).ok());
  for (int32_t token = 20; token < 60; ++token) {
    decode(sequence, token);
    for (size_t il = 0; il < 4; ++il) {
      EXPECT_LE(sequence.cache.layer(static_cast<int>(il)).n_rows(), longer.rows[il] + 4);
    }
    EXPECT_LE(sequence.cache.bytes().allocated(), forecast.kv_decode);
  }
}

TEST_F(ExtendTest, AForkGoesOnByItself) {
  for (const int64_t slack : {0, 3}) {
    CachePlan planned = plan(policy("snapkv", "uniform", 0.5), 60);
    planned.decode_slack = slack;
    Sequence sequence = prefill(*engine_, tokens(60), planned);
    Result<Sequence> twin = engine_->fork(sequence);
    ASSERT_TRUE(twin.ok()) << twin.status().message();
    expect_same_cache(sequence.cache, twin->cache);
    EXPECT_EQ(sequence.logits, twin->logits);
    for (int32_t token = 20; token < 40; ++token) decode(sequence, token);
    EXPECT_EQ(twin->cache.n_pos(), 60);
    for (int32_t token = 20; token < 40; ++token) decode(*twin, token);
    expect_same_cache(sequence.cache, twin->cache);
    EXPECT_EQ(sequence.logits, twin->logits);
  }
}

}  // namespace
}  // namespace ripplekv
