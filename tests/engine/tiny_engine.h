// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What tests of the engine share: a tiny model of four layers, plans of every policy, and caches compared bit by bit.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/policy.h"
#include "model/forward.h"
#include "profiling/profiler.h"
#include "ripplekv/engine.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv::test {

inline constexpr KvFormat kF32Cache = {KvType::kF32, KvType::kF32};

class TinyEngineTest : public ::testing::Test {
 protected:
  static TinyGguf tiny_model() {
    TinyGguf tiny;
    tiny.n_layer = 4;
    tiny.n_embd = 128;
    tiny.head_dim = 32;
    return tiny;
  }

  void SetUp() override {
    static const std::string path = tiny_gguf(tiny_model());
    model_ = load(path);
    engine_ = make_engine(512);
  }

  static std::shared_ptr<const Model> load(const std::string& path) {
    const auto model = Model::load(path);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return *model;
  }
  std::unique_ptr<Engine> make_engine(int n_chunk) const {
    auto engine = Engine::create(model_, {.n_threads = 1, .n_chunk = n_chunk});
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return std::move(*engine);
  }
  const ModelConfig& config() const { return model_->config(); }
  std::vector<int32_t> tokens(int64_t n, uint64_t seed = 1) const { return random_tokens(n, config().n_vocab, seed); }

  // Sensitivities and damages that give every layer another budget, and the heads of three.
  Profile profile() const {
    Profile profile;
    profile.model = model_->id();
    ProfileSample sample;
    sample.id = "one";
    sample.content_hash = "xxh3:00000000000000000000000000000000";
    sample.n_prompt = 10;
    sample.n_answer = 4;
    sample.sensitivity = {{0.1, 0.9, 0.0, 0.4}};
    sample.local_response = {{0.2, 0.1, 0.4, 0.3}};
    sample.damage = {{1, 9, 2, 4}, {0.1, 0.9, 0.1, 0.6}};
    sample.head_damage = {{1, 8, 0.3, 0.3, 0, 4, 2, 0.1}};
    profile.settings.curve_fractions = {0.1, 0.4};
    profile.settings.head_fractions = {0.2};
    profile.settings.n_repeat = 1;
    profile.samples = {sample};
    profile.n_sample_planned = 1;
    return profile;
  }

  static Policy policy(const std::string& selector, const std::string& allocator, double fraction, int window = 8) {
    Policy policy;
    policy.selector = selector;
    policy.allocator = allocator;
    policy.budget = {KvBudget::Kind::kFraction, fraction};
    policy.selector_options.window = window;
    policy.selector_options.n_sink = 3;
    policy.kv_format = kF32Cache;
    return policy;
  }
  // One sample, and that its progress ends at what was announced.
  ProfileSample profiled(const ProfileSettings& settings, int64_t n_prompt) const {
    int64_t n_forward = 0;
    int64_t last = 0;
    int64_t total = 0;
    const auto measured = profile_sample(
        engine_->forward(), settings, {"one", tokens(n_prompt), {}}, 16,
        [&](int64_t done, int64_t of) { last = done, total = of; }, n_forward);
    EXPECT_TRUE(measured.ok()) << measured.status().message();
    EXPECT_EQ(last, total);
    return measured.ok() ? *measured : ProfileSample();
  }
  Result<CachePlan> try_plan(const Policy& policy, int64_t n_prompt) const {
    const Profile of_model = profile();
    RKV_ASSIGN_OR_RETURN(const Budgets budgets, make_budgets(model_->id(), policy, &of_model));
    return plan_cache(budgets, config(), n_prompt);
  }
  CachePlan plan(const Policy& policy, int64_t n_prompt) const {
    auto plan = try_plan(policy, n_prompt);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return *plan;
  }
  Sequence prefill(Engine& engine, std::span<const int32_t> prompt, const CachePlan& plan) const {
    auto sequence = engine.prefill(prompt, plan, {.record_kept = true});
    EXPECT_TRUE(sequence.ok()) << sequence.status().message();
    return std::move(*sequence);
  }
  void decode(Sequence& sequence, int32_t token) const {
    const DecodeStep step = {&sequence, token};
    const Status status = engine_->decode({&step, 1});
    ASSERT_TRUE(status.ok()) << status.message();
  }

  static void expect_same_cache(const KvCache& a, const KvCache& b) {
    ASSERT_EQ(a.n_layer(), b.n_layer());
    EXPECT_EQ(a.n_pos(), b.n_pos());
    for (int il = 0; il < a.n_layer(); ++il) {
      const LayerCache& x = a.layer(il);
      const LayerCache& y = b.layer(il);
      ASSERT_EQ(x.n_rows(), y.n_rows()) << "layer " << il;
      for (int head = 0; head < x.shape().n_head_kv; ++head) {
        EXPECT_TRUE(std::ranges::equal(x.positions(head), y.positions(head))) << "layer " << il;
      }
      EXPECT_EQ(x.read_k_bytes(), y.read_k_bytes()) << "layer " << il;
      EXPECT_EQ(x.read_v_bytes(), y.read_v_bytes()) << "layer " << il;
    }
  }

  // The rows of a full cache that were kept, copied one by one: what compression has to leave.
  KvCache gathered_by_hand(const KvCache& full, const std::vector<KeepList>& kept) const {
    KvCache cache;
    for (int il = 0; il < full.n_layer(); ++il) {
      const LayerCache& from = full.layer(il);
      const KeepList& keep = kept[static_cast<size_t>(il)];
      std::array<std::vector<uint8_t>, 2> kept_bytes;
      for (size_t head = 0; head < keep.size(); ++head) {
        for (const int32_t row : keep[head]) {
          for (size_t i = 0; i < 2; ++i) {
            const ggml_tensor* source = i == 0 ? from.k() : from.v();
            std::vector<uint8_t> bytes(source->nb[1]);
            ggml_backend_tensor_get(source, bytes.data(),
                                    head * source->nb[2] + static_cast<size_t>(row) * bytes.size(), bytes.size());
            kept_bytes[i].insert(kept_bytes[i].end(), bytes.begin(), bytes.end());
          }
        }
      }
      auto layer = LayerCache::from_rows(model_->store().layer_buffer_type(il), from.shape(), from.format(), keep,
                                         kept_bytes[0], kept_bytes[1]);
      EXPECT_TRUE(layer.ok());
      cache.push_layer(std::move(*layer));
    }
    cache.set_n_pos(full.n_pos());
    return cache;
  }

  QuietLog quiet_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace ripplekv::test
