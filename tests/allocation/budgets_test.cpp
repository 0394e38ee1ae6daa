// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// budgets.json: exact round trips, damage of every kind refused with a sentence that names it, truncation and random
// damage, and that an unusable struct is not written over a good file.
#include "ripplekv/budgets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "test_util/artefact.h"

namespace ripplekv {
namespace {

using test::kHash;

Budgets example() {
  Budgets budgets;
  budgets.model = {kHash, "Tiny \xC3\xA9", "llama", 3};
  budgets.allocator = "ripple";
  budgets.budget = *parse_kv_budget("20%");
  budgets.selector = "snapkv";
  budgets.selector_options.kernel = 7;
  budgets.selector_options.pooling = Pooling::kMax;
  budgets.selector_options.group = GroupReduce::kMax;
  budgets.selector_options.value_norm = true;
  budgets.selector_options.seed = ~uint64_t{0};
  budgets.rows_floor_extra = 9;
  budgets.weights = {{0.5, 0.125, 0.375}, 32.5};
  budgets.kv_format = {{KvType::kF16, KvType::kF16}, {KvType::kQ8_0, KvType::kQ4_0}, {KvType::kF32, KvType::kF16}};
  budgets.settings = "{\"gamma\":8.0,\"r\":4.0}";
  budgets.profile_hash = kHash;
  return budgets;
}

void expect_equal(const Budgets& a, const Budgets& b) {
  EXPECT_EQ(a.model.fingerprint, b.model.fingerprint);
  EXPECT_EQ(a.model.name, b.model.name);
  EXPECT_EQ(a.model.architecture, b.model.architecture);
  EXPECT_EQ(a.model.n_layer, b.model.n_layer);
  EXPECT_EQ(a.allocator, b.allocator);
  EXPECT_EQ(a.budget.kind, b.budget.kind);
  EXPECT_EQ(a.budget.value, b.budget.value);
  EXPECT_EQ(a.selector, b.selector);
  EXPECT_TRUE(a.selector_options == b.selector_options);
  EXPECT_EQ(a.rows_floor_extra, b.rows_floor_extra);
  EXPECT_EQ(a.weights.weights, b.weights.weights);  // exactly
  EXPECT_EQ(a.weights.base_rows, b.weights.base_rows);
  EXPECT_EQ(a.kv_format, b.kv_format);
  EXPECT_EQ(a.settings, b.settings);
  EXPECT_EQ(a.profile_hash, b.profile_hash);
}

class BudgetsTest : public test::ArtefactTest {
 protected:
  static Status read(const std::string& path) { return read_budgets(path).status(); }
};

TEST_F(BudgetsTest, RoundTrip) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  const auto back = read_budgets(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal(*back, example());

  Budgets other = example();
  other.model.sliding_layers = {0, 2};
  other.model.sliding_window = 512;
  other.settings = "";
  ASSERT_TRUE(write_budgets(other, path_).ok());
  const auto sliding = read_budgets(path_);
  ASSERT_TRUE(sliding.ok()) << sliding.status().message();
  EXPECT_EQ(sliding->model.sliding_layers, other.model.sliding_layers);
  EXPECT_EQ(sliding->model.sliding_window, 512);
  EXPECT_EQ(sliding->model.layer, LayerShape{});
  EXPECT_EQ(sliding->settings, "{}");

  other.model.layer = {.head_dim = 64, .n_head_kv = 3};
  ASSERT_TRUE(write_budgets(other, path_).ok());
  const auto shaped = read_budgets(path_);
  ASSERT_TRUE(shaped.ok()) << shaped.status().message();
  EXPECT_EQ(shaped->model.layer, other.model.layer);
  EXPECT_TRUE(shaped->head_shares.empty());

  other.head_shares = {{}, {0.5, 0.25, 0.25}, {1, 0, 0}};
  ASSERT_TRUE(write_budgets(other, path_).ok());
  const auto headed = read_budgets(path_);
  ASSERT_TRUE(headed.ok()) << headed.status().message();
  EXPECT_EQ(headed->head_shares, other.head_shares);
}

TEST_F(BudgetsTest, TheFileIsWhatTheDocumentsSay) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  EXPECT_EQ(text(),
            "{\n"
            "  \"format\": \"ripplekv.budgets\",\n"
            "  \"version\": 1,\n"
            "  \"model\": {\"fingerprint\": \"" +
                kHash +
                "\", \"name\": \"Tiny \xC3\xA9\", \"architecture\": \"llama\", \"n_layer\": 3},\n"
                "  \"allocator\": \"ripple\",\n"
                "  \"settings\": {\"gamma\": 8.0, \"r\": 4.0},\n"
                "  \"profile_hash\": \"" +
                kHash +
                "\",\n"
                "  \"budget\": \"20%\",\n"
                "  \"kept_fraction\": 0.2,\n"
                "  \"selector\": \"snapkv\",\n"
                "  \"selector_options\": {\"window\": 32, \"kernel\": 7, \"pooling\": \"max\", \"group\": \"max\", "
                "\"value_norm\": true, \"n_sink\": 4, \"seed\": 18446744073709551615},\n"
                "  \"rows_floor_extra\": 9,\n"
                "  \"base_rows\": 32.5,\n"
                "  \"layers\": [\n"
                "    {\"layer\": 0, \"share\": 0.5, \"k\": \"f16\", \"v\": \"f16\"},\n"
                "    {\"layer\": 1, \"share\": 0.125, \"k\": \"q8_0\", \"v\": \"q4_0\"},\n"
                "    {\"layer\": 2, \"share\": 0.375, \"k\": \"f32\", \"v\": \"f16\"}\n"
                "  ]\n"
                "}\n");
}

TEST_F(BudgetsTest, EveryKindOfBudgetRoundTrips) {
  for (const std::string budget : {"0.5%", "100%", "512", "8k", "256MiB", "100MB", "33.3%"}) {
    Budgets budgets = example();
    budgets.budget = *parse_kv_budget(budget);
    ASSERT_TRUE(write_budgets(budgets, path_).ok());
    const auto back = read_budgets(path_);
    ASSERT_TRUE(back.ok()) << back.status().message();
    expect_equal(*back, budgets);
    EXPECT_EQ(text().find("kept_fraction") != std::string::npos, budgets.budget.kind == KvBudget::Kind::kFraction);
  }
}

// Written only where it says something, so that files of before it are read as they were meant.
TEST_F(BudgetsTest, AHeadFloorRoundTrips) {
  Budgets budgets = example();
  budgets.selector_options.head_floor = 0.2;
  ASSERT_TRUE(write_budgets(budgets, path_).ok());
  EXPECT_NE(text().find("\"seed\": 18446744073709551615, \"head_floor\": 0.2}"), std::string::npos) << text();
  const auto back = read_budgets(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal(*back, budgets);
  budgets.selector_options.head_floor = 1.5;
  EXPECT_EQ(write_budgets(budgets, path_).code(), StatusCode::kInvalidArgument);
}

// A fraction of bytes is no fraction of rows, which is what kept_fraction says.
TEST_F(BudgetsTest, AFractionOfBytesRoundTrips) {
  Budgets budgets = example();
  budgets.of_bytes = true;
  ASSERT_TRUE(write_budgets(budgets, path_).ok());
  const auto back = read_budgets(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(back->of_bytes);
  EXPECT_TRUE(back->counts_bytes());
  EXPECT_EQ(text().find("kept_fraction"), std::string::npos);
  EXPECT_FALSE(example().of_bytes);
}

// Any weights become shares once; from then on reading and writing change no bit, and rows stay the same.
TEST_F(BudgetsTest, RandomWeightsBecomeStableShares) {
  Random random(31);
  for (int round = 0; round < 50; ++round) {
    Budgets budgets = example();
    const auto n_layer = static_cast<size_t>(1 + random.below(60));
    budgets.model.n_layer = static_cast<int>(n_layer);
    budgets.kv_format.assign(n_layer, KvFormat{});
    budgets.weights.weights.clear();
    double sum = 0;
    for (size_t layer = 0; layer < n_layer; ++layer) {
      const double weight = random.below(5) == 0 ? 0.0 : std::exp(10 * random.gaussian());
      budgets.weights.weights.push_back(weight);
      sum += weight;
    }
    if (!(sum > 0)) continue;
    ASSERT_TRUE(write_budgets(budgets, path_).ok());
    const auto first = read_budgets(path_);
    ASSERT_TRUE(first.ok()) << first.status().message();
    double share_sum = 0;
    for (size_t layer = 0; layer < n_layer; ++layer) {
      EXPECT_NEAR(first->weights.weights[layer], budgets.weights.weights[layer] / sum, 1e-15);
      share_sum += first->weights.weights[layer];
    }
    EXPECT_NEAR(share_sum, 1, 1e-12);
    const std::string written = text();
    ASSERT_TRUE(write_budgets(*first, path_).ok());
    EXPECT_EQ(text(), written);
    const auto second = read_budgets(path_);
    ASSERT_TRUE(second.ok());
    expect_equal(*second, *first);
  }
}

TEST_F(BudgetsTest, LayersMayComeInAnyOrder) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  std::string changed = text();
  const std::string first = "    {\"layer\": 0, \"share\": 0.5, \"k\": \"f16\", \"v\": \"f16\"},\n";
  ASSERT_NE(changed.find(first), std::string::npos);
  changed.erase(changed.find(first), first.size());
  changed.insert(changed.find("    {\"layer\": 2"), first);
  put(changed);
  const auto back = read_budgets(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal(*back, example());
}

TEST_F(BudgetsTest, HandMadeDamageIsRefusedAndNamed) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  const std::vector<test::Damage> damages = {
      // The envelope.
      {"ripplekv.budgets", "ripplekv.profile", "key 'format': got 'ripplekv.profile', expected 'ripplekv.budgets'"},
      {"\"format\"", "\"fmt\"", "key 'format': is missing"},
      {"\"version\": 1", "\"version\": 2", "key 'version': got 2, expected 1"},
      {"\"version\": 1", "\"version\": 1.5", "key 'version': got 1.5"},
      {"\"version\": 1,", "", "key 'version': is missing"},
      {"\"version\": 1,", "\"version\": 1, \"version\": 1,", "key 'version': is there twice"},
      // The model.
      {"\"n_layer\": 3", "\"n_layer\": 4", "key 'layers': got 3 layers, expected 4"},
      {"\"n_layer\": 3", "\"n_layer\": 2", "key 'layers': got 3 layers, expected 2"},
      {"\"n_layer\": 3", "\"n_layer\": 0", "key 'model.n_layer': got 0"},
      {"\"n_layer\": 3", "\"n_layer\": 3000000000", "key 'model.n_layer': got 3000000000"},
      {"\"n_layer\": 3", "\"n_layer\": \"3\"", "key 'model.n_layer': got text '3'"},
      {"xxh3:0", "xxh3:g", "key 'model.fingerprint': got 'xxh3:g"},
      {"\"xxh3:0123456789abcdef", "\"0123456789abcdef", "key 'model.fingerprint'"},
      {"\"name\": \"Tiny \xC3\xA9\"", "\"name\": null", "key 'model.name': got null, expected text"},
      {"\xC3\xA9", "\xC3", "is not UTF-8 at byte"},
      {"\"model\": {", "\"modle\": {", "key 'model': is missing, expected an object"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"head_dim\": 64", "key 'model.n_head_kv': is missing"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"n_head_kv\": 2", "key 'model.head_dim': is missing"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"head_dim\": 0, \"n_head_kv\": 2", "key 'model.head_dim': got 0"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"head_dim\": 64, \"n_head_kv\": -2", "key 'model.n_head_kv': got -2"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"head_dim\": 256, \"n_head_kv\": 129",
       "key 'model.n_head_kv': got 129 heads of 256 values, expected at least 1 of each and at most 32768 in all"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 8", "key 'model.sliding_layers': is missing"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_layers\": [0]", "key 'model.sliding_window': is missing"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 0, \"sliding_layers\": [0]",
       "key 'model.sliding_window': got 0, expected a whole number from 1"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 8, \"sliding_layers\": []",
       "key 'model.sliding_layers': got none, expected at least one"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 8, \"sliding_layers\": [0, 3]",
       "key 'model.sliding_layers': got layer 3, expected ascending ones of 3"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 8, \"sliding_layers\": [1, 1]", "got layer 1"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 8, \"sliding_layers\": [-1]", "got layer -1"},
      {"\"n_layer\": 3", "\"n_layer\": 3, \"sliding_window\": 8, \"sliding_layers\": [0.5]", "got layer 0.5"},
      // The allocation.
      {"\"allocator\": \"ripple\"", "\"allocator\": \"\"", "key 'allocator': is empty"},
      {"\"allocator\": \"ripple\"", "\"allocator\": 5", "key 'allocator': got 5, expected text"},
      {"\"budget\": \"20%\"", "\"budget\": \"120%\"", "key 'budget': "},
      {"\"budget\": \"20%\"", "\"budget\": \"\"", "key 'budget': "},
      {"\"budget\": \"20%\"", "\"budget\": 0.2", "key 'budget': got 0.2, expected text"},
      {"\"budget\": \"20%\"", "\"budget\": \"30%\"", "key 'kept_fraction': got 0.2, expected what the budget says"},
      {"\"budget\": \"20%\"", "\"budget\": \"512\"", "key 'kept_fraction': got 0.2"},
      {"\"kept_fraction\": 0.2", "\"kept_fraction\": true", "key 'kept_fraction': got true, expected a finite number"},
      {"\"kept_fraction\": 0.2", "\"kept_fraction\": false", "key 'kept_fraction': got false"},
      {"\"base_rows\": 32.5", "\"base_rows\": -1", "key 'base_rows': got -1"},
      {"\"base_rows\": 32.5", "\"base_rows\": null", "key 'base_rows': got null, expected a finite number"},
      {"\"rows_floor_extra\": 9", "\"rows_floor_extra\": 0", "key 'rows_floor_extra': got 0"},
      {"\"rows_floor_extra\": 9", "\"rows_floor_extra\": 8.5", "key 'rows_floor_extra': got 8.5"},
      {"\"settings\": {\"gamma\": 8.0, \"r\": 4.0}", "\"settings\": []", "key 'settings': got an array of 0"},
      {"\"profile_hash\": \"xxh3:", "\"profile_hash\": \"xxh9:", "key 'profile_hash': got 'xxh9:"},
      // The selector.
      {"\"selector\": \"snapkv\"", "\"selector\": \"snapvk\"", "key 'selector': "},
      {"\"kernel\": 7", "\"kernel\": 6", "key 'selector_options': "},
      {"\"window\": 32", "\"window\": 0", "key 'selector_options': "},
      {"\"window\": 32", "\"window\": 1048577", "got a window of 1048577 rows, expected 1 to 1048576"},
      {"\"n_sink\": 4", "\"n_sink\": -4", "key 'selector_options': "},
      {"\"pooling\": \"max\"", "\"pooling\": \"min\"", "key 'selector_options.pooling': got 'min'"},
      {"\"group\": \"max\"", "\"group\": \"sum\"", "key 'selector_options.group': got 'sum'"},
      {"\"value_norm\": true", "\"value_norm\": 1", "key 'selector_options.value_norm': got 1, expected true or false"},
      {"18446744073709551615", "-1", "key 'selector_options.seed': got -1"},
      {"\"seed\":", "\"head_floor\": 2, \"seed\":", "got a head floor of 2, expected 0 to 1"},
      {"\"seed\":", "\"head_floor\": \"x\", \"seed\":", "key 'selector_options.head_floor': got text 'x'"},
      {"18446744073709551615", "18446744073709551616", "key 'selector_options.seed': got 1.8446744073709552e+19"},
      // The layers.
      {"\"layers\": [", "\"layers\": [7, ", "key 'layers[0]': got 7, expected an object"},
      {"\"layers\": [", "\"layers\": 7, \"rows\": [", "key 'layers': got 7, expected an array of objects"},
      {"\"layer\": 2", "\"layer\": 1", "key 'layers[2].layer': got 1 a second time"},
      {"\"layer\": 2", "\"layer\": 3", "key 'layers[2].layer': got 3, expected a whole number from 0 to 2"},
      {"\"layer\": 2", "\"layer\": -1", "key 'layers[2].layer': got -1"},
      {"\"layer\": 2, ", "", "key 'layers[2].layer': is missing"},
      {"0.125", "0.125, \"heads\": []", "key 'layers[1].heads': got none, expected a share for each KV head"},
      {"0.125", "0.125, \"heads\": [1]", "key 'layers[1].heads': got shares of 1 heads, expected model.n_head_kv"},
      {"0.125", "-0.125", "key 'layers[1].share': got -0.125"},
      {"0.125", "null", "key 'layers[1].share': got null, expected a finite number"},
      {"0.125", "NaN", "damaged JSON at line 16"},
      {"0.125", "1e999", "expected a number that a double can hold"},
      {"0.125", "\"0.125\"", "key 'layers[1].share': got text '0.125'"},
      {"0.125", "0.12501", "the shares sum to 1.00001, expected 1"},
      {"0.125", "0.124998", "the shares sum to 0.99999"},
      {"0.125", "1e308", "the shares sum to 1e+308, expected 1"},
      {"\"q8_0\"", "\"q8_1\"", "key 'layers[1].k': kv format: got 'q8_1', expected f32, f16, q8_0 or q4_0"},
      {"\"q4_0\"", "\"Q4_0\"", "key 'layers[1].v': kv format: got 'Q4_0'"},
      {", \"v\": \"q4_0\"", "", "key 'layers[1].v': is missing"},
      // The text.
      {"  ]\n", "", "damaged JSON"},
      {"}\n  ]\n}\n", "", "ends in the middle"},
      {"\"layers\"", "\"layers\": [], \"layers\"", "key 'layers': is there twice"},
  };
  expect_damage_refused(damages, read);
}

TEST_F(BudgetsTest, SharesThatPeopleRoundedAreTaken) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  std::string rounded = text();
  rounded.replace(rounded.find("0.125"), 5, "0.1250005");
  put(rounded);
  EXPECT_TRUE(read_budgets(path_).ok());
}

TEST_F(BudgetsTest, TruncationAtEveryByteIsRefused) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  expect_truncation_refused(read);
}

TEST_F(BudgetsTest, RandomDamageNeverCrashesAndWhatIsTakenIsValid) {
  ASSERT_TRUE(write_budgets(example(), path_).ok());
  int n_taken = 0;
  expect_random_damage_survived(32, [&](const std::string& path) {
    const auto result = read_budgets(path);
    if (result.ok()) {
      ++n_taken;
      EXPECT_TRUE(write_budgets(*result, path + ".again").ok()) << text();
    }
    return result.status();
  });
  EXPECT_GE(n_taken, 20) << "hardly any file was taken: little was written again";
}

TEST_F(BudgetsTest, WhatCannotBeReadBackIsNotWritten) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<test::Spoiling<Budgets>> cases = {
      {[&](Budgets& b) { b.weights.weights[1] = nan; }, "layers[1].share': got nan"},
      {[&](Budgets& b) { b.weights.weights[2] = inf; }, "layers[2].share': got inf"},
      {[](Budgets& b) { b.weights.weights[0] = -1; }, "layers[0].share': got -1"},
      {[](Budgets& b) {
         b.weights.weights = {0, 0, 0};
       },
       "sum to 0"},
      {[](Budgets& b) {
         b.weights.weights = {1e308, 1e308, 1};
       },
       "sum to inf"},
      {[](Budgets& b) { b.weights.weights.pop_back(); }, "got 2 weights and 3 kv formats, expected 3"},
      {[](Budgets& b) { b.kv_format.clear(); }, "got 3 weights and 0 kv formats"},
      {[&](Budgets& b) { b.weights.base_rows = nan; }, "base_rows': got nan"},
      {[](Budgets& b) { b.model.n_layer = 0; }, "model.n_layer': got 0"},
      {[](Budgets& b) { b.model.n_layer = 10001; }, "model.n_layer': got 10001, expected 1 to 10000"},
      {[](Budgets& b) {
         b.head_shares = {{}, {}, {0.5, 0.5}};
       },
       "layers[2].heads': got shares of 2 heads, expected model.n_head_kv and model.head_dim with them"},
      {[](Budgets& b) {
         b.model.layer = {.head_dim = 64, .n_head_kv = 3};
         b.head_shares = {{}, {}, {0.5, 0.5}};
       },
       "layers[2].heads': got shares of 2 heads, expected 3 (model.n_head_kv)"},
      {[](Budgets& b) {
         b.selector = "full";
         b.selector_options = {};
         b.budget = {KvBudget::Kind::kFraction, 0.5};
       },
       "selector': got full, which keeps every row, beside a budget of 50%, expected 100%"},
      {[](Budgets& b) {
         b.model.layer = {.head_dim = 64, .n_head_kv = 2};
         b.head_shares = {{}, {0.5, 0.6}, {}};
       },
       "layers[1].heads': the shares sum to 1.1"},
      {[](Budgets& b) {
         b.model.layer = {.head_dim = 64, .n_head_kv = 2};
         b.head_shares = {{1.5, -0.5}, {}, {}};
       },
       "layers[0].heads': got a share of 1.5, expected 0 to 1"},
      {[&](Budgets& b) {
         b.model.layer = {.head_dim = 64, .n_head_kv = 2};
         b.head_shares = {{nan, 1}, {}, {}};
       },
       "layers[0].heads': got a share of nan"},
      {[](Budgets& b) { b.head_shares = {{}}; }, "layers': got heads of 1 layers, expected 3"},
      {[](Budgets& b) { b.model.layer.head_dim = 64; }, "model.n_head_kv': got 0 heads of 64"},
      {[](Budgets& b) { b.model.sliding_window = 8; }, "model.sliding_window': got 8 for 0 layers"},
      {[](Budgets& b) { b.model.sliding_layers = {1}; }, "model.sliding_window': got 0 for 1 layers"},
      {[](Budgets& b) {
         b.model.sliding_layers = {1};
         b.model.sliding_window = -8;
       },
       "model.sliding_window': got -8"},
      {[](Budgets& b) { b.budget.value = 0; }, "budget': kv budget: got '0%'"},
      {[](Budgets& b) { b.model.fingerprint = ""; }, "model.fingerprint': got ''"},
      {[](Budgets& b) { b.model.name = "\xFF"; }, "model.name': got '\\xff', which is not UTF-8"},
      {[](Budgets& b) { b.allocator = ""; }, "allocator': is empty"},
      {[](Budgets& b) { b.selector = "none"; }, "key 'selector': "},
      {[](Budgets& b) { b.selector_options.kernel = 2; }, "key 'selector_options': "},
      {[](Budgets& b) { b.rows_floor_extra = -1; }, "rows_floor_extra': got -1"},
      {[](Budgets& b) { b.rows_floor_extra = (1 << 20) + 1; }, "rows_floor_extra': got 1048577"},
      {[](Budgets& b) { b.settings = "{"; }, "key 'settings': ends in the middle"},
      {[](Budgets& b) { b.settings = "[]"; }, "key 'settings': expected a JSON object"},
      {[](Budgets& b) { b.profile_hash = "abc"; }, "profile_hash': got 'abc'"},
  };
  expect_not_written(example(), cases, write_budgets);
  EXPECT_EQ(write_budgets(example(), path_ + "/none/b.json").code(), StatusCode::kNotFound);
}

TEST(CheckModel, NamesBoth) {
  const ModelId a = {kHash, "A", "llama", 30};
  ModelId b = a;
  b.name = "renamed";  // for messages only
  EXPECT_TRUE(check_model(a, b, "profile.json").ok());
  b = {"xxh3:ffffffffffffffffffffffffffffffff", "B", "qwen2", 24};
  const Status status = check_model(a, b, "profile.json");
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_EQ(status.message(), "profile.json: made for model 'A' (llama, 30 layers, " + kHash +
                                  "), expected model 'B' (qwen2, 24 layers, xxh3:ffffffffffffffffffffffffffffffff)");
  b = a;
  b.n_layer = 29;
  EXPECT_FALSE(check_model(a, b, "profile.json").ok());
  b = a;
  b.sliding_layers = {3};
  EXPECT_FALSE(check_model(a, b, "profile.json").ok());
  b = a;
  b.sliding_window = 8;
  EXPECT_FALSE(check_model(a, b, "profile.json").ok());
}

}  // namespace
}  // namespace ripplekv
