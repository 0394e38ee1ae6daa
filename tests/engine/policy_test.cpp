// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A policy becomes Budgets: which weights each allocator makes, what is written down, and what is refused.
#include "engine/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test_util/paths.h"

namespace ripplekv {
namespace {

const std::string kHash = "xxh3:0123456789abcdef0123456789abcdef";
const std::string kOtherHash = "xxh3:ffffffffffffffffffffffffffffffff";
const LayerShape kShape = {.head_dim = 64, .n_head_kv = 2};
const ModelId kModel{kHash, "Tiny", "llama", 3, {}, 0, kShape};

// As artefacts have it that know nothing of rows.
const ModelId kOlder{kHash, "Tiny", "llama", 3};

Policy make_policy(const std::string& allocator) {
  Policy policy;
  policy.budget = {KvBudget::Kind::kFraction, 0.25};
  policy.allocator = allocator;
  policy.selector = "streaming_llm";
  policy.selector_options.window = 16;
  policy.selector_options.seed = 9;
  policy.kv_format = {KvType::kQ8_0, KvType::kQ4_0};
  return policy;
}

// Sensitivities (1, 4, 2.5) in two samples of one repeat each: no noise, so that nothing is shrunk.
Profile make_profile(const ModelId& model) {
  Profile profile;
  profile.model = model;
  profile.settings.n_repeat = 1;
  profile.settings.calibration = "builtin";
  profile.samples = {{"a", kHash, 100, 32, {{1, 4, 2.5}}, {{1, 2, 3}}, {}},
                     {"b", kHash, 100, 32, {{1, 4, 2.5}}, {{1, 2, 3}}, {}}};
  profile.n_sample_planned = 2;
  return profile;
}

Budgets make(const Policy& policy, const Profile* profile) {
  const auto budgets = make_budgets(kModel, policy, profile);
  EXPECT_TRUE(budgets.ok()) << budgets.status().message();
  return budgets.ok() ? *budgets : Budgets();
}

void expect_refused(const Result<Budgets>& result, StatusCode code, const std::vector<std::string>& says) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), code);
  for (const std::string& part : says) {
    EXPECT_NE(result.status().message().find(part), std::string::npos) << result.status().message();
  }
}

TEST(Policy, EverythingNamedIsWrittenDown) {
  for (const char* allocator : {"uniform", "pyramid", "ripple"}) {
    const Profile profile = make_profile(kModel);
    const Policy policy = make_policy(allocator);
    const Budgets budgets = make(policy, &profile);
    EXPECT_EQ(budgets.model.fingerprint, kHash);
    EXPECT_EQ(budgets.model.name, "Tiny");
    EXPECT_EQ(budgets.model.n_layer, 3);
    EXPECT_EQ(budgets.allocator, allocator);
    EXPECT_EQ(budgets.budget.kind, KvBudget::Kind::kFraction);
    EXPECT_EQ(budgets.budget.value, 0.25);
    EXPECT_EQ(budgets.selector, "streaming_llm");
    EXPECT_EQ(budgets.selector_options, policy.selector_options);
    EXPECT_EQ(budgets.kv_format, std::vector<KvFormat>(3, policy.kv_format));
    EXPECT_EQ(budgets.weights.weights.size(), 3u);
    EXPECT_TRUE(write_budgets(budgets, test::temp_dir() + "/budgets.json").ok());  // a file that can be read back
  }
}

TEST(Policy, Uniform) {
  const Budgets budgets = make(make_policy("uniform"), nullptr);
  EXPECT_EQ(budgets.weights.weights, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(budgets.weights.base_rows, 0);
  EXPECT_EQ(budgets.settings, "{}");
  EXPECT_TRUE(budgets.profile_hash.empty());
  // A profile that is there but not used is not claimed to be.
  const Profile profile = make_profile(kModel);
  EXPECT_TRUE(make(make_policy("uniform"), &profile).profile_hash.empty());
}

TEST(Policy, PyramidTakesTheSelectorsWindow) {
  Policy policy = make_policy("pyramid");
  policy.pyramid.beta = 10;
  policy.pyramid.window = 999;  // of no account: the window is the selector's
  const Budgets budgets = make(policy, nullptr);
  EXPECT_EQ(budgets.weights.base_rows, 16);
  const AllocationWeights expected = *pyramid_weights(3, {10, 16});
  EXPECT_EQ(budgets.weights.weights, expected.weights);
  EXPECT_EQ(nlohmann::json::parse(budgets.settings), nlohmann::json({{"beta", 10.0}}));
  EXPECT_TRUE(budgets.profile_hash.empty());
}

TEST(Policy, RippleTakesTheMeanSensitivities) {
  const Profile profile = make_profile(kModel);
  Policy policy = make_policy("ripple");
  policy.ripple = {9, 20, Transform::kLinear};
  const Budgets budgets = make(policy, &profile);
  ASSERT_EQ(budgets.weights.weights.size(), 3u);
  EXPECT_NEAR(budgets.weights.weights[0], 1, 1e-12);  // x = 0, 1, 1/2
  EXPECT_NEAR(budgets.weights.weights[1], 9, 1e-12);
  EXPECT_NEAR(budgets.weights.weights[2], 3, 1e-12);
  EXPECT_EQ(nlohmann::json::parse(budgets.settings),
            nlohmann::json({{"r", 9.0}, {"gamma", 20.0}, {"transform", "linear"}, {"signal", "sensitivity"}}));
  EXPECT_EQ(budgets.profile_hash, hash_of(profile));
  Profile other = profile;
  other.samples[0].sensitivity[0][0] = 0.5;
  EXPECT_NE(make(policy, &other).profile_hash, budgets.profile_hash);
  // An unfinished profile is one with fewer samples.
  Profile unfinished = profile;
  unfinished.samples.pop_back();
  unfinished.samples[0].sensitivity = {{0, 5, 2}};
  EXPECT_NEAR(make(policy, &unfinished).weights.weights[2], std::pow(9, 0.4), 1e-12);
}

// What ripple goes by may be swapped: the local response is ascending here, as the index is; random is neither.
TEST(Policy, SignalsOfRipple) {
  const Profile profile = make_profile(kModel);
  Policy policy = make_policy("ripple");
  policy.ripple = {9, 20, Transform::kLinear};
  for (const Signal signal : {Signal::kLocal, Signal::kIndex}) {
    policy.signal = signal;
    const Budgets budgets = make(policy, &profile);
    EXPECT_NEAR(budgets.weights.weights[0], 1, 1e-12);
    EXPECT_NEAR(budgets.weights.weights[1], 3, 1e-12);
    EXPECT_NEAR(budgets.weights.weights[2], 9, 1e-12);
  }
  policy.signal = Signal::kRandom;
  EXPECT_EQ(make(policy, &profile).weights.weights, make(policy, &profile).weights.weights);
}

// curves: the fraction comes from the budget, whatever its unit; the points from the policy's kv format.
TEST(Policy, CurvesAtTheFractionOfAnyBudget) {
  Profile profile = make_profile(kModel);
  profile.settings.curve_fractions = {0.1, 0.4};
  profile.settings.curve_formats = {{}, {KvType::kQ8_0, KvType::kQ8_0}};
  for (ProfileSample& sample : profile.samples) {
    sample.damage = {{9, 1, 1}, {1, 0.1, 0.1}, {1, 9, 1}, {0.1, 1, 0.1}};
  }
  Policy policy = make_policy("curves");
  policy.kv_format = {};
  policy.budget = {KvBudget::Kind::kFraction, 0.2};
  const auto weights = make(policy, &profile).weights.weights;
  EXPECT_GT(weights[0], weights[1]);
  policy.budget = {KvBudget::Kind::kRowsPerLayer, 20};  // of prompts of 100 tokens
  EXPECT_EQ(make(policy, &profile).weights.weights, weights);
  policy.budget = {KvBudget::Kind::kBytes, 40.0 * 3 * static_cast<double>(bytes_per_row(kShape, {}))};
  EXPECT_EQ(make_budgets(kModel, policy, &profile, 200)->weights.weights, weights);
  expect_refused(make_budgets(kOlder, policy, &profile, 200), StatusCode::kInvalidArgument, {"expected a model"});
  policy.budget = {KvBudget::Kind::kFraction, 0.2};
  policy.kv_format = {KvType::kQ8_0, KvType::kQ8_0};
  const auto rounded = make(policy, &profile).weights.weights;
  EXPECT_GT(rounded[1], rounded[0]);
  profile.settings.curve_fractions.clear();
  for (ProfileSample& sample : profile.samples) sample.damage.clear();
  expect_refused(make_budgets(kModel, policy, &profile), StatusCode::kInvalidArgument, {"profile --curves"});
}

// Three layers: rounding is nothing to the first, ruin to the second, and little to the third.
Profile profile_of_formats() {
  Profile profile = make_profile(kModel);
  profile.settings.curve_fractions = {0.1, 0.4, 1};
  profile.settings.curve_formats = {{}, {KvType::kQ8_0, KvType::kQ4_0}};
  for (ProfileSample& sample : profile.samples) {
    sample.damage = {{1, 1, 1}, {0.1, 0.1, 0.1}, {0, 0, 0}, {1, 9, 1.01}, {0.1, 9, 0.11}, {0, 9, 0.01}};
  }
  return profile;
}

// Formats are curves' choice; next to nothing is protected.
Policy policy_of_formats() {
  Policy policy = make_policy("curves");
  policy.selector_options.window = 1;
  policy.selector_options.n_sink = 1;
  policy.kv_format = {};
  policy.auto_format = true;
  return policy;
}

TEST(Policy, FormatsAreChosenWithTheRows) {
  const Profile profile = profile_of_formats();
  Policy policy = policy_of_formats();
  const KvFormat small = {KvType::kQ8_0, KvType::kQ4_0};
  for (const KvBudget& budget :
       {KvBudget{KvBudget::Kind::kFraction, 0.2}, KvBudget{KvBudget::Kind::kRowsPerLayer, 200},
        KvBudget{KvBudget::Kind::kBytes, 0.2 * 3 * 1000 * static_cast<double>(bytes_per_row(kShape, {}))}}) {
    policy.budget = budget;
    const auto budgets = make_budgets(kModel, policy, &profile, 1000);
    ASSERT_TRUE(budgets.ok()) << budgets.status().message();
    EXPECT_TRUE(budgets->of_bytes);
    EXPECT_EQ(budgets->budget.to_string(), budget.to_string());
    EXPECT_EQ(budgets->kv_format, (std::vector<KvFormat>{small, {}, small}));
    EXPECT_EQ(budgets->profile_hash, hash_of(profile));
    double bytes = 0;
    for (size_t il = 0; il < 3; ++il) {
      bytes += budgets->weights.weights[il] * static_cast<double>(bytes_per_row(kShape, budgets->kv_format[il]));
    }
    EXPECT_NEAR(bytes / (3 * static_cast<double>(bytes_per_row(kShape, {}))), 0.2, 1e-3);
  }
}

// Layers 1 and 2 slide, over a tenth of the prompt. Rounding is ruin to the first window and next to nothing to the
// second, which is the bigger part of what a budget of bytes can spend.
TEST(Policy, WindowsAreRoundedIfTheProfileSaysWhatItCosts) {
  const ModelId model{kHash, "Tiny", "gemma3", 3, {1, 2}, 100, kShape};
  Profile profile = profile_of_formats();
  profile.model = model;
  for (ProfileSample& sample : profile.samples) {
    sample.damage = {{1, 0, 0}, {0.1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0.1, 0, 0}, {0.001, 9, 1e-6}};
  }
  Policy policy = policy_of_formats();
  const KvFormat small = {KvType::kQ8_0, KvType::kQ4_0};
  const auto f16_row = static_cast<double>(bytes_per_row(kShape, {}));
  const auto small_row = static_cast<double>(bytes_per_row(kShape, small));
  for (const KvBudget& budget : {KvBudget{KvBudget::Kind::kFraction, 0.2}, KvBudget{KvBudget::Kind::kRowsPerLayer, 200},
                                 KvBudget{KvBudget::Kind::kBytes, (0.2 * 1000 + 2 * 100) * f16_row}}) {
    policy.budget = budget;
    const auto budgets = make_budgets(model, policy, &profile, 1000);
    ASSERT_TRUE(budgets.ok()) << budgets.status().message();
    EXPECT_EQ(budgets->kv_format, (std::vector<KvFormat>{small, {}, small}));
    EXPECT_EQ(budgets->weights.weights[1], 0);
    EXPECT_EQ(budgets->weights.weights[2], 0);
    // All but a step of the hull's grid is spent.
    const double rows = 0.2 * 1000 * f16_row + 100 * (f16_row - small_row);
    EXPECT_NEAR(budgets->weights.weights[0] * 1000 * small_row, rows, 2 * small_row);
  }
  // Not measured: they stay in f16.
  for (ProfileSample& sample : profile.samples) sample.damage[5] = {0.001, 0, 0};
  const auto budgets = make_budgets(model, policy, &profile, 1000);
  ASSERT_TRUE(budgets.ok()) << budgets.status().message();
  EXPECT_EQ(budgets->kv_format, (std::vector<KvFormat>{small, {}, {}}));
  EXPECT_NEAR(budgets->weights.weights[0] * 1000 * small_row, 0.2 * 1000 * f16_row, 2 * small_row);
}

TEST(Policy, WhatFormatsAreToldApartBy) {
  Policy policy = make_policy("curves");
  policy.kv_format = {};
  policy.auto_format = true;
  Profile profile = profile_of_formats();
  expect_refused(make_budgets(kModel, policy, nullptr, 1000), StatusCode::kNotFound, {"needs a profile"});
  expect_refused(make_budgets(kOlder, policy, &profile), StatusCode::kInvalidArgument, {"--kv-type auto", "(-m)"});
  // Heads of 48 have no blocks of 32: only f16 is left.
  const ModelId narrow{kHash, "Tiny", "llama", 3, {}, 0, {.head_dim = 48, .n_head_kv = 2}};
  profile.model = narrow;
  expect_refused(make_budgets(narrow, policy, &profile, 1000), StatusCode::kInvalidArgument,
                 {"one kv format", "ripplekv profile"});
  profile.model = kModel;
  profile.settings.curve_fractions.pop_back();
  for (ProfileSample& sample : profile.samples) sample.damage.resize(4);
  expect_refused(make_budgets(kModel, policy, &profile, 1000), StatusCode::kInvalidArgument,
                 {"while all rows stay", "ripplekv profile"});
  policy.allocator = "uniform";
  expect_refused(make_budgets(kModel, policy, &profile, 1000), StatusCode::kInvalidArgument,
                 {"uniform, expected curves"});
}

// Of formats that differ: what each costs with all rows, and what dropping rows adds, here nothing or a tenth.
TEST(Policy, PredictsEachLayerInItsFormat) {
  const Profile profile = profile_of_formats();
  const KvFormat small = {KvType::kQ8_0, KvType::kQ4_0};
  const auto predicted = [&](const std::vector<KvFormat>& formats, const std::vector<double>& kept) {
    const auto sum = predicted_damage(profile, "curves", formats, kept);
    EXPECT_TRUE(sum.ok()) << sum.status().message();
    return sum.ok() ? *sum : -1.0;
  };
  EXPECT_NEAR(predicted({{}, {}, {}}, {1, 1, 1}), 0, 1e-9);
  EXPECT_NEAR(predicted({small, {}, small}, {1, 1, 1}), 0.01, 1e-9);
  EXPECT_NEAR(predicted({small, small, small}, {1, 1, 1}), 9.01, 1e-9);
  EXPECT_NEAR(predicted({small, {}, small}, {0.4, 0.4, 0.4}), 0.31, 2e-3);  // the hull's grid
  // Of a window its format alone counts, whatever its rows are of the prompt.
  Profile sliding = profile;
  sliding.model = {kHash, "Tiny", "gemma3", 3, {1}, 100, kShape};
  const auto of_window = [&](const KvFormat& format) {
    const std::vector<KvFormat> formats = {{}, format, {}};
    return predicted_damage(sliding, "curves", formats, std::vector<double>{1, 0.1, 1}).value();
  };
  EXPECT_NEAR(of_window({}), 0, 1e-9);
  EXPECT_NEAR(of_window(small), 9, 1e-9);
}

TEST(Policy, UnknownAllocatorsListWhatThereIs) {
  for (const char* name : {"", "Uniform", "ripple ", "curve", "file"}) {
    const Profile profile = make_profile(kModel);
    expect_refused(make_budgets(kModel, make_policy(name), &profile), StatusCode::kInvalidArgument,
                   {"'" + std::string(name) + "'", "uniform, pyramid, ripple"});
  }
}

TEST(Policy, RippleNeedsAProfileOfThisModel) {
  const Policy policy = make_policy("ripple");
  expect_refused(make_budgets(kModel, policy, nullptr), StatusCode::kNotFound, {"ripplekv profile", "--profile"});
  const Profile fingerprint = make_profile({kOtherHash, "Other", "llama", 3});
  expect_refused(make_budgets(kModel, policy, &fingerprint), StatusCode::kMismatch, {"Other", "Tiny"});
  const Profile layers = make_profile({kHash, "Tiny", "llama", 4});
  expect_refused(make_budgets(kModel, policy, &layers), StatusCode::kMismatch, {"4 layers", "3 layers"});
  Profile empty = make_profile(kModel);
  empty.samples.clear();
  expect_refused(make_budgets(kModel, policy, &empty), StatusCode::kInvalidArgument, {"no sample"});
}

TEST(Policy, BadOptionsAreRefused) {
  const Profile profile = make_profile(kModel);
  Policy policy = make_policy("ripple");
  policy.ripple.r = 0.5;
  expect_refused(make_budgets(kModel, policy, &profile), StatusCode::kInvalidArgument, {"r 0.5"});
  policy = make_policy("pyramid");
  policy.pyramid.beta = 1;
  expect_refused(make_budgets(kModel, policy, &profile), StatusCode::kInvalidArgument, {"beta 1"});
}

}  // namespace
}  // namespace ripplekv
