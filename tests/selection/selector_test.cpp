// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The registry and what all selectors have in common: names, scores of the right size, rows that prune() can use.
// What a method scores is tested next to it, in <method>_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "base/random.h"
#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

std::string message_of(std::string_view name, const SelectorOptions& options) {
  const auto selector = make_selector(name, options);
  EXPECT_FALSE(selector.ok());
  if (selector.ok()) return "";
  EXPECT_EQ(selector.status().code(), StatusCode::kInvalidArgument);
  return selector.status().message();
}

TEST(Selector, EveryEntryOfTheRegistryCanBeMade) {
  std::set<std::string_view> names;
  for (const SelectorInfo& info : selector_registry()) {
    const auto selector = make_selector(info.name, {});
    ASSERT_TRUE(selector.ok()) << selector.status().message();
    EXPECT_EQ((*selector)->name(), info.name);
    EXPECT_FALSE(info.summary.empty());
    EXPECT_EQ(info.summary.find('\n'), std::string_view::npos);
    names.insert(info.name);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"full", "streaming_llm", "snapkv", "h2o", "tova", "knorm", "keydiff",
                                               "expected_attention", "random"}));
  EXPECT_EQ(names.size(), selector_registry().size());
}

TEST(Selector, UnknownNameListsWhatExists) {
  EXPECT_EQ(message_of("snapvk", {}),
            "selector: got 'snapvk', expected one of full, streaming_llm, snapkv, h2o, tova, knorm, keydiff, "
            "expected_attention, random, or one of them after 'sinks+'; did you mean snapkv?");
  EXPECT_NE(message_of("sinks+snapvk", {}).find("did you mean snapkv?"), std::string::npos);
  EXPECT_FALSE(make_selector("sinks+", {}).ok());
  for (const std::string_view name : {"sinks+sinks+snapkv", "sinks+full"}) {
    EXPECT_NE(message_of(name, {}).find("a method that drops rows after 'sinks+'"), std::string::npos);
  }
  EXPECT_FALSE(make_selector("", {}).ok());
  EXPECT_FALSE(make_selector("SnapKV", {}).ok());
  EXPECT_FALSE(make_selector("snapkv ", {}).ok());
}

TEST(Selector, BadOptionsAreRefusedByEveryMethod) {
  constexpr int kLowest = std::numeric_limits<int>::min();
  for (const SelectorInfo& info : selector_registry()) {
    for (int window : {0, -1, kLowest, kWindowMax + 1, std::numeric_limits<int>::max()}) {
      EXPECT_NE(message_of(info.name, {.window = window}).find("window of " + std::to_string(window)),
                std::string::npos);
    }
    for (int kernel : {0, -1, -3, 2, 4, 1 << 30, kLowest}) {
      EXPECT_NE(message_of(info.name, {.kernel = kernel}).find("kernel of " + std::to_string(kernel)),
                std::string::npos);
    }
    for (int n_sink : {-1, kLowest}) {
      EXPECT_NE(message_of(info.name, {.n_sink = n_sink}).find("got " + std::to_string(n_sink)), std::string::npos);
    }
    EXPECT_TRUE(make_selector(info.name, {.window = 1, .kernel = 1, .n_sink = 0}).ok());
    EXPECT_TRUE(make_selector(info.name, {.window = kWindowMax,
                                          .kernel = std::numeric_limits<int>::max(),
                                          .n_sink = std::numeric_limits<int>::max()})
                    .ok());
  }
}

TEST(Selector, HeadFloorsAreForScoresThatCompareBetweenHeads) {
  for (const SelectorInfo& info : selector_registry()) {
    for (const double bad : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_NE(message_of(info.name, {.head_floor = bad}).find("a head floor of"), std::string::npos) << info.name;
    }
    const bool compares = info.name == "snapkv" || info.name == "h2o" || info.name == "expected_attention";
    EXPECT_EQ(make_selector(info.name, {.head_floor = 0.2}).ok(), compares) << info.name;
    if (info.name != "full") {
      EXPECT_EQ(make_selector("sinks+" + std::string(info.name), {.head_floor = 0.0}).ok(), compares) << info.name;
    }
  }
  EXPECT_EQ(message_of("tova", {.head_floor = 0.2}),
            "selector tova: got a head floor of 0.2, expected 1, since its scores do not compare between KV heads");
}

// Every method over random shapes and options: sizes, no NaN, a second call says the same, protected rows stay.
TEST(Selector, ScoresOfRandomLayersCanBePruned) {
  Random random(1);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random.below(static_cast<uint64_t>(high - low + 1)));
  };
  for (int repeat = 0; repeat < 300; ++repeat) {
    SelectorOptions options;
    options.window = between(1, 20);
    options.kernel = 2 * between(0, 6) + 1;
    options.pooling = random.below(2) ? Pooling::kMax : Pooling::kAverage;
    options.group = random.below(2) ? GroupReduce::kMax : GroupReduce::kMean;
    options.value_norm = random.below(2) == 1;
    options.n_sink = between(0, 6);
    options.seed = random.next();

    LayerTaps taps;
    taps.layer = between(0, 80);
    taps.n_rows = between(1, 60);
    taps.n_head_kv = between(1, 3);
    taps.n_head = taps.n_head_kv * between(1, 4);
    const int head_dim = between(1, 9);
    std::vector<float> attention(static_cast<size_t>(taps.n_rows * taps.n_head));
    for (float& a : attention) a = static_cast<float>(random.uniform());
    std::vector<float> norm(static_cast<size_t>(taps.n_rows * taps.n_head_kv));
    for (float& n : norm) n = static_cast<float>(random.uniform() * 1e30);
    std::vector<float> keys(norm.size() * static_cast<size_t>(head_dim));
    for (float& k : keys) k = random.below(3) == 0 ? 0.0F : static_cast<float>(random.uniform() * 1e15 - 5e14);
    std::vector<float> logits(attention.size());
    for (float& l : logits) l = static_cast<float>(random.uniform() * 2e30 - 1e30);

    std::vector<std::string> names;
    for (const SelectorInfo& info : selector_registry()) {
      names.emplace_back(info.name);
      if (info.name != "full") names.push_back("sinks+" + names.back());
    }
    for (const std::string& name : names) {
      const auto selector = std::move(make_selector(name, options)).value();
      EXPECT_EQ(selector->name(), name);
      taps.n_window = static_cast<int>(selector->n_query(taps.n_rows));
      ASSERT_GE(taps.n_window, (selector->needs() & kTapsOfQueries) != 0 ? 1 : 0) << name;
      ASSERT_LE(taps.n_window, taps.n_rows) << name;
      // Only what was asked for is there.
      taps.window_attention = {};
      taps.value_norm = {};
      taps.keys = {};
      taps.future_attention = {};
      if (selector->needs() & kTapWindowAttention) taps.window_attention = attention;
      if (selector->needs() & kTapValueNorm) taps.value_norm = norm;
      if (selector->needs() & kTapKeys) taps.keys = keys;
      if (selector->needs() & kTapFutureAttention) taps.future_attention = logits;
      const std::vector<float> scores = selector->score(taps);
      ASSERT_EQ(scores.size(), static_cast<size_t>(taps.n_rows * taps.n_head_kv)) << name;
      for (float s : scores) ASSERT_FALSE(std::isnan(s)) << name;
      EXPECT_EQ(scores, selector->score(taps)) << name;

      const ProtectedRows protected_rows = selector->protected_rows();
      const int64_t rows = protected_rows.count() + 2;
      const KeepList keep = prune(scores, taps.n_rows, taps.n_head_kv, rows, protected_rows);
      ASSERT_EQ(keep.size(), static_cast<size_t>(taps.n_head_kv));
      for (const auto& list : keep) {
        ASSERT_EQ(static_cast<int64_t>(list.size()), std::min(rows, taps.n_rows)) << name;
        const std::set<int32_t> kept(list.begin(), list.end());
        for (int64_t row = 0; row < taps.n_rows; ++row) {
          if (row < protected_rows.n_sink || row >= taps.n_rows - protected_rows.n_window) {
            EXPECT_TRUE(kept.contains(static_cast<int32_t>(row))) << name << " row " << row;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
