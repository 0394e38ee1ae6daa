// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Head-adaptive row counts through the engine: exact sums, the bytes of equal counts, forks, turns that are appended
// and compressed again, and decode-time budgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/prefilled.h"
#include "engine/tiny_engine.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class HeadFloorTest : public test::TinyEngineTest {
 protected:
  static Policy adaptive(const std::string& selector, const std::string& allocator, double fraction,
                         double head_floor) {
    Policy of = policy(selector, allocator, fraction);
    of.selector_options.head_floor = head_floor;
    return of;
  }
  // The sum is exact; floors and protected rows stay.
  void expect_counts(const Sequence& sequence, const CachePlan& planned) const {
    const auto selector = make_selector(planned.selector, planned.selector_options);
    const ProtectedRows protected_rows = (*selector)->protected_rows();
    for (int il = 0; il < 4; ++il) {
      const LayerCache& layer = sequence.cache.layer(il);
      const int64_t rows = planned.rows[static_cast<size_t>(il)];
      const std::vector<int64_t> counts = layer.head_rows();
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), 2 * rows) << "layer " << il;
      EXPECT_EQ(layer.n_rows(), rows);
      const auto floor = static_cast<int64_t>(planned.selector_options.head_floor * static_cast<double>(rows));
      for (int head = 0; head < 2; ++head) {
        EXPECT_GE(layer.n_rows(head), std::max(floor, protected_rows.count())) << "layer " << il;
        EXPECT_LE(layer.n_rows(head), planned.n_prompt) << "layer " << il;
        const auto positions = layer.positions(head);
        EXPECT_TRUE(std::ranges::is_sorted(positions));
        for (int64_t row = planned.n_prompt - protected_rows.n_window; row < planned.n_prompt; ++row) {
          EXPECT_TRUE(std::ranges::binary_search(positions, static_cast<int32_t>(row))) << "layer " << il;
        }
      }
    }
  }
  static int64_t n_ragged(const KvCache& cache) {
    int64_t n = 0;
    for (int il = 0; il < cache.n_layer(); ++il) n += cache.layer(il).ragged() ? 1 : 0;
    return n;
  }
};

TEST_F(HeadFloorTest, EverySelectorAndAllocatorKeepsItsSumAndItsBytes) {
  const auto prompt = tokens(120);
  const auto answer = tokens(5, 3);
  int64_t n_all_ragged = 0;
  for (const char* selector : {"snapkv", "h2o", "expected_attention", "sinks+h2o"}) {
    for (const char* allocator : {"uniform", "pyramid", "ripple", "curves"}) {
      for (const double head_floor : {0.0, 0.2, 0.9}) {
        for (const KvFormat& format : {kF32Cache, KvFormat{KvType::kQ8_0, KvType::kQ4_0}}) {
          SCOPED_TRACE(std::string(selector) + "+" + allocator + " " + std::to_string(head_floor));
          Policy of = adaptive(selector, allocator, 0.3, head_floor);
          of.kv_format = format;
          const CachePlan planned = plan(of, 120);
          const Sequence sequence = prefill(*engine_, prompt, planned);
          expect_counts(sequence, planned);
          n_all_ragged += n_ragged(sequence.cache);

          of.selector_options.head_floor = 1.0;
          const Sequence equal = prefill(*engine_, prompt, plan(of, 120));
          EXPECT_EQ(n_ragged(equal.cache), 0);
          EXPECT_EQ(equal.logits, sequence.logits);
          for (int il = 0; il < 4; ++il) {
            EXPECT_EQ(sequence.cache.layer(il).bytes().allocated(), equal.cache.layer(il).bytes().allocated());
            EXPECT_EQ(sequence.cache.layer(il).capacity(), sequence.cache.layer(il).n_rows());
          }
          EXPECT_EQ(sequence.receipt.kv_peak_planned, equal.receipt.kv_peak_planned);
        }
      }
    }
  }
  EXPECT_GT(n_all_ragged, 4 * 4 * 2 * 2 * 4 * 2 / 3) << "or nothing was tested";
}

TEST_F(HeadFloorTest, WhatIsHeldAreTheFullCachesRowsAndDecodingReadsThem) {
  const auto prompt = tokens(120);
  const auto answer = tokens(30, 3);
  const Sequence full = prefill(*engine_, prompt, plan_full(config(), 120, kF32Cache));
  Sequence sequence = prefill(*engine_, prompt, plan(adaptive("snapkv", "ripple", 0.3, 0.0), 120));
  ASSERT_GE(n_ragged(sequence.cache), 3);
  KvCache by_hand = gathered_by_hand(full.cache, sequence.kept);
  for (int il = 0; il < 4; ++il) {
    EXPECT_EQ(by_hand.layer(il).read_k_bytes(), sequence.cache.layer(il).read_k_bytes()) << il;
    EXPECT_EQ(by_hand.layer(il).read_v_bytes(), sequence.cache.layer(il).read_v_bytes()) << il;
  }
  const auto expected = engine_->score(by_hand, answer);  // all at once
  ASSERT_TRUE(expected.ok());
  const auto n_vocab = static_cast<size_t>(config().n_vocab);
  for (size_t i = 0; i < answer.size(); ++i) {
    decode(sequence, answer[i]);
    EXPECT_LE(test::kl_of_logits(std::span(*expected).subspan(i * n_vocab, n_vocab), sequence.logits), 1e-6) << i;
  }
}

TEST_F(HeadFloorTest, AForkIsWhatAPrefillOfItsOwnMakes) {
  const auto prompt = tokens(90);
  std::vector<SelectorSpec> specs;
  for (const char* name : {"snapkv", "h2o", "expected_attention"}) {
    for (const double head_floor : {0.0, 0.5, 1.0}) {
      specs.push_back({name, adaptive("", "", 1, head_floor).selector_options});
    }
  }
  auto made = PrefilledPrompt::create(*engine_, prompt, specs, plan_full(config(), 90, KvFormat{}), 0);
  ASSERT_TRUE(made.ok()) << made.status().message();
  for (const SelectorSpec& spec : specs) {
    for (const KvFormat& format : {KvFormat{}, KvFormat{KvType::kQ8_0, KvType::kQ4_0}}) {
      Policy of = policy(spec.name, "ripple", 0.4);
      of.selector_options = spec.options;
      of.kv_format = format;
      const CachePlan planned = plan(of, 90);
      auto fork = made->fork(planned);
      ASSERT_TRUE(fork.ok()) << fork.status().message();
      Sequence own = prefill(*engine_, prompt, planned);
      SCOPED_TRACE(spec.name);
      expect_same_cache(fork->cache, own.cache);
      EXPECT_EQ(fork->kept, own.kept);
      decode(*fork, 7);
      decode(own, 7);
      EXPECT_EQ(fork->logits, own.logits);
    }
  }
}

// Turn after turn: appended rows, and rows dropped from layers whose heads differ already.
TEST_F(HeadFloorTest, ConversationsAreCompressedAgain) {
  for (const char* selector : {"snapkv", "h2o", "expected_attention"}) {
    SCOPED_TRACE(selector);
    Sequence sequence = prefill(*engine_, tokens(120), plan(adaptive(selector, "ripple", 0.3, 0.2), 120));
    int64_t n_pos = 120;
    uint64_t seed = 3;
    for (const int64_t n_new : {40, 1, 150, 9}) {
      n_pos += n_new;
      const CachePlan planned = plan(adaptive(selector, "ripple", 0.3, 0.2), n_pos);
      std::vector<KeepList> held;
      for (int il = 0; il < 4; ++il) {
        KeepList& of_layer = held.emplace_back();
        for (int head = 0; head < 2; ++head) {
          const auto positions = sequence.cache.layer(il).positions(head);
          auto& list = of_layer.emplace_back(positions.begin(), positions.end());
          for (int64_t p = n_pos - n_new; p < n_pos; ++p) list.push_back(static_cast<int32_t>(p));
        }
      }
      const MemoryForecast forecast = forecast_extension(sequence.cache, planned, config(), n_new, 0);
      const Status status = engine_->extend(sequence, tokens(n_new, seed++), planned, {.record_kept = true});
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_LE(sequence.receipt.kv_peak_held, forecast.kv_peak);
      EXPECT_GT(n_ragged(sequence.cache), 0);
      for (size_t il = 0; il < 4; ++il) {
        const LayerCache& layer = sequence.cache.layer(static_cast<int>(il));
        const auto n_held = static_cast<int64_t>(held[il][0].size() + held[il][1].size()) / 2;
        EXPECT_EQ(layer.n_rows(), std::min(planned.rows[il], n_held)) << "layer " << il;
        EXPECT_EQ(layer.bytes().allocated(), forecast.layers[il]) << "layer " << il;
        for (size_t head = 0; head < 2; ++head) {
          const auto positions = layer.positions(static_cast<int>(head));
          EXPECT_TRUE(std::ranges::includes(held[il][head], positions)) << "a row that was dropped came back";
          EXPECT_TRUE(std::ranges::equal(positions, sequence.kept[il][head]));
        }
      }
      decode(sequence, 40);
      ++n_pos;
    }
    // And with equal counts from now on: a head that has too few rows leaves them to the other.
    const CachePlan equal = plan(policy("random", "ripple", 0.1), n_pos + 5);
    ASSERT_TRUE(engine_->extend(sequence, tokens(5, 9), equal).ok());
    for (int il = 0; il < 4; ++il) EXPECT_EQ(sequence.cache.layer(il).n_rows(), equal.rows[static_cast<size_t>(il)]);
  }
}

// The prompt in one go and in two: the same rows to choose from and the same last queries.
TEST_F(HeadFloorTest, TheNewTurnsQueriesChoose) {
  const auto prompt = tokens(60);
  const auto turn = tokens(30, 2);
  auto whole = prompt;
  whole.insert(whole.end(), turn.begin(), turn.end());
  const CachePlan planned = plan(adaptive("snapkv", "uniform", 0.4, 0.0), 90);
  Sequence sequence = prefill(*engine_, prompt, plan_full(config(), 60, kF32Cache));
  ASSERT_TRUE(engine_->extend(sequence, turn, planned, {.record_kept = true}).ok());
  EXPECT_EQ(sequence.kept, prefill(*engine_, whole, planned).kept);
}

TEST_F(HeadFloorTest, AnErrorLeavesARaggedCacheAsItWas) {
  Sequence sequence = prefill(*engine_, tokens(80), plan(adaptive("snapkv", "ripple", 0.4, 0.0), 80));
  Sequence before = *engine_->fork(sequence);
  std::atomic<bool> cancel = true;
  engine_->set_cancel(&cancel);
  for (const double fraction : {0.3, 1.0}) {
    EXPECT_EQ(engine_->extend(sequence, tokens(20, 2), plan(adaptive("snapkv", "ripple", fraction, 0.0), 100)).code(),
              StatusCode::kCancelled);
    expect_same_cache(sequence.cache, before.cache);
  }
  engine_->set_cancel(nullptr);
  decode(sequence, 3);
  decode(before, 3);
  EXPECT_EQ(sequence.logits, before.logits);
}

TEST_F(HeadFloorTest, DecodeTimeBudgetsKeepTheirSum) {
  for (const char* selector : {"snapkv", "h2o", "expected_attention"}) {
    SCOPED_TRACE(selector);
    CachePlan planned = plan(adaptive(selector, "uniform", 0.3, 0.2), 100);
    planned.decode_slack = 6;
    Sequence sequence = prefill(*engine_, tokens(100), planned);
    int n_compressed = 0;
    for (int32_t step = 0; step < 40; ++step) {
      std::vector<int64_t> before;
      for (int il = 0; il < 4; ++il) before.push_back(sequence.cache.layer(il).n_rows());
      decode(sequence, 20 + step);
      for (int il = 0; il < 4; ++il) {
        const LayerCache& layer = sequence.cache.layer(il);
        const int64_t rows = planned.rows[static_cast<size_t>(il)];
        ASSERT_LE(layer.n_rows(), rows + 6);
        ASSERT_GE(layer.n_rows(), rows);
        if (layer.n_rows() < before[static_cast<size_t>(il)]) {
          ASSERT_EQ(layer.n_rows(), rows);
          ++n_compressed;
        }
        for (int head = 0; head < 2; ++head) ASSERT_GE(layer.n_rows(head), rows / 5);
      }
    }
    EXPECT_GE(n_compressed, 4 * 5);
    EXPECT_GT(n_ragged(sequence.cache), 0);
  }
}

}  // namespace
}  // namespace ripplekv
