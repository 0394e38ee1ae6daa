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

constexpr int64_t kWindow = 512;
constexpr int kChunk = 256;

// KL at every position of a text of 600 tokens, ours to libllama's.
std::vector<double> kl_to_libllama(const std::string& path, const KvFormat& format, CpuKernels attention) {
  const auto model = Model::load(path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->id().compressible_layers(), (std::vector<int>{5, 11, 17}));
  EXPECT_EQ((*model)->id().sliding_window, kWindow);
  const auto forward = Forward::create(*model, 2, attention);
  EXPECT_TRUE(forward.ok());
  std::string text;
  for (int day = 1; text.size() < 3600; ++day) {
    text += "On day " + std::to_string(day) + " the lighthouse keeper counted " + std::to_string(day * 37 % 101) +
            " ships and wrote the number beside the weather. ";
  }
  auto tokens = (*model)->vocab().tokenize(text, true, true);
  tokens.resize(600);
  test::Oracle oracle(path, {.f32_cache = format.k == KvType::kF32, .n_ubatch = kChunk, .n_ctx = 1024, .n_threads = 2});
  EXPECT_TRUE(oracle.ok());
  const auto expected = oracle.logits(tokens);
  const auto got = test::all_logits(**forward, tokens, format, kChunk);
  std::vector<double> kl;
  for (size_t i = 0; i < tokens.size(); ++i) kl.push_back(test::kl_of_logits(expected[i], got[i]));
  return kl;
}

// Beyond the window libllama's cells lie in another order than our rows, so sums are rounded otherwise, which native
// weights make a KL of about 0.003 of, and ggml's attention is used on both sides. Up to there nothing differs.
TEST(Gemma3Model, NativeWeightsMatchLibllamaUpToTheWindow) {
  RKV_NEED_FILE(test::gemma_path(), "Gemma 3 270M");
  auto kl = kl_to_libllama(test::gemma_path(), {KvType::kF16, KvType::kF16}, CpuKernels::kGgml);
  kl.resize(static_cast<size_t>(kWindow));
  std::sort(kl.begin(), kl.end());
  EXPECT_LE(kl.back(), 1e-4);
  EXPECT_LE(kl[kl.size() / 2], 1e-6);
}

TEST(Gemma3Model, F32WeightsMatchLibllamaBeyondTheWindow) {
  RKV_NEED_FILE(test::gemma_path(), "Gemma 3 270M");
  const std::string f32_path = test::temp_dir() + "/gemma-f32.gguf";
  ASSERT_TRUE(test::write_f32_gguf(test::gemma_path(), f32_path));
  auto kl = kl_to_libllama(f32_path, {KvType::kF32, KvType::kF32}, CpuKernels::kOurs);
  std::sort(kl.begin(), kl.end());
  EXPECT_LE(kl.back(), 1e-4);
  EXPECT_LE(kl[kl.size() / 2], 1e-6);
}

}  // namespace
}  // namespace ripplekv
