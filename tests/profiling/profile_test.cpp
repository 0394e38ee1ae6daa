// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// profile.json: exact round trips, damage of every kind refused with a sentence that names it, truncation, statistics
// by hand, and that an unusable struct is not written over a good file.
#include "ripplekv/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "test_util/artefact.h"

namespace ripplekv {
namespace {

using test::kHash;

Profile example() {
  Profile profile;
  profile.model = {kHash, "Tiny", "llama", 2};
  profile.settings.direction = "head";
  profile.settings.eps = 0.75;
  profile.settings.n_repeat = 2;
  profile.settings.seed = ~uint64_t{0} - 1;
  profile.settings.curve_fractions = {0.05, 0.1, 1};
  profile.settings.selector_options.n_sink = 3;
  profile.settings.kv_format = {KvType::kQ8_0, KvType::kQ4_0};
  profile.settings.calibration = "builtin";
  profile.samples = {
      {"one", kHash, 100, 32, {{1, 0.5}, {3, 1.5}}, {{0.1, 0.2}, {0.3, 0.45}}, {{0.4, 0.3}, {0.2, 0.1}, {0, 0}}},
      {"two", kHash, 2048, 7, {{0, 2.0625}, {1, 4}}, {{0.5, 0.25}, {0, 1}}, {{0.8, 0.1}, {0.7, 0.6}, {0, 0}}}};
  profile.n_sample_planned = 2;
  profile.seconds = 12.25;
  profile.n_forward_tokens = int64_t{1} << 40;
  return profile;
}

void expect_equal(const Profile& a, const Profile& b) {
  EXPECT_EQ(a.model.fingerprint, b.model.fingerprint);
  EXPECT_EQ(a.model.name, b.model.name);
  EXPECT_EQ(a.model.architecture, b.model.architecture);
  EXPECT_EQ(a.model.n_layer, b.model.n_layer);
  EXPECT_TRUE(a.settings == b.settings);
  EXPECT_EQ(a.n_sample_planned, b.n_sample_planned);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.n_forward_tokens, b.n_forward_tokens);
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].id, b.samples[i].id);
    EXPECT_EQ(a.samples[i].content_hash, b.samples[i].content_hash);
    EXPECT_EQ(a.samples[i].n_prompt, b.samples[i].n_prompt);
    EXPECT_EQ(a.samples[i].n_answer, b.samples[i].n_answer);
    EXPECT_EQ(a.samples[i].sensitivity, b.samples[i].sensitivity);  // exactly
    EXPECT_EQ(a.samples[i].local_response, b.samples[i].local_response);
    EXPECT_EQ(a.samples[i].damage, b.samples[i].damage);
    EXPECT_EQ(a.samples[i].head_damage, b.samples[i].head_damage);
  }
}

// With two KV heads, each measured at one fraction.
Profile with_heads() {
  Profile profile = example();
  profile.model.layer = {.head_dim = 64, .n_head_kv = 2};
  profile.settings.head_fractions = {0.25};
  profile.samples[0].head_damage = {{0.5, 0.75, 1, 0}};
  profile.samples[1].head_damage = {{0.5, 0.25, 3, 4}};
  return profile;
}

class ProfileTest : public test::ArtefactTest {
 protected:
  static Status read(const std::string& path) { return read_profile(path).status(); }
};

TEST_F(ProfileTest, RoundTrip) {
  ASSERT_TRUE(write_profile(example(), path_).ok());
  const auto back = read_profile(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal(*back, example());
  EXPECT_TRUE(back->complete());
  Profile other = example();
  other.settings.rows = "all";
  other.settings.weights = "bf16";
  ASSERT_TRUE(write_profile(other, path_).ok());
  const auto read_other = read_profile(path_);
  ASSERT_TRUE(read_other.ok()) << read_other.status().message();
  expect_equal(*read_other, other);
}

TEST_F(ProfileTest, AnInterruptedProfileIsAValidFile) {
  Profile profile = example();
  profile.n_sample_planned = 8;
  ASSERT_TRUE(write_profile(profile, path_).ok());
  auto back = read_profile(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_FALSE(back->complete());
  expect_equal(*back, profile);
  profile.samples.clear();
  profile.settings.curve_fractions.clear();
  ASSERT_TRUE(write_profile(profile, path_).ok());
  back = read_profile(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal(*back, profile);
}

TEST_F(ProfileTest, RandomProfilesRoundTripExactly) {
  Random random(41);
  for (int round = 0; round < 20; ++round) {
    Profile profile = example();
    const auto n_layer = static_cast<size_t>(1 + random.below(40));
    profile.model.n_layer = static_cast<int>(n_layer);
    profile.settings.n_repeat = static_cast<int>(1 + random.below(3));
    profile.samples.clear();
    for (uint64_t i = 0; i < 1 + random.below(6); ++i) {
      ProfileSample sample{
          "s" + std::to_string(i), kHash, 1 + static_cast<int64_t>(random.below(9999)), 32, {}, {}, {}};
      const auto row = [&] {
        std::vector<double> values(n_layer);
        for (double& value : values) value = std::exp(20 * random.gaussian());
        return values;
      };
      for (int k = 0; k < profile.settings.n_repeat; ++k) {
        sample.sensitivity.push_back(row());
        sample.local_response.push_back(row());
      }
      for (size_t k = 0; k < profile.settings.curve_fractions.size(); ++k) sample.damage.push_back(row());
      profile.samples.push_back(sample);
    }
    ASSERT_TRUE(write_profile(profile, path_).ok());
    const auto back = read_profile(path_);
    ASSERT_TRUE(back.ok()) << back.status().message();
    expect_equal(*back, profile);
    EXPECT_EQ(hash_of(*back), hash_of(profile));
  }
}

TEST_F(ProfileTest, TheHashIsThatOfTheFileAndOfEveryMember) {
  ASSERT_TRUE(write_profile(example(), path_).ok());
  const std::string hash = hash_of(example());
  EXPECT_EQ(hash, hash_of_bytes(text()));
  Profile changed = example();
  changed.samples[1].damage[2][1] = std::numeric_limits<double>::denorm_min();
  EXPECT_NE(hash_of(changed), hash);
  changed = example();
  changed.settings.seed ^= 1;
  EXPECT_NE(hash_of(changed), hash);
}

TEST_F(ProfileTest, HandMadeDamageIsRefusedAndNamed) {
  ASSERT_TRUE(write_profile(example(), path_).ok());
  const std::vector<test::Damage> damages = {
      {"ripplekv.profile", "ripplekv.budgets", "key 'format': got 'ripplekv.budgets', expected 'ripplekv.profile'"},
      {"\"version\": 2", "\"version\": 1", "key 'version': got 1, expected 2"},
      {"\"n_layer\": 2", "\"n_layer\": 3", "key 'samples[0].sensitivity[0]': got 2 values, expected 3 (model.n_layer)"},
      {"\"n_layer\": 2", "\"n_layer\": -2", "key 'model.n_layer': got -2"},
      {"\"fingerprint\": \"xxh3:0", "\"fingerprint\": \"xxh3:", "key 'model.fingerprint'"},
      // Settings.
      {"\"settings\": {", "\"setting\": {", "key 'settings': is missing"},
      {"\"evictable\"", "\"some\"", "key 'settings.rows': got 'some', expected all or evictable"},
      {"\"direction\": \"head\"", "\"direction\": \"up\"", "key 'settings.direction': got 'up', expected row or head"},
      {"\"eps\": 0.75", "\"eps\": 0", "key 'settings.eps': got 0, expected a finite number above 0"},
      {"\"eps\": 0.75", "\"eps\": null", "key 'settings.eps': got null"},
      {"\"eps\": 0.75", "\"eps\": false", "key 'settings.eps': got false"},
      {"\"n_repeat\": 2", "\"n_repeat\": 3",
       "key 'samples[0].sensitivity': got 2 rows, expected 3 (settings.n_repeat)"},
      {"\"n_repeat\": 2", "\"n_repeat\": 0", "key 'settings.n_repeat': got 0"},
      {"\"n_repeat\": 2", "\"n_repeat\": 1001",
       "key 'settings.n_repeat': got 1001, expected a whole number from 1 to 1000"},
      {"18446744073709551614", "1.5", "key 'settings.seed': got 1.5"},
      {"\"n_answer\": 32,\n", "\"n_answer\": 6,\n", "key 'samples[0].n_answer': got 32, expected 1 to 6"},
      {"\"max_tokens\": 2048", "\"max_tokens\": 0", "key 'settings.max_tokens': got 0"},
      {"[0.05, 0.1, 1.0]", "[0.1, 0.05, 1.0]", "key 'settings.curve_fractions[1]': got 0.05"},
      {"[0.05, 0.1, 1.0]", "[0.05, 0.05, 1.0]", "key 'settings.curve_fractions[1]': got 0.05"},
      {"[0.05, 0.1, 1.0]", "[0.05, 0.1, 1.1]", "key 'settings.curve_fractions[2]': got 1.1"},
      {"[0.05, 0.1, 1.0]", "[0, 0.1, 1.0]", "key 'settings.curve_fractions[0]': got 0"},
      {"[0.05, 0.1, 1.0]", "[0.05, 0.1]", "key 'samples[0].damage': got 3 rows, expected 2"},
      {"[0.05, 0.1, 1.0]", "0.05", "key 'settings.curve_fractions': got 0.05, expected an array of numbers"},
      {"\"selector\": \"snapkv\"", "\"selector\": \"x\"", "key 'settings.selector': "},
      {"\"kernel\": 5", "\"kernel\": 4", "key 'settings.selector_options': "},
      {"\"group\": \"mean\"", "\"group\": \"avg\"", "key 'settings.selector_options.group': got 'avg'"},
      {"\"native\"", "\"f16\"", "key 'settings.weights': got 'f16', expected native, f32 or bf16"},
      {"\"k\": \"q8_0\"", "\"k\": \"int8\"", "key 'settings.kv_format.k': kv format: got 'int8'"},
      {"\"calibration\": \"builtin\"", "\"calibration\": {}", "key 'settings.calibration': got an object"},
      // Totals.
      {"\"n_sample_planned\": 2", "\"n_sample_planned\": -2", "key 'n_sample_planned': got -2"},
      {"\"n_sample_planned\": 2", "\"n_sample_planned\": 3", "key 'complete': got true with 2 of 3 samples"},
      {"\"complete\": true", "\"complete\": false", "key 'complete': got false with 2 of 2 samples"},
      {"\"complete\": true,", "", "key 'complete': is missing"},
      {"\"seconds\": 12.25", "\"seconds\": -12.25", "key 'seconds': got -12.25"},
      {"\"seconds\": 12.25", "\"seconds\": 1e400", "expected a number that a double can hold"},
      {"\"n_forward_tokens\": 1", "\"n_forward_tokens\": -1", "key 'n_forward_tokens': got -1"},
      // Samples.
      {"\"id\": \"two\"", "\"id\": \"one\"", "key 'samples[1].id': got 'one' a second time"},
      {"\"id\": \"two\"", "\"id\": \"\"", "key 'samples[1].id': is empty"},
      {"\"id\": \"two\"", "\"id\": 2", "key 'samples[1].id': got 2, expected text"},
      {"\"content_hash\": \"xxh3:", "\"content_hash\": \"md5:", "key 'samples[0].content_hash': got 'md5:"},
      {"\"n_prompt\": 2048", "\"n_prompt\": 0", "key 'samples[1].n_prompt': got 0"},
      {"\"n_answer\": 7", "\"n_answer\": 33", "key 'samples[1].n_answer': got 33, expected 1 to 32"},
      {"\"n_answer\": 7", "\"n_answer\": 0", "key 'samples[1].n_answer': got 0"},
      {"2.0625", "-2.0625", "key 'samples[1].sensitivity[0][1]': got -2.0625"},
      {"2.0625", "null", "key 'samples[1].sensitivity[0][1]': got null, expected a finite number"},
      {"2.0625", "\"2\"", "key 'samples[1].sensitivity[0][1]': got text '2'"},
      {"2.0625", "1, 2", "key 'samples[1].sensitivity[0]': got 3 values, expected 2"},
      {"[0.7, 0.6]", "0.7", "key 'samples[1].damage[1]': got 0.7, expected an array of numbers"},
      {"[0.7, 0.6]", "[0.7, -1e-300]", "key 'samples[1].damage[1][1]': got -1e-300"},
      {"\"damage\"", "\"harm\"", "key 'samples[0].damage': is missing"},
      {"\"samples\": [", "\"samples\": [null, ", "key 'samples[0]': got null, expected an object"},
      {"\"damage\"", "\"id\": \"three\", \"damage\"", "key 'samples[0].id': is there twice"},
  };
  expect_damage_refused(damages, read);
  EXPECT_EQ(read_profile(path_ + ".none").status().code(), StatusCode::kNotFound);
}

TEST_F(ProfileTest, TruncationAtEveryByteIsRefused) {
  ASSERT_TRUE(write_profile(example(), path_).ok());
  expect_truncation_refused(read);
}

TEST_F(ProfileTest, RandomDamageNeverCrashes) {
  ASSERT_TRUE(write_profile(example(), path_).ok());
  expect_random_damage_survived(42, [](const std::string& path) {
    const auto result = read_profile(path);
    if (result.ok() && !result->samples.empty()) {
      EXPECT_EQ(sensitivity_of(*result).size(), static_cast<size_t>(result->model.n_layer));
    }
    return result.status();
  });
}

TEST_F(ProfileTest, WhatCannotBeReadBackIsNotWritten) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<test::Spoiling<Profile>> cases = {
      {[&](Profile& p) { p.samples[1].sensitivity[1][0] = nan; }, "samples[1].sensitivity[1][0]': got nan"},
      {[](Profile& p) { p.samples[0].damage[0][1] = -0.5; }, "samples[0].damage[0][1]': got -0.5"},
      {[](Profile& p) { p.samples[0].damage.clear(); }, "samples[0].damage': got 0 rows, expected 3"},
      {[](Profile& p) { p.samples[0].sensitivity[0].push_back(1); }, "samples[0].sensitivity[0]': got 3 values"},
      {[](Profile& p) { p.samples[1].id = "one"; }, "samples[1].id': got 'one' a second time"},
      {[](Profile& p) { p.samples[1].content_hash = ""; }, "samples[1].content_hash': got ''"},
      {[&](Profile& p) { p.seconds = nan; }, "seconds': got nan"},
      {[](Profile& p) { p.n_forward_tokens = -1; }, "n_forward_tokens': got -1"},
      {[](Profile& p) { p.n_sample_planned = -1; }, "n_sample_planned': got -1"},
      {[](Profile& p) { p.settings.rows = ""; }, "settings.rows': got ''"},
      {[](Profile& p) { p.samples[0].n_prompt = 0; }, "samples[0].n_prompt': got 0"},
      {[](Profile& p) { p.samples[0].n_answer = 0; }, "samples[0].n_answer': got 0"},
      {[](Profile& p) { p.settings.n_repeat = 0; }, "settings.n_repeat': got 0, expected 1 to 1000"},
      {[](Profile& p) { p.settings.n_answer = 0; }, "settings.n_answer': got 0"},
      {[](Profile& p) { p.settings.max_tokens = 0; }, "settings.max_tokens': got 0"},
      {[](Profile& p) { p.settings.n_repeat = 1001; }, "settings.n_repeat': got 1001, expected 1 to 1000"},
      {[&](Profile& p) { p.settings.eps = nan; }, "settings.eps': got nan"},
      {[&](Profile& p) { p.settings.curve_fractions[0] = nan; }, "settings.curve_fractions[0]': got nan"},
      {[&](Profile& p) { p.settings.head_fractions = {nan}; }, "settings.head_fractions[0]': got nan"},
      {[&](Profile& p) {
         p.settings.head_fractions = {0.5, 1};
       },
       "settings.head_fractions[1]': got 1, expected more"},
      {[&](Profile& p) { p.settings.head_fractions = {0.5}; },
       "samples[0].head_damage': got 0 rows, expected 1 (settings.head_fractions)"},
      {[&](Profile& p) {
         p.samples[1].head_damage = {{1, 2}};
       },
       "samples[1].head_damage': got 1 rows, expected 0 (settings.head_fractions)"},
      {[](Profile& p) { p.settings.selector_options.window = 0; }, "settings.selector_options': "},
      {[](Profile& p) { p.settings.calibration = "\x80"; }, "settings.calibration': got '\\x80', which is not UTF-8"},
      {[](Profile& p) { p.model.fingerprint = "x"; }, "model.fingerprint': got 'x'"},
  };
  expect_not_written(example(), cases, write_profile);
}

TEST_F(ProfileTest, HeadsAreReadBackAndTheirDamageRefused) {
  ASSERT_TRUE(write_profile(with_heads(), path_).ok());
  const auto back = read_profile(path_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal(*back, with_heads());
  const auto damage = head_damage_of(*back, 0);
  ASSERT_EQ(damage.size(), 4U);
  EXPECT_EQ(damage[2].mean, 2);
  EXPECT_EQ(damage[2].standard_error, 1);
  EXPECT_EQ(damage[0].standard_error, 0);
  expect_not_written(
      with_heads(),
      {{[](Profile& p) { p.model.layer = {}; },
        "samples[0].head_damage[0]': got 4 values, expected 0 (model.n_layer * model.n_head_kv)"},
       {[](Profile& p) { p.samples[1].head_damage[0][3] = -1; }, "samples[1].head_damage[0][3]': got -1"}},
      write_profile);
  EXPECT_EQ(differences(with_heads().settings, example().settings),
            (std::vector<std::string>{"settings.head_fractions: got [0.25], expected none"}));
}

TEST_F(ProfileTest, WhatCannotBeWrittenIsKnownBefore) {
  EXPECT_TRUE(check_write_profile(example(), path_).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_NE(check_write_profile(example(), "/dev/full").message().find("device or pipe"), std::string::npos);
  Profile profile = example();
  profile.settings.calibration = "\x80";
  EXPECT_EQ(check_write_profile(profile, path_).message(), write_profile(profile, path_).message());
  profile = example();
  profile.settings.eps = -1;
  EXPECT_EQ(check_write_profile(profile, path_).message(), write_profile(profile, path_).message());
}

TEST(ProfileStatistics, ShrinkingFollowsTheNoise) {
  // Without noise nothing moves.
  EXPECT_EQ(shrunk_means(std::vector<LayerStatistic>{{1, 0}, {4, 0}, {0, 0}}), (std::vector<double>{1, 4, 0}));
  // Spread that the noise explains is none: all get the geometric mean.
  for (double mean : shrunk_means(std::vector<LayerStatistic>{{1, 5}, {4, 20}, {2, 10}})) EXPECT_NEAR(mean, 2, 1e-9);
  // In between: order kept, towards the middle, noisy layers further.
  const auto some = shrunk_means(std::vector<LayerStatistic>{{1, 0.1}, {100, 50}, {10, 1}});
  EXPECT_GT(some[0], 1);
  EXPECT_LT(some[0], 1.1);
  EXPECT_LT(some[1], 95);
  EXPECT_GT(some[1], some[2]);
  EXPECT_NEAR(some[2], 10, 1e-9) << "the middle stays";
}

TEST(ProfileStatistics, ReliabilityIsHighForAlikeSamplesAndLowForNoise) {
  Random random(6);
  Profile alike = example();
  alike.model.n_layer = 30;
  Profile noise = alike;
  for (Profile* profile : {&alike, &noise}) profile->samples.clear();
  for (int i = 0; i < 8; ++i) {
    ProfileSample sample{"s" + std::to_string(i), kHash, 100, 32, {{}}, {{}}, {}};
    ProfileSample other = sample;
    for (int layer = 0; layer < 30; ++layer) {
      sample.sensitivity[0].push_back(std::exp(0.2 * layer + 0.1 * random.gaussian()));
      other.sensitivity[0].push_back(std::exp(random.gaussian()));
    }
    alike.samples.push_back(sample);
    noise.samples.push_back(other);
  }
  EXPECT_GT(reliability_of(alike), 0.98);
  EXPECT_LT(std::abs(reliability_of(noise)), 0.5);
  alike.samples.resize(1);
  EXPECT_EQ(reliability_of(alike), 0);
}

TEST_F(ProfileTest, CurvesInSeveralFormats) {
  Profile profile = example();
  profile.settings.curve_formats = {{KvType::kF16, KvType::kF16}, {KvType::kQ8_0, KvType::kQ4_0}};
  EXPECT_EQ(profile.settings.n_curve_point(), 6U);
  EXPECT_NE(write_profile(profile, path_).message().find("damage': got 3 rows, expected 6"), std::string::npos);
  for (ProfileSample& sample : profile.samples) {
    for (size_t point = 3; point < 6; ++point) sample.damage.push_back({10.0 * static_cast<double>(point), 0.5});
  }
  ASSERT_TRUE(write_profile(profile, path_).ok());
  const auto read = read_profile(path_);
  ASSERT_TRUE(read.ok()) << read.status().message();
  expect_equal(*read, profile);
  EXPECT_EQ(damage_of(*read, 1 * 3 + 2)[0].mean, 50);
  profile.settings.curve_formats[1] = profile.settings.curve_formats[0];
  EXPECT_NE(write_profile(profile, path_).message().find("settings.curve_formats[0]': is there twice"),
            std::string::npos);
}

TEST(ProfileSettings, EveryDifferenceIsNamed) {
  const ProfileSettings settings = example().settings;
  EXPECT_EQ(differences(settings, settings), std::vector<std::string>{});
  const std::vector<std::pair<std::function<void(ProfileSettings&)>, std::string>> cases = {
      {[](auto& s) { s.rows = "all"; }, "settings.rows: got \"evictable\", expected \"all\""},
      {[](auto& s) { s.direction = "row"; }, "settings.direction: got \"head\", expected \"row\""},
      {[](auto& s) { s.curve_formats = {{}}; },
       "settings.curve_formats: got [], expected [{\"k\":\"f16\",\"v\":\"f16\"}]"},
      {[](auto& s) { s.eps = 0.5; }, "settings.eps: got 0.75, expected 0.5"},
      {[](auto& s) { s.n_repeat = 3; }, "settings.n_repeat: got 2, expected 3"},
      {[](auto& s) { s.seed = 1; }, "settings.seed: got 18446744073709551614, expected 1"},
      {[](auto& s) { s.n_answer = 6; }, "settings.n_answer: got 32, expected 6"},
      {[](auto& s) { s.max_tokens = 512; }, "settings.max_tokens: got 2048, expected 512"},
      {[](auto& s) { s.curve_fractions = {0.1}; }, "settings.curve_fractions: got [0.05,0.1,1.0], expected [0.1]"},
      {[](auto& s) { s.selector = "random"; }, "settings.selector: got \"snapkv\", expected \"random\""},
      {[](auto& s) { s.selector_options.window = 8; }, "settings.selector_options.window: got 32, expected 8"},
      {[](auto& s) { s.selector_options.kernel = 7; }, "settings.selector_options.kernel: got 5, expected 7"},
      {[](auto& s) { s.selector_options.pooling = Pooling::kMax; },
       "settings.selector_options.pooling: got \"average\", expected \"max\""},
      {[](auto& s) { s.selector_options.group = GroupReduce::kMax; },
       "settings.selector_options.group: got \"mean\", expected \"max\""},
      {[](auto& s) { s.selector_options.value_norm = true; },
       "settings.selector_options.value_norm: got false, expected true"},
      {[](auto& s) { s.selector_options.n_sink = 0; }, "settings.selector_options.n_sink: got 3, expected 0"},
      {[](auto& s) { s.selector_options.seed = 5; }, "settings.selector_options.seed: got 0, expected 5"},
      {[](auto& s) { s.selector_options.head_floor = 0.2; },
       "settings.selector_options.head_floor: got none, expected 0.2"},
      {[](auto& s) { s.weights = "f32"; }, "settings.weights: got \"native\", expected \"f32\""},
      {[](auto& s) { s.kv_format.k = KvType::kF16; }, "settings.kv_format.k: got \"q8_0\", expected \"f16\""},
      {[](auto& s) { s.kv_format.v = KvType::kF32; }, "settings.kv_format.v: got \"q4_0\", expected \"f32\""},
      {[](auto& s) { s.calibration = "\xFF"; }, "settings.calibration: got \"builtin\", expected \"\xEF\xBF\xBD\""},
  };
  for (const auto& [change, expected] : cases) {
    ProfileSettings changed = settings;
    change(changed);
    EXPECT_FALSE(changed == settings) << expected;
    EXPECT_EQ(differences(settings, changed), std::vector<std::string>{expected});
  }
  ProfileSettings adaptive = settings;
  adaptive.selector_options.head_floor = 0.2;
  EXPECT_EQ(differences(adaptive, settings),
            std::vector<std::string>{"settings.selector_options.head_floor: got 0.2, expected none"});
}

TEST(ProfileStatistics, ByHand) {
  // Layer 0: samples' means over repeats 2 and 0.5 -> mean 1.25, sd sqrt(2) * 0.75, se 0.75.
  const std::vector<LayerStatistic> sensitivity = sensitivity_of(example());
  ASSERT_EQ(sensitivity.size(), 2u);
  EXPECT_DOUBLE_EQ(sensitivity[0].mean, 1.25);
  EXPECT_DOUBLE_EQ(sensitivity[0].standard_error, 0.75);
  EXPECT_DOUBLE_EQ(sensitivity[1].mean, (1.0 + 3.03125) / 2);
  EXPECT_DOUBLE_EQ(sensitivity[1].standard_error, (3.03125 - 1.0) / 2);
  const std::vector<LayerStatistic> damage = damage_of(example(), 1);
  EXPECT_DOUBLE_EQ(damage[0].mean, 0.45);
  EXPECT_DOUBLE_EQ(damage[0].standard_error, 0.25);
  EXPECT_DOUBLE_EQ(damage[1].mean, 0.35);
}

TEST(ProfileStatistics, OneSampleHasNoStandardError) {
  Profile profile = example();
  profile.samples.pop_back();
  EXPECT_DOUBLE_EQ(sensitivity_of(profile)[0].mean, 2);
  EXPECT_EQ(sensitivity_of(profile)[0].standard_error, 0);
}

TEST(ProfileStatistics, StandardErrorIsThatOfTheMean) {
  // Profiles of 16 normal samples: the reported standard error squared must average to the variance of the mean.
  Random random(43);
  Profile profile = example();
  profile.settings.curve_fractions = {0.1};
  double mean_squares = 0;
  double error_squares = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    profile.samples.assign(16, {});
    for (ProfileSample& sample : profile.samples) sample.damage = {{1e6 + random.gaussian(), 0}};
    const LayerStatistic statistic = damage_of(profile, 0)[0];
    mean_squares += (statistic.mean - 1e6) * (statistic.mean - 1e6);
    error_squares += statistic.standard_error * statistic.standard_error;
  }
  EXPECT_NEAR(error_squares / kRounds, 1.0 / 16, 0.002);
  EXPECT_NEAR(mean_squares / kRounds, 1.0 / 16, 5 * std::sqrt(2.0 / kRounds) / 16);
}

TEST(ProfileStatisticsDeathTest, NeedASampleAndAFraction) {
  Profile profile = example();
  EXPECT_DEATH((void)damage_of(profile, 3), "n_curve_point");
  profile.samples.clear();
  EXPECT_DEATH((void)sensitivity_of(profile), "samples.empty");
}

}  // namespace
}  // namespace ripplekv
