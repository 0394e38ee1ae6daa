// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Held against an independent PyTorch implementation (F32): the damage of compressing one layer, and the ranks of the
// sensitivities.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/statistics.h"
#include "profiling/profiler.h"
#include "ripplekv/model.h"
#include "test_util/paths.h"
#include "test_util/reference.h"

namespace ripplekv {
namespace {

TEST(SensitivityModelTest, DamageAndRanksAreTheReferences) {
  RKV_NEED_FILE(test::model_path(), "the default model");
  const std::string path = test::reference_path("torch_sensitivity_smollm2.json");
  RKV_NEED_FILE(path, "the PyTorch reference");
  const auto reference = test::read_reference(path);
  auto model = Model::load(test::model_path(), {.weights = WeightsMode::kF32});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto forward = Forward::create(*model, 2);
  ASSERT_TRUE(forward.ok());

  ProfileSettings settings;
  settings.rows = "evictable";
  settings.eps = 1.0;
  settings.n_repeat = 2;
  settings.curve_fractions = {0.05, 0.1, 0.2, 0.4};
  settings.kv_format = {KvType::kF32, KvType::kF32};
  const auto n_layer = static_cast<size_t>((*model)->config().n_layer);
  std::vector<double> got_mean(n_layer);
  std::vector<double> expected_mean(n_layer);
  for (const auto& item : reference.at("samples")) {
    ProfilerSample sample;
    sample.id = item.at("source");
    sample.ids = item.at("ids").get<std::vector<int32_t>>();
    sample.answer = item.at("answer").get<std::vector<int32_t>>();
    int64_t n_tokens = 0;
    const auto profile = profile_sample(**forward, settings, sample, 512, nullptr, n_tokens);
    ASSERT_TRUE(profile.ok()) << profile.status().message();
    const std::vector<std::string> keys = {"0.05", "0.1", "0.2", "0.4"};
    for (size_t f = 0; f < keys.size(); ++f) {
      const auto expected = item.at("damage").at(keys[f]).get<std::vector<double>>();
      for (size_t il = 0; il < n_layer; ++il) {
        EXPECT_NEAR(profile->damage[f][il], expected[il], std::max(0.03 * expected[il], 1e-4))
            << sample.id << ", kept " << keys[f] << ", layer " << il;
      }
    }
    const auto sensitivity = item.at("sensitivity_evictable_rows_eps1.0").get<std::vector<double>>();
    for (size_t il = 0; il < n_layer; ++il) {
      for (const auto& repeat : profile->sensitivity) got_mean[il] += repeat[il];
      expected_mean[il] += sensitivity[il];
    }
  }
  EXPECT_GE(spearman(got_mean, expected_mean), 0.9);
}

}  // namespace
}  // namespace ripplekv
