// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Held against kvpress 0.5.5 (PyTorch, F32): what it keeps, what it predicts, and how far it moves the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/trace.h"
#include "profiling/divergence.h"
#include "test_util/paths.h"
#include "test_util/reference.h"

namespace ripplekv {
namespace {

// Sorted. In layer 0 the length of a key depends on its token only: of copies of a token either may be kept.
std::vector<int32_t> tokens_of(const std::vector<int32_t>& ids, const std::vector<int32_t>& rows) {
  std::vector<int32_t> tokens;
  for (int32_t row : rows) tokens.push_back(ids[static_cast<size_t>(row)]);
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

class KvpressModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RKV_NEED_FILE(test::model_path(), "the default model");
    RKV_NEED_FILE(test::reference_path("kvpress_smollm2.json"), "the kvpress reference");
    reference_ = test::read_reference(test::reference_path("kvpress_smollm2.json"));
    auto model = Model::load(test::model_path(), {.weights = WeightsMode::kF32});
    ASSERT_TRUE(model.ok()) << model.status().message();
    auto engine = Engine::create(*model, {.n_threads = 0});
    ASSERT_TRUE(engine.ok());
    engine_ = std::move(*engine);
  }

  // The file's row counts, kvpress's settings.
  CachePlan plan_of(const nlohmann::json& method, const std::string& selector, int64_t n_prompt) const {
    CachePlan plan = plan_full(engine_->model().config(), n_prompt, {KvType::kF32, KvType::kF32});
    plan.rows = method.at("rows_per_layer").get<std::vector<int64_t>>();
    plan.selector = selector;
    return plan;
  }

  nlohmann::json reference_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(KvpressModelTest, PredictsTheSameWithTheFullCache) {
  for (const auto& item : reference_.at("cases")) {
    const auto ids = item.at("ids").get<std::vector<int32_t>>();
    const auto greedy = item.at("greedy_24").get<std::vector<int32_t>>();
    const auto n_prompt = static_cast<int64_t>(ids.size());
    auto sequence = engine_->prefill(ids, plan_full(engine_->model().config(), n_prompt, {KvType::kF32, KvType::kF32}));
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();

    std::map<int32_t, double> expected;
    for (const auto& entry : item.at("next_token_top10")) expected[entry.at(0)] = entry.at(1);
    const auto got = top_k(sequence->logits, 10);
    for (const auto& [id, log_p] : got) {
      ASSERT_TRUE(expected.count(id)) << "token " << id;
      EXPECT_NEAR(log_p, expected[id], 0.01) << "token " << id;
    }
    for (size_t i = 0; i < greedy.size(); ++i) {
      const int32_t token = argmax(sequence->logits);
      ASSERT_EQ(token, greedy[i]) << "greedy token " << i;
      const DecodeStep step{&*sequence, token};
      ASSERT_TRUE(engine_->decode({&step, 1}).ok());
    }
  }
}

TEST_F(KvpressModelTest, KeepsTheSameRowsAndMovesTheModelAsFar) {
  for (const auto& item : reference_.at("cases")) {
    const auto ids = item.at("ids").get<std::vector<int32_t>>();
    const auto answer = item.at("greedy_24").get<std::vector<int32_t>>();
    for (const std::string selector :
         {"snapkv", "streaming_llm", "h2o", "tova", "knorm", "keydiff", "expected_attention"}) {
      for (const std::string fraction : {"0.1", "0.2", "0.3"}) {
        const auto& method = item.at("methods").at(selector + "@" + fraction);
        const auto trace =
            trace_prompt(*engine_, ids, answer, plan_of(method, selector, static_cast<int64_t>(ids.size())), nullptr);
        ASSERT_TRUE(trace.ok()) << trace.status().message();
        const double kl = method.at("kl");
        EXPECT_NEAR(trace->kl, kl, std::max(0.05 * kl, 0.005)) << selector << "@" << fraction;
        if (method.at("kept").is_null()) continue;
        const auto kept = method.at("kept").get<std::vector<KeepList>>();
        for (size_t il = 0; il < kept.size(); ++il) {
          for (size_t head = 0; head < kept[il].size(); ++head) {
            const bool ties = selector == "knorm" && il == 0;
            const auto& ours = trace->kept[il][head];
            const auto& theirs = kept[il][head];
            EXPECT_GE(ties ? test::overlap(tokens_of(ids, ours), tokens_of(ids, theirs)) : test::overlap(ours, theirs),
                      0.99)
                << selector << "@" << fraction << " layer " << il << " head " << head;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
