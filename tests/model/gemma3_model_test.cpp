// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Gemma 3 270M against libllama, on more tokens than its sliding window holds. Why native weights are compared with
// the same chunks: oracle_model_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/forward.h"
#include "model/vocab.h"
#include "test_util/model_runs.h"
#include "test_util/oracle.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

TEST(Gemma3Model, MatchesLibllamaBeyondTheWindow) {
  RKV_NEED_FILE(test::gemma_path(), "Gemma 3 270M");
  const auto model = Model::load(test::gemma_path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->id().compressible_layers(), (std::vector<int>{5, 11, 17}));
  EXPECT_EQ((*model)->id().sliding_window, 512);
  const auto forward = Forward::create(*model, 2);
  ASSERT_TRUE(forward.ok());
  std::string text;
  for (int day = 1; text.size() < 3600; ++day) {
    text += "On day " + std::to_string(day) + " the lighthouse keeper counted " + std::to_string(day * 37 % 101) +
            " ships and wrote the number beside the weather. ";
  }
  const auto tokens = (*model)->vocab().tokenize(text, true, true);
  ASSERT_GT(tokens.size(), 700U);
  constexpr int kChunk = 256;
  test::Oracle oracle(test::gemma_path(), {.n_ubatch = kChunk, .n_ctx = 2048, .n_threads = 2});
  ASSERT_TRUE(oracle.ok());
  const auto expected = oracle.logits(tokens);
  const auto got = test::all_logits(**forward, tokens, {KvType::kF16, KvType::kF16}, kChunk);
  ASSERT_EQ(got.size(), expected.size());
  std::vector<double> kl;
  for (size_t i = 0; i < got.size(); ++i) kl.push_back(test::kl_of_logits(expected[i], got[i]));
  std::sort(kl.begin(), kl.end());
  EXPECT_LE(kl.back(), 1e-4);
  EXPECT_LE(kl[kl.size() / 2], 1e-6);
}

}  // namespace
}  // namespace ripplekv
