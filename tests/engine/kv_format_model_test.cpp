// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What storing rows in fewer bits costs on the default model, all rows kept: K and V apart. An independent program that
// simulated the blocks measured KL 0.0002 for q8_0, 0.003 for V in q4_0, 0.046 or more for K in q4_0, over other
// prompts; the bounds are five times these.
#include <gtest/gtest.h>

#include "profiling/divergence.h"
#include "ripplekv/engine.h"
#include "test_util/paths.h"
#include "test_util/reference.h"

namespace ripplekv {
namespace {

TEST(KvFormatModel, KeysAreTheFragileOnes) {
  RKV_NEED_FILE(test::model_path(), "the default model");
  RKV_NEED_FILE(test::reference_path("kvpress_smollm2.json"), "the kvpress reference");
  const auto reference = test::read_reference(test::reference_path("kvpress_smollm2.json"));
  auto model = Model::load(test::model_path(), {.weights = WeightsMode::kF32});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto engine = Engine::create(*model, {});
  ASSERT_TRUE(engine.ok());
  const ModelConfig& config = (*model)->config();

  std::vector<std::vector<float>> exact;  // of each case
  const auto mean_kl_of = [&](const KvFormat& format) {
    double sum = 0;
    size_t i = 0;
    for (const auto& item : reference.at("cases")) {
      const auto ids = item.at("ids").get<std::vector<int32_t>>();
      const auto answer = item.at("greedy_24").get<std::vector<int32_t>>();
      auto sequence = (*engine)->prefill(ids, plan_full(config, static_cast<int64_t>(ids.size()), format));
      EXPECT_TRUE(sequence.ok()) << sequence.status().message();
      auto logits = (*engine)->score(sequence->cache, answer);
      EXPECT_TRUE(logits.ok()) << logits.status().message();
      if (exact.size() == i) exact.push_back(*logits);
      sum += mean_kl(exact[i++], *logits, config.n_vocab);
    }
    return sum / static_cast<double>(i);
  };
  EXPECT_EQ(mean_kl_of({KvType::kF32, KvType::kF32}), 0);
  EXPECT_LE(mean_kl_of({KvType::kF16, KvType::kF16}), 1e-4);
  EXPECT_LE(mean_kl_of({KvType::kQ8_0, KvType::kQ8_0}), 0.001);
  const double values = mean_kl_of({KvType::kQ8_0, KvType::kQ4_0});
  const double keys = mean_kl_of({KvType::kQ4_0, KvType::kQ8_0});
  EXPECT_LE(values, 0.015);
  EXPECT_LE(keys, 0.23);
  EXPECT_GT(keys, values);
  RecordProperty("kl_v_q4_0", std::to_string(values));
  RecordProperty("kl_k_q4_0", std::to_string(keys));
}

}  // namespace
}  // namespace ripplekv
