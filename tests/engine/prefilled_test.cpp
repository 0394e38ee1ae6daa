// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Forks of one prefill: to the bit what a prefill of their own would have made, for every selector, budget and format.
#include "engine/prefilled.h"

#include <gtest/gtest.h>

#include "engine/tiny_engine.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

class PrefilledTest : public test::TinyEngineTest {
 protected:
  PrefilledPrompt prefilled(std::span<const int32_t> prompt, const std::vector<SelectorSpec>& selectors,
                            const KvFormat& format, int64_t n_later = 0) {
    const auto full = plan_full(config(), static_cast<int64_t>(prompt.size()), format);
    auto made = PrefilledPrompt::create(*engine_, prompt, selectors, full, n_later);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
};

TEST_F(PrefilledTest, AForkIsWhatAPrefillOfItsOwnMakes) {
  const auto prompt = tokens(90);
  std::vector<SelectorSpec> specs;
  for (const SelectorInfo& info : selector_registry()) {
    if (info.name != "full") specs.push_back({std::string(info.name), policy("", "", 1).selector_options});
  }
  specs.push_back({"sinks+tova", policy("", "", 1, 20).selector_options});
  for (const KvFormat& before : {kF32Cache, KvFormat{}}) {
    const PrefilledPrompt made = prefilled(prompt, specs, before);
    EXPECT_GT(made.score_bytes(), 0);
    for (const SelectorSpec& spec : specs) {
      for (const double fraction : {0.4, 0.6, 1.0}) {
        for (const KvFormat& format : {before, KvFormat{KvType::kQ8_0, KvType::kQ4_0}}) {
          if (prefill_format(format) != before && format != before) continue;
          Policy p = policy(spec.name, "ripple", fraction);
          p.selector_options = spec.options;
          p.kv_format = format;
          const CachePlan planned = plan(p, 90);
          const auto fork = made.fork(planned);
          ASSERT_TRUE(fork.ok()) << fork.status().message();
          const Sequence own = prefill(*engine_, prompt, planned);
          SCOPED_TRACE(spec.name);
          expect_same_cache(fork->cache, own.cache);
          EXPECT_EQ(fork->kept, own.kept);
          EXPECT_EQ(fork->logits, own.logits);
          EXPECT_EQ(fork->receipt.lines.size(), 4U);
        }
      }
    }
  }
}

TEST_F(PrefilledTest, FullAndForksGoOnApart) {
  const auto prompt = tokens(60);
  const auto answer = tokens(6, 3);
  const SelectorSpec spec = {"snapkv", policy("", "", 1).selector_options};
  PrefilledPrompt made = prefilled(prompt, {spec}, kF32Cache, /*n_later=*/6);
  const CachePlan planned = plan(policy("snapkv", "uniform", 0.4), 60);
  auto fork = made.fork(planned);
  ASSERT_TRUE(fork.ok());
  Sequence full = prefill(*engine_, prompt, plan_full(config(), 60, kF32Cache));
  Sequence own = prefill(*engine_, prompt, planned);
  for (int32_t token : answer) {
    decode(made.full(), token);
    decode(*fork, token);
    decode(full, token);
    decode(own, token);
    EXPECT_EQ(made.full().logits, full.logits);
    EXPECT_EQ(fork->logits, own.logits);
  }
}

TEST_F(PrefilledTest, Refusals) {
  const CachePlan full = plan_full(config(), 30, kF32Cache);
  const auto refused = [&](std::span<const int32_t> ids, const std::vector<SelectorSpec>& specs) {
    return PrefilledPrompt::create(*engine_, ids, specs, full, 0).status().message();
  };
  auto bad = tokens(30);
  EXPECT_NE(refused(bad, {{"nothing", {}}}).find("nothing"), std::string::npos);
  bad[4] = -1;
  EXPECT_EQ(refused(bad, {}), "prompt: token id -1, expected 0 to 299");
  EXPECT_EQ(refused({}, {}), "prompt: 0 tokens, expected at least 1");
  PrefilledPrompt made = prefilled(tokens(30), {}, kF32Cache);
  CachePlan plan = full;
  plan.rows[1] = 0;
  EXPECT_EQ(made.fork(plan).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ripplekv
