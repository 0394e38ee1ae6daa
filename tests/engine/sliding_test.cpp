// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Layers with a sliding window: outside the budget, cut to their window after prefill and while decoding, and none of
// it changes what a layer sees. Their graphs are held against libllama in tests/model/tiny_oracle_test.cpp.
#include <atomic>
#include <numeric>

#include "engine/tiny_engine.h"
#include "engine/trace.h"
#include "profiling/profiler.h"
#include "test_util/model_runs.h"
#include "test_util/oracle.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

constexpr int64_t kWindow = 20;

// Layers 0 and 2 slide, 1 and 3 see all.
class SlidingTest : public test::TinyEngineTest {
 protected:
  void SetUp() override {
    test::TinyGguf tiny = tiny_model();
    tiny.architecture = "gemma3";
    tiny.sliding_window = kWindow;
    tiny.sliding_pattern = 2;
    static const std::string path = test::tiny_gguf(tiny);
    model_ = load(path);
    engine_ = make_engine(16);
  }
};

TEST_F(SlidingTest, TheModelSaysWhichLayersShareABudget) {
  EXPECT_EQ(model_->id().sliding_layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(model_->id().sliding_window, kWindow);
  EXPECT_EQ(model_->id().compressible_layers(), (std::vector<int>{1, 3}));
}

TEST_F(SlidingTest, BudgetsAreSharedByTheOtherLayersAlone) {
  for (const char* allocator : {"uniform", "pyramid", "ripple"}) {
    const CachePlan planned = plan(policy("snapkv", allocator, 0.3), 200);
    EXPECT_EQ(planned.rows[0], kWindow) << allocator;
    EXPECT_EQ(planned.rows[2], kWindow) << allocator;
    EXPECT_EQ(planned.rows[1] + planned.rows[3], 120) << allocator;
    EXPECT_EQ(planned.total_rows(), 120) << allocator;
  }
  // Of the profile {0.1, 0.9, 0.0, 0.4} only layers 1 and 3 count: r and 1.
  const CachePlan ripple = plan(policy("snapkv", "ripple", 0.3), 200);
  EXPECT_EQ(ripple.rows, (std::vector<int64_t>{kWindow, 96, kWindow, 24}));
  const CachePlan shorter_than_the_window = plan(policy("snapkv", "uniform", 1.0), 12);
  EXPECT_EQ(shorter_than_the_window.rows, (std::vector<int64_t>(4, 12)));
}

// Bytes are the whole cache's, windows included.
TEST_F(SlidingTest, BudgetsInBytesIncludeTheWindows) {
  const int64_t row = bytes_per_row(config().layer_shape(), kF32Cache);
  Policy of_bytes = policy("snapkv", "uniform", 1.0);
  of_bytes.budget = {KvBudget::Kind::kBytes, static_cast<double>(row * (2 * kWindow + 101))};
  EXPECT_EQ(plan(of_bytes, 200).rows, (std::vector<int64_t>{kWindow, 51, kWindow, 50}));
  of_bytes.budget.value = static_cast<double>(row * 2 * kWindow);
  const auto refused = try_plan(of_bytes, 200);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("sliding layers alone take"), std::string::npos);
}

// A budget in bytes is answered in bytes, and what the answer expects fits.
TEST_F(SlidingTest, TooFewBytesNameTheLeast) {
  const int64_t row = bytes_per_row(config().layer_shape(), kF32Cache);
  Policy of_bytes = policy("snapkv", "uniform", 1.0);
  of_bytes.budget = {KvBudget::Kind::kBytes, static_cast<double>(row * 2 * kWindow + 1)};
  const std::string message = try_plan(of_bytes, 200).status().message();
  const std::string before = "expected at least ";
  const size_t begin = message.find(before) + before.size();
  ASSERT_NE(message.find(before), std::string::npos) << message;
  const auto least = parse_kv_budget(message.substr(begin, message.find(':', begin) - begin));
  ASSERT_TRUE(least.ok()) << message;
  of_bytes.budget = *least;
  EXPECT_TRUE(try_plan(of_bytes, 200).ok()) << message;
  of_bytes.budget.value -= 1;
  EXPECT_EQ(try_plan(of_bytes, 200).status().code(), StatusCode::kInvalidArgument);
}

// Curves are read at the fraction that is left of the bytes, not at the one of all.
TEST_F(SlidingTest, CurvesKnowWhatTheWindowsTake) {
  Profile profile = this->profile();
  profile.settings.curve_fractions = {0.2, 0.6};
  profile.settings.curve_formats = {KvFormat{}};
  for (ProfileSample& sample : profile.samples) sample.damage = {{0, 0.4, 0, 0.1}, {0, 0.05, 0, 0.04}};
  Policy curves = policy("snapkv", "curves", 0.3);
  curves.kv_format = kF32Cache;
  const auto weights_of = [&](const KvBudget& budget) {
    curves.budget = budget;
    const auto budgets = make_budgets(model_->id(), curves, &profile, 200);
    EXPECT_TRUE(budgets.ok()) << budgets.status().message();
    return budgets.ok() ? budgets->weights.weights : std::vector<double>();
  };
  const auto rows = static_cast<double>(2 * kWindow) + 0.3 * 2 * 200;
  const auto of_rows = rows * static_cast<double>(bytes_per_row(config().layer_shape(), kF32Cache));
  EXPECT_EQ(weights_of({KvBudget::Kind::kBytes, of_rows}), weights_of({KvBudget::Kind::kFraction, 0.3}));
}

// With nothing else compressed, a cache cut to its windows answers as one that forgot nothing.
TEST_F(SlidingTest, CuttingToTheWindowChangesNoAnswer) {
  for (const int64_t n_prompt : {int64_t{1}, int64_t{19}, int64_t{20}, int64_t{21}, int64_t{90}}) {
    const auto all = tokens(n_prompt + 80);
    const auto expected = test::all_logits(engine_->forward(), all, kF32Cache, 512);
    const auto prompt = std::span(all).first(static_cast<size_t>(n_prompt));
    Sequence sequence = prefill(*engine_, prompt, plan_full(config(), n_prompt, kF32Cache));
    EXPECT_EQ(sequence.cache.layer(0).n_rows(), std::min(n_prompt, kWindow));
    EXPECT_EQ(sequence.cache.layer(1).n_rows(), n_prompt);
    for (auto i = static_cast<size_t>(n_prompt); i < all.size(); ++i) {
      ASSERT_LE(test::kl_of_logits(expected[i - 1], sequence.logits), 1e-6) << "prompt " << n_prompt << " token " << i;
      decode(sequence, all[i]);
      ASSERT_LE(sequence.cache.layer(2).n_rows(), kWindow + LayerCache::kGrowRows);
    }
    EXPECT_EQ(sequence.cache.layer(1).n_rows(), n_prompt + 80);
  }
}

TEST_F(SlidingTest, FullLayersBesideWindowsHaveRoomForTheAnswer) {
  for (const int64_t n_prompt : {7, 150}) {
    const CachePlan planned = plan_full(config(), n_prompt, kF32Cache);
    auto sequence = engine_->prefill(tokens(n_prompt), planned, {.n_decode = 60});
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();
    const MemoryForecast forecast = forecast_memory(planned, config(), 60);
    EXPECT_EQ(sequence->cache.layer(1).capacity(), n_prompt + 60);
    EXPECT_EQ(sequence->cache.bytes().allocated(), forecast.kv_after_prefill);
    EXPECT_EQ(sequence->receipt.kv_peak_held, forecast.kv_peak);
    for (int step = 0; step < 60; ++step) {
      decode(*sequence, 10 + step);
      ASSERT_LE(sequence->cache.bytes().allocated(), forecast.kv_decode);
    }
  }
}

TEST_F(SlidingTest, CompressedLayersBesideWindowsAreHeldAsForecast) {
  for (const std::string selector : {"snapkv", "h2o", "expected_attention", "sinks+knorm"}) {
    CachePlan planned = plan(policy(selector, "ripple", 0.4), 150);
    planned.decode_slack = 5;
    auto sequence = engine_->prefill(tokens(150), planned, {.n_decode = 60});
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();
    const MemoryForecast forecast = forecast_memory(planned, config(), 60);
    EXPECT_EQ(sequence->cache.bytes().allocated(), forecast.kv_after_prefill);
    EXPECT_EQ(sequence->receipt.kv_peak_held, forecast.kv_peak);
    EXPECT_LE(forecast.kv_peak,
              forecast.kv_full + forecast_memory(plan_full(config(), 150, kF32Cache), config(), 0).kv_peak);
    for (int step = 0; step < 60; ++step) {
      decode(*sequence, 10 + step);
      ASSERT_LE(sequence->cache.bytes().allocated(), forecast.kv_decode);
      for (int il : {1, 3}) ASSERT_LE(sequence->cache.layer(il).n_rows(), planned.rows[static_cast<size_t>(il)] + 5);
    }
  }
}

// Turns appended to a cut cache answer as one long prompt, whether layers drop rows beside their windows or not.
TEST_F(SlidingTest, TurnsAreAppendedToCutCaches) {
  const auto all = tokens(190);
  const auto expected = test::all_logits(engine_->forward(), all, kF32Cache, 512);
  const std::span<const int32_t> whole(all);
  Sequence sequence = prefill(*engine_, whole.first(70), plan_full(config(), 70, kF32Cache));
  for (const int64_t n_pos : {75, 130, 190}) {
    const auto n_held = static_cast<size_t>(sequence.cache.n_pos());
    const Status extended = engine_->extend(sequence, whole.subspan(n_held, static_cast<size_t>(n_pos) - n_held),
                                            plan_full(config(), n_pos, kF32Cache), {.n_decode = 10});
    ASSERT_TRUE(extended.ok()) << extended.message();
    EXPECT_LE(test::kl_of_logits(expected[static_cast<size_t>(n_pos) - 1], sequence.logits), 1e-6) << n_pos;
    EXPECT_LT(sequence.cache.layer(0).n_rows(), kWindow + LayerCache::kGrowRows) << n_pos;
    EXPECT_EQ(sequence.cache.layer(1).n_rows(), n_pos);
  }
  Sequence compressed = prefill(*engine_, whole.first(100), plan(policy("snapkv", "uniform", 0.5), 100));
  const Status extended =
      engine_->extend(compressed, whole.subspan(100), plan(policy("snapkv", "uniform", 0.3), 190), {});
  ASSERT_TRUE(extended.ok()) << extended.message();
  EXPECT_EQ(compressed.cache.layer(2).n_rows(), kWindow);
  EXPECT_EQ(compressed.cache.layer(2).positions(0).front(), 190 - kWindow);
  EXPECT_EQ(compressed.cache.layer(3).n_rows(), 57);
  // Cancelled, nothing has changed, not even a window.
  std::atomic<bool> cancel = true;
  Sequence before = prefill(*engine_, whole.first(70), plan_full(config(), 70, kF32Cache));
  engine_->set_cancel(&cancel);
  EXPECT_FALSE(engine_->extend(before, whole.subspan(70), plan_full(config(), 190, kF32Cache)).ok());
  engine_->set_cancel(nullptr);
  expect_same_cache(before.cache, prefill(*engine_, whole.first(70), plan_full(config(), 70, kF32Cache)).cache);
}

// The traced cache is the window's rows, and what both caches say differs by the other layers alone.
TEST_F(SlidingTest, TracesKeepTheWindow) {
  const auto ids = tokens(100);
  const auto answer = tokens(12, 9);
  const auto whole = trace_prompt(*engine_, ids, answer, plan_full(config(), 100, kF32Cache), nullptr);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  std::vector<int32_t> window(kWindow);
  std::iota(window.begin(), window.end(), 100 - static_cast<int32_t>(kWindow));
  EXPECT_EQ(whole->kept[0], KeepList(2, window));
  EXPECT_LE(whole->kl, 1e-6);
  const auto cut = trace_prompt(*engine_, ids, answer, plan(policy("snapkv", "uniform", 0.3), 100), nullptr);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_EQ(cut->kept[2], KeepList(2, window));
  EXPECT_EQ(cut->kept[1][0].size(), 30U);
  EXPECT_GT(cut->kl, 1e-4);
}

TEST_F(SlidingTest, ProfilesMeasureTheOtherLayers) {
  ProfileSettings settings;
  settings.n_answer = 6;
  settings.selector_options.window = 8;
  settings.curve_fractions = {0.5};
  const ProfileSample measured = profiled(settings, 60);
  ASSERT_EQ(measured.damage.size(), 1U);
  for (int il : {0, 2}) EXPECT_EQ(measured.sensitivity[0][static_cast<size_t>(il)], 0) << il;
  for (int il : {1, 3}) {
    EXPECT_GT(measured.sensitivity[0][static_cast<size_t>(il)], 0) << il;
    EXPECT_GT(measured.damage[0][static_cast<size_t>(il)], 0) << il;
  }
}

// A window drops nothing at any fraction: what its format costs is measured where all rows stay, and left as it was.
TEST_F(SlidingTest, ProfilesMeasureWhatRoundingCostsTheWindows) {
  ProfileSettings settings;
  settings.n_answer = 6;
  settings.n_repeat = 1;
  settings.selector_options.window = 8;
  settings.curve_fractions = {0.5, 1};
  settings.kv_format = kF32Cache;
  settings.curve_formats = {kF32Cache, {KvType::kQ4_0, KvType::kQ4_0}};
  const ProfileSample measured = profiled(settings, 60);
  ASSERT_EQ(measured.damage.size(), 4U);
  for (size_t point = 0; point < 4; ++point) {
    const bool all_rows = point % 2 == 1;
    const bool rounded = point >= 2;
    for (size_t il = 0; il < 4; ++il) {
      const bool slides = il % 2 == 0;
      const bool changed = all_rows ? rounded : !slides;
      EXPECT_EQ(measured.damage[point][il] > 0, changed) << point << " " << il;
    }
  }
  const std::vector<double> alone = {measured.damage[3][0], measured.damage[3][2]};
  EXPECT_NE(alone[0], alone[1]);
}

// A fraction is of the other layers, with windows in f16 on top: stored in fewer bytes, they leave the rest to others.
TEST_F(SlidingTest, WindowsInFewerBytesLeaveRowsToOthers) {
  Budgets budgets = make_budgets(model_->id(), policy("snapkv", "uniform", 0.3), nullptr).value();
  budgets.of_bytes = true;
  const KvFormat f16;
  const KvFormat small = {KvType::kQ8_0, KvType::kQ4_0};
  const LayerShape shape = config().layer_shape();
  const auto bytes_of = [&](const CachePlan& planned) {
    int64_t bytes = 0;
    for (size_t il = 0; il < 4; ++il) bytes += planned.rows[il] * bytes_per_row(shape, planned.format[il]);
    return bytes;
  };
  budgets.kv_format.assign(4, f16);
  const CachePlan plain = plan_cache(budgets, config(), 200).value();
  EXPECT_EQ(plain.rows, (std::vector<int64_t>{kWindow, 60, kWindow, 60}));
  budgets.kv_format = {small, f16, small, f16};
  const CachePlan saved = plan_cache(budgets, config(), 200).value();
  EXPECT_GT(saved.total_rows(), plain.total_rows());
  EXPECT_LE(bytes_of(saved), bytes_of(plain));
  EXPECT_GT(bytes_of(saved), bytes_of(plain) - bytes_per_row(shape, f16));
  // The other way round, the least that fits is named with what windows cost more.
  budgets.kv_format = {kF32Cache, f16, kF32Cache, f16};
  const CachePlan dearer = plan_cache(budgets, config(), 200).value();
  EXPECT_LT(dearer.total_rows(), plain.total_rows());
  EXPECT_LE(bytes_of(dearer), bytes_of(plain));
  EXPECT_GT(bytes_of(dearer), bytes_of(plain) - bytes_per_row(shape, f16));
  budgets.budget.value = 0.1;
  const auto refused = plan_cache(budgets, config(), 200);
  const std::string message = refused.status().message();
  const std::string before = "expected at least ";
  const size_t begin = message.find(before) + before.size();
  ASSERT_NE(message.find(before), std::string::npos) << message;
  budgets.budget = parse_kv_budget(message.substr(begin, message.find(':', begin) - begin)).value();
  EXPECT_TRUE(plan_cache(budgets, config(), 200).ok()) << message;
  budgets.budget.value -= 0.001;
  EXPECT_FALSE(plan_cache(budgets, config(), 200).ok()) << message;
}

TEST_F(SlidingTest, PlansForOtherWindowsAreRefused) {
  CachePlan planned = plan_full(config(), 50, kF32Cache);
  planned.windows.clear();
  EXPECT_EQ(check_plan(planned, config()).code(), StatusCode::kMismatch);
  planned = plan_full(config(), 50, kF32Cache);
  planned.rows[2] = 50;
  EXPECT_NE(check_plan(planned, config()).message().find("layer 2 is to keep 50 rows, expected its window of 20"),
            std::string::npos);
}

}  // namespace
}  // namespace ripplekv
