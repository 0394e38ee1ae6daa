// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The engine on tiny models: every selector, allocator and kv format; what compression must not change; decoding with
// and without a budget; scoring; refusals. Whether plans are right is plan_test.cpp's, graphs tiny_oracle_test.cpp's.
#include "ripplekv/engine.h"

#include <fmt/format.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/tiny_engine.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class EngineTest : public test::TinyEngineTest {};

// ---- all three axes ----

using Axes = std::tuple<std::string, std::string, KvFormat>;

class EngineMatrixTest : public EngineTest, public ::testing::WithParamInterface<Axes> {};

std::string name_of(const Axes& axes) {
  const auto& [selector, allocator, format] = axes;
  return fmt::format("{}_{}_{}_{}", selector, allocator, to_string(format.k), to_string(format.v));
}

std::vector<std::string> selector_names() {
  std::vector<std::string> names;
  for (const SelectorInfo& info : selector_registry()) names.emplace_back(info.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Axes, EngineMatrixTest,
                         ::testing::Combine(::testing::ValuesIn(selector_names()),
                                            ::testing::Values("uniform", "pyramid", "ripple", "curves"),
                                            ::testing::Values(kF32Cache, KvFormat{KvType::kF16, KvType::kF16},
                                                              KvFormat{KvType::kQ8_0, KvType::kQ8_0},
                                                              KvFormat{KvType::kQ8_0, KvType::kQ4_0},
                                                              KvFormat{KvType::kF16, KvType::kQ4_0})),
                         [](const auto& axes) { return name_of(axes.param); });

TEST_P(EngineMatrixTest, TheReceiptIsWhatIsHeld) {
  const auto& [selector_name, allocator, format] = GetParam();
  const int64_t n_prompt = 150;
  const auto prompt = tokens(n_prompt);
  Policy p = policy(selector_name, allocator, 0.3);
  p.kv_format = format;
  const CachePlan planned = plan(p, n_prompt);
  ASSERT_EQ(planned.total_rows(), 180);
  const Sequence sequence = prefill(*engine_, prompt, planned);
  const auto selector = make_selector(p.selector, p.selector_options);
  const ProtectedRows protected_rows = (*selector)->protected_rows();

  ASSERT_EQ(sequence.receipt.lines.size(), 4U);
  EXPECT_TRUE(sequence.receipt.check().ok()) << sequence.receipt.check().message();
  for (int il = 0; il < 4; ++il) {
    const int64_t rows = planned.rows[static_cast<size_t>(il)];
    const LayerCache& layer = sequence.cache.layer(il);
    const ReceiptLine& line = sequence.receipt.lines[static_cast<size_t>(il)];
    EXPECT_EQ(layer.n_rows(), rows);
    EXPECT_EQ(layer.capacity(), rows) << "compressed to exactly its rows";
    EXPECT_EQ(layer.format(), format);
    EXPECT_EQ(line.rows_planned, rows);
    EXPECT_EQ(line.rows_held, rows);
    const LayerBytes bytes = layer.bytes();
    EXPECT_EQ(bytes.payload + bytes.scales, rows * 2 * (row_bytes(format.k, 32) + row_bytes(format.v, 32)));
    EXPECT_LT(bytes.padding, 4096 + 64);
    EXPECT_EQ(line.bytes.allocated(), bytes.allocated());
    EXPECT_EQ(line.bytes.total(), bytes.total());

    // Kept rows: protected ones among them, heads alike in number, positions true.
    const KeepList& keep = sequence.kept[static_cast<size_t>(il)];
    ASSERT_EQ(keep.size(), 2U);
    for (int head = 0; head < 2; ++head) {
      const auto& list = keep[static_cast<size_t>(head)];
      ASSERT_EQ(static_cast<int64_t>(list.size()), rows);
      EXPECT_TRUE(std::ranges::equal(list, layer.positions(head)));
      EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
      for (int64_t row = 0; row < protected_rows.n_sink; ++row) EXPECT_TRUE(std::ranges::binary_search(list, row));
      for (int64_t row = n_prompt - protected_rows.n_window; row < n_prompt; ++row) {
        EXPECT_TRUE(std::ranges::binary_search(list, row)) << "head " << head << " row " << row;
      }
    }
  }
  EXPECT_EQ(sequence.cache.n_pos(), n_prompt);

  // The peak: as forecast within 2%, and under that of the full cache.
  const MemoryForecast forecast = forecast_memory(planned, config(), 0);
  const auto held = static_cast<double>(sequence.receipt.kv_peak_held);
  EXPECT_NEAR(static_cast<double>(forecast.kv_peak), held, 0.02 * held);
  EXPECT_EQ(sequence.receipt.kv_peak_planned, forecast.kv_peak);
  const Sequence full = prefill(*engine_, prompt, plan_full(config(), n_prompt, format));
  EXPECT_LT(sequence.receipt.kv_peak_held, full.receipt.kv_peak_held);
  // Which rows stay does not depend on the kv format: it is rounded to afterwards.
  CachePlan unrounded = planned;
  unrounded.format.assign(4, prefill_format(format));
  EXPECT_EQ(sequence.kept, prefill(*engine_, prompt, unrounded).kept);
  EXPECT_LE(sequence.cache.bytes().allocated(), full.cache.bytes().allocated() / 2);

  // Every layer's prefill attention saw all its rows: the first token cannot differ from the full cache's.
  EXPECT_EQ(sequence.logits, full.logits);

  // The same once more.
  const Sequence again = prefill(*engine_, prompt, planned);
  EXPECT_EQ(again.kept, sequence.kept);
  EXPECT_EQ(again.logits, sequence.logits);
  expect_same_cache(again.cache, sequence.cache);

  // And what is held is the full cache's rows, byte for byte.
  const KvCache by_hand = gathered_by_hand(full.cache, sequence.kept);
  for (int il = 0; il < 4; ++il) {
    EXPECT_EQ(by_hand.layer(il).read_k_bytes(), sequence.cache.layer(il).read_k_bytes()) << il;
    EXPECT_EQ(by_hand.layer(il).read_v_bytes(), sequence.cache.layer(il).read_v_bytes()) << il;
  }
}

// ---- known faults ----

TEST_F(EngineTest, TheFirstTokenIsTheFullCachesAtAnyBudget) {
  const auto prompt = tokens(120);
  const Sequence full = prefill(*engine_, prompt, plan_full(config(), 120, kF32Cache));
  for (const double fraction : {0.14, 0.2, 0.5, 0.9, 1.0}) {
    const Sequence sequence = prefill(*engine_, prompt, plan(policy("snapkv", "ripple", fraction), 120));
    EXPECT_EQ(sequence.logits, full.logits) << fraction;
  }
}

// Were a layer compressed before its own attention, the answer after it would still be right for a cache that keeps
// all; so the decoded tokens must differ, and more so the fewer rows there are.
TEST_F(EngineTest, ACompressedCacheIsReallyWhatDecodingReads) {
  const auto prompt = tokens(120);
  const auto answer = tokens(6, 2);
  Sequence full = prefill(*engine_, prompt, plan_full(config(), 120, kF32Cache));
  const auto expected = engine_->score(full.cache, answer);
  ASSERT_TRUE(expected.ok());
  const auto kl = [&](double fraction) {
    Sequence sequence = prefill(*engine_, prompt, plan(policy("random", "uniform", fraction), 120));
    const auto got = engine_->score(sequence.cache, answer);
    double sum = 0;
    const auto n_vocab = static_cast<size_t>(config().n_vocab);
    for (size_t i = 0; i < answer.size(); ++i) {
      sum += test::kl_of_logits(std::span(*expected).subspan(i * n_vocab, n_vocab),
                                std::span(*got).subspan(i * n_vocab, n_vocab));
    }
    return sum;
  };
  EXPECT_LE(kl(1.0), 1e-12);
  EXPECT_GT(kl(0.9), 1e-6);
  EXPECT_GT(kl(0.15), kl(0.9));
}

// Attention sums, not chunk borders, decide which rows stay.
TEST_F(EngineTest, ChunkSizesDoNotChangeTheKeptRows) {
  const auto prompt = tokens(101);
  for (const bool value_norm : {false, true}) {
    Policy p = policy("snapkv", "pyramid", 0.4);
    p.selector_options.value_norm = value_norm;
    const CachePlan planned = plan(p, 101);
    const Sequence expected = prefill(*engine_, prompt, planned);
    for (const int n_chunk : {1, 5, 8, 32, 100, 101}) {
      const auto engine = make_engine(n_chunk);
      const Sequence sequence = prefill(*engine, prompt, planned);
      EXPECT_EQ(sequence.kept, expected.kept) << n_chunk;
      EXPECT_LE(test::kl_of_logits(expected.logits, sequence.logits), 1e-8) << n_chunk;
    }
  }
}

// Shorter than the window, the floor, or neither: from one token on.
TEST_F(EngineTest, PromptsOfAnyLength) {
  for (const std::string& selector : selector_names()) {
    for (const int64_t n_prompt : {1, 2, 31, 33, 39, 40, 41, 100}) {
      const auto prompt = tokens(n_prompt);
      Policy p = policy(selector, "uniform", 0.5, /*window=*/32);
      const int64_t floor = (*make_selector(selector, p.selector_options))->protected_rows().count() + 8;
      p.budget = {KvBudget::Kind::kRowsPerLayer, static_cast<double>(floor)};
      const CachePlan planned = plan(p, n_prompt);
      const Sequence full = prefill(*engine_, prompt, plan_full(config(), n_prompt, kF32Cache));
      Sequence sequence = prefill(*engine_, prompt, planned);
      EXPECT_EQ(sequence.logits, full.logits) << selector << " " << n_prompt;
      for (int64_t rows : planned.rows) EXPECT_EQ(rows, std::min<int64_t>(n_prompt, floor));
      if (n_prompt <= floor) expect_same_cache(sequence.cache, full.cache);
      decode(sequence, 5);
      EXPECT_EQ(sequence.cache.layer(3).positions(1).back(), n_prompt);
    }
  }
}

TEST_F(EngineTest, AWindowLongerThanThePromptKeepsAll) {
  const auto prompt = tokens(33);
  const CachePlan planned = plan(policy("snapkv", "uniform", 0.1, /*window=*/64), 33);
  EXPECT_TRUE(planned.keeps_all());
  const Sequence sequence = prefill(*engine_, prompt, planned);
  EXPECT_EQ(sequence.cache.n_rows(), 4 * 33);
  EXPECT_EQ(sequence.kept[0][1].size(), 33U);

  // A plan made by hand may still ask for less than its window: the latest rows stay.
  CachePlan narrow = planned;
  narrow.rows = {5, 33, 1, 20};
  const Sequence squeezed = prefill(*engine_, prompt, narrow);
  EXPECT_EQ(squeezed.kept[0][0], (std::vector<int32_t>{28, 29, 30, 31, 32}));
  EXPECT_EQ(squeezed.kept[2][1], (std::vector<int32_t>{32}));
}

// A layer of a mixed plan that keeps all is held as forecast, whatever room was asked for.
TEST_F(EngineTest, RoomForLaterRowsIsAsForecast) {
  const auto prompt = tokens(60);
  CachePlan mixed = plan_full(config(), 60, kF32Cache);
  mixed.selector = "snapkv";
  mixed.selector_options.window = 8;
  mixed.rows = {60, 30, 60, 20};
  for (const CachePlan& planned : {mixed, plan_full(config(), 60, kF32Cache)}) {
    const auto sequence = engine_->prefill(prompt, planned, {.n_decode = 500});
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();
    const MemoryForecast forecast = forecast_memory(planned, config(), 500);
    EXPECT_EQ(sequence->cache.bytes().allocated(), forecast.kv_after_prefill);
    EXPECT_EQ(sequence->receipt.kv_peak_held, forecast.kv_peak);
    EXPECT_EQ(sequence->cache.layer(0).capacity(), planned.keeps_all() ? 560 : 60);
  }
}

TEST_F(EngineTest, ProgressEndsAtTheTotal) {
  std::vector<int64_t> done;
  int64_t of = 0;
  PrefillOptions options;
  options.on_progress = [&](int64_t n, int64_t total) { done.push_back(n), of = total; };
  const auto engine = make_engine(16);
  ASSERT_TRUE(engine->prefill(tokens(40), plan_full(config(), 40, kF32Cache), options).ok());
  EXPECT_EQ(done.size(), 4U * 3);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 160);
  EXPECT_EQ(of, 160);
}

// ---- decoding ----

TEST_F(EngineTest, DecodingReadsExactlyTheKeptRowsAtTheirTruePositions) {
  const auto prompt = tokens(90);
  const auto answer = tokens(12, 2);
  for (const std::string& selector : selector_names()) {
    Sequence sequence = prefill(*engine_, prompt, plan(policy(selector, "ripple", 0.4), 90));
    const Sequence full = prefill(*engine_, prompt, plan_full(config(), 90, kF32Cache));
    KvCache by_hand = gathered_by_hand(full.cache, sequence.kept);
    for (size_t i = 0; i < answer.size(); ++i) {
      decode(sequence, answer[i]);
      const int32_t row = 0;
      std::vector<float> expected;
      ForwardBatch batch;
      batch.segments = {{&by_hand, 1, 90 + static_cast<int64_t>(i)}};
      batch.layer_end = 4;
      batch.tokens = {&answer[i], 1};
      batch.logits_of = {&row, 1};
      batch.logits = &expected;
      ASSERT_TRUE(engine_->forward().run(batch).ok());
      ASSERT_EQ(sequence.logits, expected) << selector << " token " << i;
    }
    EXPECT_EQ(sequence.cache.n_pos(), 102);
    EXPECT_EQ(sequence.cache.n_rows(), sequence.plan.total_rows() + 4 * 12);
  }
}

TEST_F(EngineTest, SequencesDecodedTogetherAreThoseDecodedAlone) {
  const std::vector<int64_t> lengths = {70, 1, 40};
  const auto make = [&](size_t s) {
    CachePlan planned = plan(policy("snapkv", "ripple", s == 0 ? 0.3 : 1.0), lengths[s]);
    if (s == 1) planned.decode_slack = 4;  // its layers are compressed on the way
    return prefill(*engine_, tokens(lengths[s], s), planned);
  };
  std::vector<Sequence> alone;
  std::vector<Sequence> together;
  for (size_t s = 0; s < lengths.size(); ++s) {
    alone.push_back(make(s));
    together.push_back(make(s));
  }
  for (int step = 0; step < 10; ++step) {
    std::vector<DecodeStep> steps;
    for (size_t s = 0; s < lengths.size(); ++s) {
      const int32_t token = static_cast<int32_t>(20 + 7 * step + static_cast<int>(s));
      decode(alone[s], token);
      steps.push_back({&together[s], token});
    }
    std::reverse(steps.begin(), steps.end());
    ASSERT_TRUE(engine_->decode(steps).ok());
    for (size_t s = 0; s < lengths.size(); ++s) {
      EXPECT_LE(test::kl_of_logits(alone[s].logits, together[s].logits), 1e-8) << step << " sequence " << s;
      EXPECT_EQ(alone[s].cache.n_rows(), together[s].cache.n_rows());
    }
  }
  EXPECT_TRUE(engine_->decode({}).ok());
}

TEST_F(EngineTest, LimitedDecodingStaysWithinRowsAndSlack) {
  for (const std::string& selector : selector_names()) {
    for (const auto& [n_prompt, fraction, slack] : {std::tuple{int64_t{80}, 0.3, int64_t{1}},
                                                    {80, 0.5, 6},
                                                    {80, 1.0, 100},
                                                    {1, 1.0, 4},
                                                    {5, 1.0, 1},
                                                    {20, 1.0, 12}}) {
      CachePlan planned = plan(policy(selector, "ripple", fraction), n_prompt);
      planned.decode_slack = slack;
      Sequence sequence = prefill(*engine_, tokens(n_prompt), planned);
      for (int step = 0; step < 45; ++step) {
        decode(sequence, 10 + step);
        for (int il = 0; il < 4; ++il) {
          const LayerCache& layer = sequence.cache.layer(il);
          // A prompt shorter than the floor grows to it: its few rows are no budget for a whole answer.
          const int64_t rows = std::max(sequence.plan.rows[static_cast<size_t>(il)], sequence.plan.rows_floor);
          ASSERT_LE(layer.n_rows(), rows + slack) << selector << " layer " << il << " step " << step;
          ASSERT_GE(layer.n_rows(), std::min(rows, n_prompt + step + 1));
          for (int head = 0; head < 2; ++head) {
            ASSERT_TRUE(std::ranges::is_sorted(layer.positions(head)));
            if (make_selector(selector, planned.selector_options).value()->protected_rows().n_window == 0) continue;
            ASSERT_EQ(layer.positions(head).back(), n_prompt + step) << "the newest row was dropped";
          }
        }
      }
      for (float logit : sequence.logits) ASSERT_TRUE(std::isfinite(logit));
    }
  }
}

// What is refused before a run is what the run can reach: no layer grows past it, step by step.
TEST_F(EngineTest, DecodingStaysWithinTheForecast) {
  constexpr int64_t kDecoded = 75;
  for (const double fraction : {0.3, 0.99, 1.0}) {
    for (const int64_t slack : {int64_t{0}, int64_t{1}, int64_t{40}}) {
      SCOPED_TRACE(testing::Message() << fraction << " slack " << slack);
      CachePlan planned = plan(policy("streaming_llm", "ripple", fraction), 400);
      planned.decode_slack = slack;
      auto sequence = engine_->prefill(tokens(400), planned, {.n_decode = kDecoded});
      ASSERT_TRUE(sequence.ok()) << sequence.status().message();
      const MemoryForecast forecast = forecast_memory(planned, config(), kDecoded);
      const MemoryForecast full = forecast_memory(plan_full(config(), 400, kF32Cache), config(), kDecoded);
      std::vector<int64_t> before(4, 0);
      for (int64_t step = 0; step < kDecoded; ++step) {
        for (int il = 0; il < 4; ++il) before[static_cast<size_t>(il)] = sequence->cache.layer(il).bytes().allocated();
        decode(*sequence, static_cast<int32_t>(10 + step));
        int64_t moved = 0;  // the old allocation of a layer that was moved
        for (int il = 0; il < 4; ++il) {
          const int64_t old = before[static_cast<size_t>(il)];
          if (sequence->cache.layer(il).bytes().allocated() != old) moved = std::max(moved, old);
        }
        ASSERT_LE(sequence->cache.bytes().allocated() + moved, forecast.kv_decode) << step;
      }
      EXPECT_LE(sequence->cache.bytes().allocated(), full.kv_decode) << "more than without compression";
    }
  }
}

// What a decode-time budget drops is what the selector says for the last decoded queries, of which the cache itself
// tells.
TEST_F(EngineTest, LimitedDecodingScoresWithTheLastQueries) {
  Policy p = policy("snapkv", "uniform", 0.4, /*window=*/6);
  p.selector_options.kernel = 1;
  CachePlan planned = plan(p, 60);  // 24 rows per layer
  ASSERT_EQ(planned.rows[0], 24);
  const auto answer = tokens(9, 3);
  CachePlan limited = planned;
  limited.decode_slack = 8;
  Sequence sequence = prefill(*engine_, tokens(60), limited);
  // The same tokens without a limit; the rows as they are just before compression, and their queries through a tap.
  Sequence twin = prefill(*engine_, tokens(60), planned);
  const std::vector<TensorSpec> specs(4, {GGML_TYPE_F32, {config().head_dim, config().n_head, 9, 1}});
  const auto queries = engine_->forward().scratch(specs);
  ASSERT_TRUE(queries.ok());
  for (int i = 0; i < 9; ++i) {
    decode(sequence, answer[static_cast<size_t>(i)]);
    ForwardBatch batch;
    batch.segments = {{&twin.cache, 1, 60 + i}};
    batch.layer_end = 4;
    batch.tokens = std::span(answer).subspan(static_cast<size_t>(i), 1);
    for (int il = 0; il < 4; ++il)
      batch.query_taps.push_back({il, 0, 1, (*queries)->tensor(static_cast<size_t>(il)), i});
    TensorSpec hidden = {GGML_TYPE_F32, {config().n_embd, 1, 1, 1}};
    const auto out = engine_->forward().scratch({&hidden, 1});
    batch.hidden_out = (*out)->tensor(0);
    ASSERT_TRUE(engine_->forward().run(batch).ok());
  }
  for (int il = 0; il < 4; ++il) {
    LayerCache& before = twin.cache.layer(il);
    ASSERT_EQ(before.n_rows(), 33);
    const auto attention =
        engine_->forward().window_attention(before, (*queries)->tensor(static_cast<size_t>(il)), nullptr, 3, 6);
    ASSERT_TRUE(attention.ok());
    LayerTaps taps = {.layer = il, .n_rows = 33, .n_head = 4, .n_head_kv = 2, .n_window = 6};
    taps.window_attention = *attention;
    const auto selector = make_selector(p.selector, p.selector_options);
    const KeepList keep = prune((*selector)->score(taps), 33, 2, 24, (*selector)->protected_rows());
    for (int head = 0; head < 2; ++head) {
      std::vector<int32_t> expected;
      for (int32_t row : keep[static_cast<size_t>(head)]) {
        expected.push_back(before.positions(head)[static_cast<size_t>(row)]);
      }
      EXPECT_TRUE(std::ranges::equal(sequence.cache.layer(il).positions(head), expected)) << il << " head " << head;
    }
  }
}

// ---- scoring ----

TEST_F(EngineTest, ScoringLeavesTheCacheAsItWasAndIsWhatDecodingSays) {
  const auto prompt = tokens(64);
  const auto answer = tokens(11, 2);
  Sequence sequence = prefill(*engine_, prompt, plan(policy("snapkv", "ripple", 0.5), 64));
  const KvCache before = std::move(*sequence.cache.fork());
  const auto scores = engine_->score(sequence.cache, answer);
  ASSERT_TRUE(scores.ok()) << scores.status().message();
  expect_same_cache(sequence.cache, before);
  const auto n_vocab = static_cast<size_t>(config().n_vocab);
  ASSERT_EQ(scores->size(), 11 * n_vocab);
  EXPECT_EQ(*engine_->score(sequence.cache, answer), *scores);
  const auto in_chunks = make_engine(3)->score(sequence.cache, answer);
  expect_same_cache(sequence.cache, before);
  EXPECT_TRUE(engine_->score(sequence.cache, {})->empty());
  for (size_t i = 0; i < answer.size(); ++i) {
    decode(sequence, answer[i]);
    const auto of_token = std::span(*scores).subspan(i * n_vocab, n_vocab);
    EXPECT_LE(test::kl_of_logits(sequence.logits, of_token), 1e-8) << i;
    EXPECT_LE(test::kl_of_logits(of_token, std::span(*in_chunks).subspan(i * n_vocab, n_vocab)), 1e-8) << i;
  }
}

// ---- refusals ----

TEST_F(EngineTest, PromptsThatCannotBe) {
  const CachePlan five = plan_full(config(), 5, kF32Cache);
  EXPECT_EQ(engine_->prefill({}, plan_full(config(), 0, kF32Cache)).status().message(),
            "prompt: 0 tokens, expected at least 1");
  for (const int32_t bad : {-1, 300, INT32_MAX, INT32_MIN}) {
    auto prompt = tokens(5);
    prompt[3] = bad;
    const auto refused = engine_->prefill(prompt, five);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.status().message(), fmt::format("prompt: token id {}, expected 0 to 299", bad));

    Sequence sequence = prefill(*engine_, tokens(5), five);
    const KvCache before = std::move(*sequence.cache.fork());
    const DecodeStep step = {&sequence, bad};
    EXPECT_EQ(engine_->decode({&step, 1}).message(), fmt::format("decode: token id {}, expected 0 to 299", bad));
    EXPECT_EQ(engine_->score(sequence.cache, prompt).status().code(), StatusCode::kInvalidArgument);
    expect_same_cache(sequence.cache, before);
  }
}

TEST_F(EngineTest, PlansThatCannotBe) {
  const auto prompt = tokens(100);
  EXPECT_EQ(try_plan(policy("snapkv", "uniform", 0.1), 100).status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(try_plan(policy("snapkv", "uniform", 0.1), 100).status().message().find("16"), std::string::npos);
  EXPECT_FALSE(try_plan(policy("none", "uniform", 0.5), 100).ok());
  EXPECT_FALSE(try_plan(policy("snapkv", "none", 0.5), 100).ok());
  const auto refused = [&](auto change) {
    CachePlan planned = plan_full(config(), 100, kF32Cache);
    change(planned);
    return engine_->prefill(prompt, planned).status();
  };
  EXPECT_EQ(refused([](CachePlan& p) { p.rows.pop_back(); }).code(), StatusCode::kMismatch);
  EXPECT_EQ(refused([](CachePlan& p) { p.format.pop_back(); }).code(), StatusCode::kMismatch);
  EXPECT_EQ(refused([](CachePlan& p) { p.rows[1] = 0; }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused([](CachePlan& p) { p.rows[1] = 101; }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused([](CachePlan& p) { p.selector = "none"; }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused([](CachePlan& p) { p.selector = "snapkv", p.selector_options.window = 0; }).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(EngineTest, FormatsThatDoNotFitTheHeadSize) {
  test::TinyGguf tiny = tiny_model();
  tiny.head_dim = 80;
  model_ = load(test::tiny_gguf(tiny));
  engine_ = make_engine(512);
  for (const KvFormat& format : {KvFormat{KvType::kQ8_0, KvType::kF16}, KvFormat{KvType::kF16, KvType::kQ4_0}}) {
    Policy p = policy("snapkv", "uniform", 0.5);
    p.kv_format = format;
    EXPECT_EQ(try_plan(p, 100).status().code(), StatusCode::kUnsupported);
    const auto refused = engine_->prefill(tokens(5), plan_full(config(), 5, format));
    EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
    EXPECT_NE(refused.status().message().find("80"), std::string::npos) << refused.status().message();
  }
  EXPECT_TRUE(engine_->prefill(tokens(5), plan_full(config(), 5, {})).ok());
}

TEST_F(EngineTest, MoreMemoryThanThereIs) {
  CachePlan huge = plan_full(config(), 5, kF32Cache);
  const auto refused = engine_->prefill(tokens(5), huge, {.n_decode = LayerCache::kManyRows - 1});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("are free"), std::string::npos) << refused.status().message();
}

TEST_F(EngineTest, OptionsThatCannotBe) {
  EXPECT_EQ(Engine::create(model_, {.n_threads = -1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Engine::create(model_, {.n_chunk = 0}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_GE((*Engine::create(model_, {}))->n_threads(), 1);
}

TEST_F(EngineTest, CancellingAPrefillAndADecode) {
  std::atomic<bool> cancel = false;
  engine_->set_cancel(&cancel);
  PrefillOptions options;
  int n_progress = 0;
  options.on_progress = [&](int64_t, int64_t) { cancel = ++n_progress == 2; };
  const auto prompt = tokens(40);
  EXPECT_EQ(engine_->prefill(prompt, plan_full(config(), 40, kF32Cache), options).status().code(),
            StatusCode::kCancelled);
  EXPECT_EQ(n_progress, 2);
  cancel = false;
  CachePlan limited = plan(policy("snapkv", "uniform", 0.5), 40);
  limited.decode_slack = 2;
  Sequence sequence = prefill(*engine_, prompt, limited);
  decode(sequence, 7);
  Sequence expected = prefill(*engine_, prompt, limited);
  decode(expected, 7);

  cancel = true;
  const DecodeStep step = {&sequence, 8};
  EXPECT_EQ(engine_->decode({&step, 1}).code(), StatusCode::kCancelled);
  EXPECT_EQ(engine_->score(sequence.cache, prompt).status().code(), StatusCode::kCancelled);
  expect_same_cache(sequence.cache, expected.cache);
  cancel = false;
  for (int32_t token = 8; token < 14; ++token) {
    decode(sequence, token);
    decode(expected, token);
    EXPECT_EQ(sequence.logits, expected.logits);
  }
  expect_same_cache(sequence.cache, expected.cache);
  engine_->set_cancel(nullptr);
}

}  // namespace
}  // namespace ripplekv
