// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Our graph against libllama on the default model: next-token distributions, greedy text, chunk sizes.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/forward.h"
#include "model/vocab.h"
#include "test_util/model_runs.h"
#include "test_util/oracle.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

// Real prose of ours; long enough to cross several chunks and a length that is no multiple of 32.
const char* const kText =
    "The harbour master kept two ledgers. In the first he wrote what every ship declared: barley from the northern "
    "farms, slate, salted herring, forty bolts of undyed wool. In the second, which he locked in the clock case, he "
    "wrote what the cranes had lifted, because the weights on the crane were his own and nobody had thought to bribe "
    "a counterweight. For eleven years the two books differed by less than one part in a hundred. Then, in the spring "
    "the bridge was rebuilt, they began to drift apart, slowly at first and always in the same direction. He told the "
    "council in March. The council asked for a report; the report took until June; by June the difference had grown to "
    "a tenth, and three of the seven council members had stopped greeting him in the street. \"What is missing?\" "
    "asked "
    "the youngest of them, a glazier named Ilse Brandt. He opened the second ledger. \"Nothing is missing,\" he said. "
    "\"That is what troubles me. Everything that arrives is more than anyone admits.\" They went down to the quay "
    "together at 5:40 the next morning, counted 312 barrels off the Margarethe, and found that the bill of lading said "
    "280. The other 32 held neither herring nor barley but printed sheets, tightly rolled, in a language neither of "
    "them could read.";

// ggml rounds activations to 8 bits before a product with quantised weights, so there any difference in the last bit of
// a sum grows to a KL of about 0.003 (libllama differs as much from itself between two n_ubatch). With ggml's kernels
// native weights are therefore compared with the same chunks on both sides, where they do the same sums. Ours keep
// activations in 16 bits: native weights give what libllama makes of the same weights in F32.
class OracleModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (test::model_path().empty()) return;
    f32_path_ = test::temp_dir() + "/f32.gguf";
    ASSERT_TRUE(test::write_f32_gguf(test::model_path(), f32_path_));
  }

  void SetUp() override { RKV_NEED_FILE(test::model_path(), "the default model"); }

  void load(WeightsMode weights, CpuKernels kernels = CpuKernels::kOurs) {
    auto loaded = Model::load(test::model_path(), {.weights = weights});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    auto created = Forward::create(model_, 2, kernels);
    ASSERT_TRUE(created.ok()) << created.status().message();
    forward_ = std::move(*created);
    tokens_ = model_->vocab().tokenize(kText, true, true);
  }

  // Logits after every token: the layer-major prefill for the first, then the rest through all layers at once.
  std::vector<std::vector<float>> logits_by_prefill(std::span<const int32_t> tokens, int n_chunk,
                                                    const KvFormat& format) {
    std::vector<std::vector<float>> result;
    for (size_t n : {size_t{1}, size_t{33}, tokens.size()}) {
      result.push_back(test::prefilled(*forward_, tokens.first(n), format, n_chunk).logits);
    }
    return result;
  }

  static void expect_close(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& got,
                           const std::string& what) {
    ASSERT_EQ(got.size(), expected.size());
    std::vector<double> kl;
    for (size_t i = 0; i < got.size(); ++i) kl.push_back(test::kl_of_logits(expected[i], got[i]));
    std::sort(kl.begin(), kl.end());
    EXPECT_LE(kl.back(), 1e-4) << what;
    EXPECT_LE(kl[kl.size() / 2], 1e-6) << what;
  }

  static std::string f32_path_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Forward> forward_;
  std::vector<int32_t> tokens_;
};

std::string OracleModelTest::f32_path_;

TEST_F(OracleModelTest, TokenizesLikeTheOracle) {
  load(WeightsMode::kNative);
  test::Oracle oracle(test::model_path(), {});
  ASSERT_TRUE(oracle.ok());
  EXPECT_EQ(tokens_, oracle.tokenize(kText, true));
  EXPECT_GT(tokens_.size(), 250U);
  EXPECT_NE(tokens_.size() % 32, 0U);
}

TEST_F(OracleModelTest, NativeWeightsMatchAtEveryPositionInChunks) {
  load(WeightsMode::kNative, CpuKernels::kGgml);
  for (const int n_chunk : {1, 7, 32, 33, 512}) {
    test::Oracle oracle(test::model_path(), {.n_ubatch = n_chunk});
    ASSERT_TRUE(oracle.ok());
    // 250 rows: libllama pads its cache to 256 and picks another kernel for a single query from 512 on.
    const auto tokens = std::span<const int32_t>(tokens_).first(250);
    const auto expected = oracle.logits(tokens);
    const auto got = test::all_logits(*forward_, tokens, {KvType::kF16, KvType::kF16}, n_chunk);
    ASSERT_EQ(got.size(), expected.size());
    expect_close(expected, got, "chunk " + std::to_string(n_chunk));
  }
}

TEST_F(OracleModelTest, F32WeightsMatchWithEitherCache) {
  load(WeightsMode::kF32);
  for (const bool f32_cache : {false, true}) {
    test::Oracle oracle(f32_path_, {.f32_cache = f32_cache});
    ASSERT_TRUE(oracle.ok());
    const KvType type = f32_cache ? KvType::kF32 : KvType::kF16;
    expect_close(oracle.logits(tokens_), test::all_logits(*forward_, tokens_, {type, type}, 512),
                 std::string("f32 cache ") + (f32_cache ? "yes" : "no"));
  }
}

TEST_F(OracleModelTest, NativeWeightsActAsIfTheyWereF32) {
  load(WeightsMode::kNative);
  test::Oracle oracle(f32_path_, {.f32_cache = true});
  ASSERT_TRUE(oracle.ok());
  const auto expected = oracle.logits(tokens_);
  for (const int n_chunk : {1, 7, 33, 512}) {
    expect_close(expected, test::all_logits(*forward_, tokens_, {KvType::kF32, KvType::kF32}, n_chunk),
                 "chunk " + std::to_string(n_chunk));
  }
}

TEST_F(OracleModelTest, LayerMajorPrefillIsTheSameInAnyChunks) {
  load(WeightsMode::kF32);
  test::Oracle oracle(f32_path_, {.f32_cache = true});
  ASSERT_TRUE(oracle.ok());
  const auto expected = oracle.logits(tokens_);
  const std::vector<size_t> positions = {0, 32, tokens_.size() - 1};
  for (const int n_chunk : {1, 7, 32, 33, 512}) {
    const auto layer_major = logits_by_prefill(tokens_, n_chunk, {KvType::kF32, KvType::kF32});
    for (size_t i = 0; i < positions.size(); ++i) {
      EXPECT_LE(test::kl_of_logits(expected[positions[i]], layer_major[i]), 1e-6) << "chunk " << n_chunk;
    }
  }
}

TEST_F(OracleModelTest, GreedyTextIsTheOracles) {
  for (const WeightsMode weights : {WeightsMode::kNative, WeightsMode::kF32}) {
    load(weights);
    test::Oracle oracle(weights == WeightsMode::kNative ? test::model_path() : f32_path_, {});
    ASSERT_TRUE(oracle.ok());
    const auto prompt = std::span<const int32_t>(tokens_).first(180);
    auto expected = oracle.logits(prompt).back();

    auto [cache, current] = test::prefilled(*forward_, prompt, KvFormat());
    int n_sure = 0;
    for (int step = 0; step < 64; ++step) {
      const int32_t token = test::argmax(expected);
      if (test::margin(expected) > 0.01) {
        ++n_sure;
        ASSERT_EQ(test::argmax(current), token) << "step " << step;
      }
      expected = oracle.more_logits({&token, 1}).back();
      const int32_t row = 0;
      ForwardBatch batch;
      batch.segments = {{&cache, 1, 180 + step}};
      batch.layer_end = model_->config().n_layer;
      batch.tokens = {&token, 1};
      batch.logits_of = {&row, 1};
      batch.logits = &current;
      ASSERT_TRUE(forward_->run(batch).ok());
    }
    EXPECT_GE(n_sure, 48);
  }
}

TEST_F(OracleModelTest, SequencesInOneBatchDoNotSeeEachOther) {
  load(WeightsMode::kF32);
  const auto filled = [&](size_t n) {
    return test::prefilled(*forward_, std::span<const int32_t>(tokens_).first(n), {KvType::kF32, KvType::kF32}).cache;
  };
  const std::vector<size_t> lengths = {5, 64, 131};
  std::vector<std::vector<float>> alone;
  std::vector<KvCache> caches;
  for (size_t n : lengths) {
    KvCache cache = filled(n);
    const int32_t row = 2;
    std::vector<float> logits;
    ForwardBatch batch;
    batch.segments = {{&cache, 3, static_cast<int64_t>(n)}};
    batch.layer_end = model_->config().n_layer;
    batch.tokens = std::span<const int32_t>(tokens_).subspan(n, 3);
    batch.logits_of = {&row, 1};
    batch.logits = &logits;
    ASSERT_TRUE(forward_->run(batch).ok());
    alone.push_back(logits);
    caches.push_back(filled(n));
  }
  std::vector<int32_t> tokens;
  const std::vector<int32_t> rows = {2, 5, 8};
  std::vector<float> logits;
  ForwardBatch batch;
  for (size_t i = 0; i < lengths.size(); ++i) {
    batch.segments.push_back({&caches[i], 3, static_cast<int64_t>(lengths[i])});
    for (size_t t = 0; t < 3; ++t) tokens.push_back(tokens_[lengths[i] + t]);
  }
  batch.layer_end = model_->config().n_layer;
  batch.tokens = tokens;
  batch.logits_of = rows;
  batch.logits = &logits;
  ASSERT_TRUE(forward_->run(batch).ok());
  const auto n_vocab = static_cast<size_t>(model_->config().n_vocab);
  for (size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_LE(test::kl_of_logits(alone[i], std::span(logits).subspan(i * n_vocab, n_vocab)), 1e-6) << i;
  }
}

}  // namespace
}  // namespace ripplekv
