// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Plans and forecasts: sums that are exact, byte budgets that real caches never exceed, errors that name the smallest
// budget, forecasts by hand and against the allocations of caches that go through a prefill's motions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "cache/plain_cache.h"
#include "cache/tensor_arena.h"
#include "ripplekv/engine.h"

namespace ripplekv {
namespace {

using test::all_formats;
using test::make_layer;
using test::random_keep;

constexpr int kFloor = 40;  // snapkv's window of 32 and the margin of 8

ModelConfig make_config(int n_layer, int head_dim = 64, int n_head_kv = 2) {
  ModelConfig config;
  config.n_layer = n_layer;
  config.head_dim = head_dim;
  config.n_head_kv = n_head_kv;
  config.n_head = 3 * n_head_kv;
  config.n_embd = config.n_head * head_dim;
  return config;
}

Budgets make_uniform(int n_layer, const KvBudget& budget, const KvFormat& format = {}) {
  Budgets budgets;
  budgets.model.n_layer = n_layer;
  budgets.allocator = "uniform";
  budgets.budget = budget;
  budgets.weights = uniform_weights(n_layer);
  budgets.kv_format.assign(static_cast<size_t>(n_layer), format);
  return budgets;
}

AllocationWeights random_weights(int n_layer, Random& random) {
  AllocationWeights weights = uniform_weights(n_layer);
  for (double& weight : weights.weights) weight = std::exp(3 * random.gaussian());
  if (random.below(2) == 0) weights.base_rows = static_cast<double>(random.below(60));
  return weights;
}

// What a cache of these rows costs when its heads keep different rows: K, V and one position per head and row.
int64_t cost(const std::vector<int64_t>& rows, const std::vector<KvFormat>& formats, const LayerShape& shape) {
  int64_t sum = 0;
  for (size_t il = 0; il < rows.size(); ++il) {
    for (int head = 0; head < shape.n_head_kv; ++head) {
      sum += rows[il] * (row_bytes(formats[il].k, shape.head_dim) + row_bytes(formats[il].v, shape.head_dim) + 4);
    }
  }
  return sum;
}

TEST(Plan, FullKeepsEveryRow) {
  const CachePlan plan = plan_full(make_config(3), 1000, {KvType::kQ8_0, KvType::kQ4_0});
  EXPECT_EQ(plan.n_prompt, 1000);
  EXPECT_EQ(plan.rows, (std::vector<int64_t>{1000, 1000, 1000}));
  EXPECT_EQ(plan.format, (std::vector<KvFormat>(3, {KvType::kQ8_0, KvType::kQ4_0})));
  EXPECT_EQ(plan.total_rows(), 3000);
  EXPECT_TRUE(plan.keeps_all());
  EXPECT_TRUE(make_selector(plan.selector, plan.selector_options).ok());
}

TEST(Plan, ByHand) {
  const auto plan = plan_cache(make_uniform(4, {KvBudget::Kind::kFraction, 0.1}), make_config(4), 1000);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->rows, (std::vector<int64_t>{100, 100, 100, 100}));
  EXPECT_EQ(plan->total_rows(), 400);
  EXPECT_FALSE(plan->keeps_all());
  EXPECT_EQ(plan->selector, "snapkv");
  // 102400 bytes of F16 rows: 2 heads * (128 + 128 bytes and a position of 4) = 520 bytes; 196 rows in 4 layers.
  const auto bytes = plan_cache(make_uniform(4, {KvBudget::Kind::kBytes, 102400}), make_config(4), 1000);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(bytes->rows, (std::vector<int64_t>{49, 49, 49, 49}));
  const auto rows = plan_cache(make_uniform(4, {KvBudget::Kind::kRowsPerLayer, 100.5}), make_config(4), 1000);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->rows, (std::vector<int64_t>{101, 101, 100, 100}));
}

TEST(Plan, RowsSumToTheBudgetExactly) {
  Random random(1);
  int n_planned = 0;
  for (int round = 0; round < 2000; ++round) {
    const int n_layer = static_cast<int>(1 + random.below(40));
    const auto n_prompt = static_cast<int64_t>(1 + random.below(6000));
    Budgets budgets = make_uniform(n_layer, {});
    budgets.weights = random_weights(n_layer, random);
    if (random.below(2) == 0) {
      budgets.budget = {KvBudget::Kind::kFraction, 0.01 + 0.99 * random.uniform()};
    } else {
      budgets.budget = {KvBudget::Kind::kRowsPerLayer, 1 + 2000 * random.uniform()};
    }
    const int64_t total = total_rows(budgets.budget, n_prompt, n_layer, 1);
    const auto plan = plan_cache(budgets, make_config(n_layer), n_prompt);
    if (n_prompt <= kFloor) {
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_TRUE(plan->keeps_all());
    } else if (total / n_layer < kFloor) {
      ASSERT_FALSE(plan.ok());
    } else {
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_EQ(plan->total_rows(), total);
      ASSERT_GE(*std::min_element(plan->rows.begin(), plan->rows.end()), kFloor);
      ASSERT_LE(*std::max_element(plan->rows.begin(), plan->rows.end()), n_prompt);
      ++n_planned;
    }
  }
  EXPECT_GT(n_planned, 1000);
}

TEST(Plan, BytesAreNeverExceededAndNoRowIsLeftOver) {
  Random random(2);
  const std::vector<KvFormat> formats = all_formats();
  int n_compressed = 0;
  for (int round = 0; round < 2000; ++round) {
    const int n_layer = static_cast<int>(1 + random.below(20));
    const auto n_prompt = static_cast<int64_t>(kFloor + 1 + static_cast<int64_t>(random.below(3000)));
    const ModelConfig config =
        make_config(n_layer, static_cast<int>(32 * (1 + random.below(4))), static_cast<int>(1 + random.below(8)));
    Budgets budgets = make_uniform(n_layer, {}, formats[random.below(formats.size())]);
    budgets.weights = random_weights(n_layer, random);
    if (random.below(2) == 0) {  // a budgets.json may give every layer another format
      for (KvFormat& format : budgets.kv_format) format = formats[random.below(formats.size())];
    }
    const std::vector<int64_t> whole(static_cast<size_t>(n_layer), n_prompt);
    const std::vector<int64_t> least(static_cast<size_t>(n_layer), kFloor);
    const LayerShape shape = config.layer_shape();
    const auto whole_cost = static_cast<double>(cost(whole, budgets.kv_format, shape));
    budgets.budget = {KvBudget::Kind::kBytes, std::floor(whole_cost * 1.05 * random.uniform()) + 1};
    const auto plan = plan_cache(budgets, config, n_prompt);
    const bool fits = static_cast<double>(cost(least, budgets.kv_format, shape)) <= budgets.budget.value;
    ASSERT_EQ(plan.ok(), fits) << plan.status().message();
    if (!fits) continue;
    ASSERT_LE(static_cast<double>(cost(plan->rows, budgets.kv_format, shape)), budgets.budget.value);
    if (plan->keeps_all()) continue;
    for (size_t il = 0; il < whole.size(); ++il) {
      std::vector<int64_t> more = plan->rows;
      if (++more[il] > n_prompt) continue;
      ASSERT_GT(static_cast<double>(cost(more, budgets.kv_format, shape)), budgets.budget.value);
    }
    ++n_compressed;
  }
  EXPECT_GT(n_compressed, 1000);
}

// A fraction or rows may be those of the f16 cache's bytes: as if the bytes were said, for every length of a prompt.
TEST(Plan, FractionsOfBytesAreBytes) {
  Random random(4);
  const std::vector<KvFormat> formats = all_formats();
  for (int64_t n_prompt : {500, 1000, 2345}) {
    const ModelConfig config = make_config(5);
    Budgets budgets = make_uniform(5, {KvBudget::Kind::kFraction, 0.3});
    budgets.weights = random_weights(5, random);
    for (KvFormat& format : budgets.kv_format) format = formats[random.below(formats.size())];
    budgets.of_bytes = true;
    const auto fraction = plan_cache(budgets, config, n_prompt);
    ASSERT_TRUE(fraction.ok()) << fraction.status().message();
    budgets.budget = {KvBudget::Kind::kRowsPerLayer, 0.3 * static_cast<double>(n_prompt)};
    EXPECT_EQ(plan_cache(budgets, config, n_prompt)->rows, fraction->rows);
    budgets.of_bytes = false;
    budgets.budget = {KvBudget::Kind::kBytes, 0.3 * 5 * 520 * static_cast<double>(n_prompt)};
    EXPECT_EQ(plan_cache(budgets, config, n_prompt)->rows, fraction->rows);
  }
}

TEST(Plan, RealCachesStayWithinTheBytes) {
  Random random(3);
  const std::vector<KvFormat> formats = all_formats();
  for (int round = 0; round < 30; ++round) {
    const int n_layer = static_cast<int>(1 + random.below(4));
    const auto n_prompt = static_cast<int64_t>(100 + random.below(300));
    const ModelConfig config = make_config(n_layer, 32, static_cast<int>(1 + random.below(3)));
    Budgets budgets = make_uniform(n_layer, {});
    budgets.weights = random_weights(n_layer, random);
    for (KvFormat& format : budgets.kv_format) format = formats[random.below(formats.size())];
    const std::vector<int64_t> half(static_cast<size_t>(n_layer), n_prompt / 2);
    budgets.budget = {KvBudget::Kind::kBytes, static_cast<double>(cost(half, budgets.kv_format, config.layer_shape()))};
    const auto plan = plan_cache(budgets, config, n_prompt);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    KvCache cache;
    for (size_t il = 0; il < plan->rows.size(); ++il) {
      LayerCache layer = make_layer(config.layer_shape(), plan->format[il], n_prompt);
      layer.append_written(0, n_prompt);
      ASSERT_TRUE(layer.compact(random_keep(n_prompt, config.n_head_kv, plan->rows[il], false, random)).ok());
      cache.push_layer(std::move(layer));
    }
    const LayerBytes bytes = cache.bytes();
    EXPECT_LE(static_cast<double>(bytes.payload + bytes.scales + bytes.index), budgets.budget.value);
  }
}

TEST(Plan, ShortPromptsAreKeptWhole) {
  const auto plan = plan_cache(make_uniform(4, {KvBudget::Kind::kBytes, 1}), make_config(4), kFloor);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->keeps_all());
}

// What `text` says between `before` and `after`.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return {};
  const size_t end = text.find(after, begin + before.size());
  return text.substr(begin + before.size(), end == std::string::npos ? end : end - begin - before.size());
}

TEST(Plan, TooSmallABudgetNamesTheSmallestThatFits) {
  const auto planned = [](const std::string& budget, int64_t n_prompt) {
    return plan_cache(make_uniform(6, *parse_kv_budget(budget)), make_config(6), n_prompt);
  };
  for (const int64_t n_prompt : {41, 100, 1234, 100000}) {
    for (const char* text : {"1", "39", "0.01%"}) {
      const auto plan = planned(text, n_prompt);
      ASSERT_FALSE(plan.ok());
      EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
      const std::string& message = plan.status().message();
      const std::string start = "--kv-budget " + parse_kv_budget(text)->to_string() + ": ";
      EXPECT_EQ(message.substr(0, start.size()), start);
      EXPECT_EQ(between(message, "smallest budget that fits is ", " rows in all ("), std::to_string(6 * kFloor));
      const std::string smallest = between(message, "smallest budget that fits is ", ")");
      // What it names is accepted, one row less is not.
      const std::string rows = between(smallest, " rows in all (", " per layer");
      const std::string percent = between(smallest, " per layer, ", "% of ") + "%";
      EXPECT_EQ(rows, std::to_string(kFloor)) << message;
      EXPECT_TRUE(planned(rows, n_prompt).ok()) << message;
      EXPECT_TRUE(planned(percent, n_prompt).ok()) << message;
      EXPECT_FALSE(planned(std::to_string(kFloor - 1), n_prompt).ok());
    }
    const std::string bytes = between(planned("2048B", n_prompt).status().message(),
                                      "--kv-budget 2KiB: budget: too few bytes, expected at least ", ":");
    ASSERT_FALSE(bytes.empty());
    EXPECT_TRUE(planned(bytes, n_prompt).ok()) << bytes;
    EXPECT_FALSE(planned(std::to_string(std::stoll(bytes) - 1) + "B", n_prompt).ok()) << bytes;
  }
}

// Where a fraction or rows stand for bytes, what they are told to be stands for bytes, too.
TEST(Plan, TooSmallABudgetOfBytesNamesTheSmallestOfItsKind) {
  const auto planned = [](const std::string& budget, bool lift) {
    Budgets budgets = make_uniform(6, *parse_kv_budget(budget));
    budgets.of_bytes = true;
    for (KvFormat& format : budgets.kv_format) format = {KvType::kQ8_0, KvType::kQ4_0};
    return plan_cache(budgets, make_config(6), 1000, lift);
  };
  for (const char* text : {"1%", "10"}) {
    const std::string message = planned(text, false).status().message();
    const std::string least = between(message, "budget: too few bytes, expected at least ", ":");
    ASSERT_FALSE(least.empty()) << message;
    EXPECT_EQ(least.back() == '%', std::string(text).back() == '%') << message;
    const KvBudget budget = *parse_kv_budget(least);
    EXPECT_TRUE(planned(least, false).ok()) << least;
    const double unit = budget.kind == KvBudget::Kind::kFraction ? 1e-3 : 1;
    EXPECT_FALSE(planned(KvBudget{budget.kind, budget.value - unit}.to_string(), false).ok()) << least;
  }
  // A conversation that has just begun keeps what no layer may fall under.
  const auto lifted = planned("1%", true);
  ASSERT_TRUE(lifted.ok()) << lifted.status().message();
  EXPECT_EQ(lifted->rows, std::vector<int64_t>(6, kFloor));
  EXPECT_FALSE(planned("10", true).ok());
}

TEST(Plan, WhatDoesNotFitTheModelIsRefused) {
  const KvBudget tenth{KvBudget::Kind::kFraction, 0.1};
  const auto refused = [&](const Budgets& budgets, const ModelConfig& config, StatusCode code, const char* says) {
    const auto plan = plan_cache(budgets, config, 1000);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), code);
    EXPECT_NE(plan.status().message().find(says), std::string::npos) << plan.status().message();
  };
  refused(make_uniform(4, tenth), make_config(5), StatusCode::kMismatch, "4 layers, the model has 5");
  Budgets formats = make_uniform(4, tenth);
  formats.kv_format.pop_back();
  refused(formats, make_config(4), StatusCode::kMismatch, "layers");
  Budgets selector = make_uniform(4, tenth);
  selector.selector = "snapkw";
  refused(selector, make_config(4), StatusCode::kInvalidArgument, "snapkw");
  Budgets options = make_uniform(4, tenth);
  options.selector_options.kernel = 4;
  refused(options, make_config(4), StatusCode::kInvalidArgument, "kernel");
  // OpenLLaMA's head size is 100: quantised rows need blocks of 32.
  refused(make_uniform(4, tenth, {KvType::kF16, KvType::kQ8_0}), make_config(4, 100), StatusCode::kUnsupported,
          "head size is 100");
  EXPECT_TRUE(plan_cache(make_uniform(4, tenth), make_config(4, 100), 1000).ok());
}

TEST(Plan, CheckPlan) {
  const ModelConfig config = make_config(3);
  const CachePlan good = *plan_cache(make_uniform(3, {KvBudget::Kind::kFraction, 0.2}), config, 1000);
  EXPECT_TRUE(check_plan(good, config).ok());
  EXPECT_TRUE(check_plan(plan_full(config, 1, {}), config).ok());
  EXPECT_EQ(check_plan(good, make_config(4)).code(), StatusCode::kMismatch);
  CachePlan plan = good;
  plan.format.pop_back();
  EXPECT_EQ(check_plan(plan, config).code(), StatusCode::kMismatch);
  for (const int64_t rows : {int64_t{0}, int64_t{-1}, int64_t{1001}}) {
    plan = good;
    plan.rows[1] = rows;
    const Status status = check_plan(plan, config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("layer 1 is to keep " + std::to_string(rows)), std::string::npos);
  }
  EXPECT_EQ(check_plan(plan_full(make_config(3, 80), 10, {KvType::kQ4_0, KvType::kF16}), make_config(3, 80)).code(),
            StatusCode::kUnsupported);
}

TEST(Forecast, ByHand) {
  if (host_allocation(std::array{int64_t{1}}) != 4096) GTEST_SKIP() << "the figures below are for pages of 4096 bytes";
  // F16, 2 heads of 64: 512 bytes per row. 1000 rows are 125 pages, 104 rows 13, 100 rows 12.5.
  CachePlan plan = plan_full(make_config(3), 1000, {});
  plan.rows = {100, 1000, 104};
  const MemoryForecast in_place = forecast_memory(plan, make_config(3), 0);
  EXPECT_EQ(in_place.layers, (std::vector<int64_t>{13 * 4096, 125 * 4096, 13 * 4096}));
  EXPECT_EQ(in_place.kv_after_prefill, (13 + 125 + 13) * 4096);
  EXPECT_EQ(in_place.kv_peak, (13 + 125 + 125) * 4096);
  EXPECT_EQ(in_place.kv_full, 3 * 125 * 4096);
  EXPECT_EQ(in_place.scratch, 4 * 384 * 1000);
  const MemoryForecast copied = forecast_memory(plan, make_config(3), 0, false);
  EXPECT_EQ(copied.layers, in_place.layers);
  EXPECT_EQ(copied.kv_after_prefill, in_place.kv_after_prefill);
  EXPECT_EQ(copied.kv_peak, (13 + 125 + 125 + 13) * 4096);
  // Room for later rows: in a full cache, but not beside compressed layers.
  EXPECT_EQ(forecast_memory(plan, make_config(3), 64).kv_peak, in_place.kv_peak);
  EXPECT_EQ(forecast_memory(plan, make_config(3), 64).layers, in_place.layers);
  const MemoryForecast full = forecast_memory(plan_full(make_config(3), 1000, {}), make_config(3), 64);
  EXPECT_EQ(full.layers, (std::vector<int64_t>(3, 133 * 4096)));
  EXPECT_EQ(full.kv_after_prefill, 3 * 133 * 4096);
  EXPECT_EQ(full.kv_peak, 3 * 133 * 4096);
  EXPECT_EQ(full.kv_full, 3 * 125 * 4096);
  EXPECT_EQ(full.kv_decode, full.kv_peak);
  // 64 more rows are 8 pages more: 20.5, 133 and 21; the largest moves.
  EXPECT_EQ(forecast_memory(plan, make_config(3), 64).kv_decode, (21 + 133 + 21 + 133) * 4096);
  EXPECT_EQ(in_place.kv_decode, in_place.kv_after_prefill);
  // Nobody knows how many follow: not counted, unless the slack bounds them (16 and the row that is one too many).
  EXPECT_EQ(forecast_memory(plan, make_config(3), LayerCache::kManyRows).kv_decode, in_place.kv_after_prefill);
  plan.decode_slack = 15;  // 116, 1016, 120 rows are 14.5, 127 and 15 pages
  EXPECT_EQ(forecast_memory(plan, make_config(3), LayerCache::kManyRows).kv_decode, (15 + 127 + 15 + 127) * 4096);
  EXPECT_EQ(forecast_memory(plan, make_config(3), 64).kv_decode, (15 + 127 + 15 + 127) * 4096);
  EXPECT_EQ(forecast_memory(plan, make_config(3), 0).kv_decode, in_place.kv_after_prefill);
  // Queries observed: in prefill, and twice W of every layer while decoding.
  EXPECT_EQ(forecast_memory(plan, make_config(3), 0).scratch, in_place.scratch);
  plan.selector = "snapkv";
  EXPECT_EQ(forecast_memory(plan, make_config(3), 0).scratch, 4 * (384 * 1000 + 32 * 6 * 65 + 3 * 2 * 32 * 6 * 64));
  plan.selector = "h2o";
  EXPECT_EQ(forecast_memory(plan, make_config(3), 0).scratch, 4 * (384 * 1000 + 1000 * 6 * 65 + 3 * 2 * 32 * 6 * 64));
  plan.decode_slack = 0;
  EXPECT_EQ(forecast_memory(plan, make_config(3), 0).scratch, 4 * (384 * 1000 + 1000 * 6 * 65));
}

// K and V are aligned each: rows whose bytes just fill their pages may need one more. Here 315 * (34 + 18) bytes are 4
// pages less 4 bytes, and 10720 + 5696 bytes once they are aligned.
TEST(Forecast, CountsTheAlignmentOfKAndV) {
  if (host_allocation(std::array{int64_t{1}}) != 4096) GTEST_SKIP() << "the figures below are for pages of 4096 bytes";
  const ModelConfig config = make_config(1, 32, 1);
  const KvFormat format{KvType::kQ8_0, KvType::kQ4_0};
  EXPECT_EQ(forecast_memory(plan_full(config, 315, format), config, 0).kv_after_prefill, 5 * 4096);
  EXPECT_EQ(make_layer(config.layer_shape(), format, 315).bytes().allocated(), 5 * 4096);
}

CachePlan random_plan(const ModelConfig& config, Random& random) {
  const std::vector<KvFormat> formats = all_formats();
  CachePlan plan = plan_full(config, static_cast<int64_t>(1 + random.below(700)), {});
  for (size_t il = 0; il < plan.rows.size(); ++il) {
    plan.format[il] = formats[random.below(formats.size())];
    if (random.below(4) != 0)
      plan.rows[il] = static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(plan.n_prompt)));
  }
  return plan;
}

// The forecast is what caches really allocate, to the byte, when they are filled and compressed layer by layer.
TEST(Forecast, IsWhatCachesAllocate) {
  Random random(4);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const ModelConfig config =
        make_config(static_cast<int>(1 + random.below(5)), static_cast<int>(32 * (1 + random.below(3))),
                    static_cast<int>(1 + random.below(4)));
    const CachePlan plan = random_plan(config, random);
    const int64_t extra = static_cast<int64_t>(random.below(100));
    KvCache cache;
    int64_t peak_in_place = 0;
    int64_t peak_copied = 0;
    int64_t full = 0;
    std::vector<int64_t> layers;
    for (size_t il = 0; il < plan.rows.size(); ++il) {
      const KvFormat before = prefill_format(plan.format[il]);
      const int64_t room = plan.keeps_all() ? extra : 0;
      LayerCache layer = make_layer(config.layer_shape(), before, plan.n_prompt + room);
      layer.append_written(0, plan.n_prompt);
      full += make_layer(config.layer_shape(), plan.format[il], plan.n_prompt).bytes().allocated();
      const int64_t held = cache.bytes().allocated() + layer.bytes().allocated();
      peak_in_place = std::max(peak_in_place, held);
      peak_copied = std::max(peak_copied, held);
      if (plan.rows[il] < plan.n_prompt || before != plan.format[il]) {
        const KeepList keep = random_keep(plan.n_prompt, config.n_head_kv, plan.rows[il], false, random);
        auto kept = layer.gather(keep, plan.format[il], room);
        peak_copied = std::max(peak_copied, held + kept->bytes().allocated());
        if (before != plan.format[il]) {
          peak_in_place = std::max(peak_in_place, held + kept->bytes().allocated());
          layer = std::move(*kept);
        } else {
          ASSERT_TRUE(layer.compact(keep).ok());
        }
      }
      layers.push_back(layer.bytes().allocated());
      cache.push_layer(std::move(layer));
    }
    const MemoryForecast forecast = forecast_memory(plan, config, extra);
    EXPECT_EQ(forecast.layers, layers);
    EXPECT_EQ(forecast.kv_after_prefill, cache.bytes().allocated());
    EXPECT_EQ(forecast.kv_peak, peak_in_place);
    EXPECT_EQ(forecast.kv_full, full);
    EXPECT_EQ(forecast_memory(plan, config, extra, false).kv_peak, peak_copied);
  }
}

TEST(Forecast, ThePeakIsTheCompressedCacheAndOneFullLayer) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const ModelConfig config = make_config(static_cast<int>(1 + random.below(30)));
    const CachePlan plan = random_plan(config, random);
    const MemoryForecast forecast = forecast_memory(plan, config, 0);
    int64_t largest = 0;  // of a full layer during its own prefill
    for (const KvFormat& format : plan.format) {
      CachePlan one = plan_full(make_config(1), plan.n_prompt, prefill_format(format));
      largest = std::max(largest, forecast_memory(one, make_config(1), 0).kv_full);
    }
    if (plan.format == prefill_formats(plan.format)) {
      EXPECT_LE(forecast.kv_peak, forecast.kv_full);  // never more than without compression
    }
    EXPECT_LE(forecast.kv_peak, forecast.kv_after_prefill + largest);
    EXPECT_GE(forecast.kv_peak, forecast.kv_after_prefill);
    const MemoryForecast copied = forecast_memory(plan, config, 0, false);
    EXPECT_LE(copied.kv_peak, copied.kv_after_prefill + largest);
    EXPECT_GE(copied.kv_peak, forecast.kv_peak);
  }
}

class ReceiptTest : public testing::Test {
 protected:
  ReceiptTest() {
    for (const int64_t rows : {100, 200}) {
      ReceiptLine line;
      line.rows_planned = rows;
      line.rows_held = rows;
      line.bytes_planned = rows * 4096;
      line.bytes.payload = rows * 4000;
      line.bytes.scales = rows * 16;
      line.bytes.padding = rows * 80;
      line.bytes.index = rows * 8;  // not part of the allocation
      receipt_.lines.push_back(line);
    }
    receipt_.kv_peak_planned = 500 * 4096;
    receipt_.kv_peak_held = 500 * 4096;
  }
  void expect_refused(const char* says) {
    const Status status = receipt_.check();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_NE(status.message().find(says), std::string::npos) << status.message();
  }
  Receipt receipt_;
};

TEST_F(ReceiptTest, GoodOnesPass) {
  EXPECT_TRUE(receipt_.check().ok());
  EXPECT_TRUE(Receipt().check().ok());
  receipt_.kv_peak_held = 0;  // less than planned is fine
  EXPECT_TRUE(receipt_.check().ok());
}

TEST_F(ReceiptTest, OtherRowsAreNamed) {
  receipt_.lines[1].rows_held = 201;
  expect_refused("layer 1 holds 201 rows, 200 were planned");
  receipt_.lines[1].rows_held = 199;
  expect_refused("layer 1 holds 199 rows, 200 were planned");
}

TEST_F(ReceiptTest, OtherBytesAreNamed) {
  // As if the layer had only been masked: the rows say 200, the allocation is still that of the prompt.
  receipt_.lines[1].bytes.padding += 10 * 4096;
  expect_refused("layer 1 holds");
  receipt_.lines[1].bytes.padding -= 20 * 4096;
  expect_refused("layer 1 holds");
}

TEST_F(ReceiptTest, AHigherPeakIsRefused) {
  receipt_.kv_peak_held = 600 * 4096;
  expect_refused("reached");
}

}  // namespace
}  // namespace ripplekv
