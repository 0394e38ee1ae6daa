// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Our graphs against libllama on tiny random models: every architecture, shape, RoPE scaling and weight dtype. What a
// real model does is oracle_model_test.cpp's, which also explains why quantised weights are compared with the same
// chunks on both sides.
#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/forward.h"
#include "test_util/model_runs.h"
#include "test_util/oracle.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

constexpr KvFormat kF32Cache = {KvType::kF32, KvType::kF32};
constexpr KvFormat kF16Cache = {KvType::kF16, KvType::kF16};
constexpr int kContext = 256;
constexpr const char* kArchitectures[] = {"llama", "qwen2", "qwen3", "phi3", "gemma3"};

class TinyOracleTest : public ::testing::Test {
 protected:
  void load(const std::string& path, WeightsMode weights = WeightsMode::kNative, int n_threads = 1,
            CpuKernels attention = CpuKernels::kOurs) {
    auto loaded = Model::load(path, {.weights = weights, .n_ctx = kContext});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    auto created = Forward::create(model_, n_threads, attention);
    ASSERT_TRUE(created.ok()) << created.status().message();
    forward_ = std::move(*created);
  }

  struct Distance {
    double worst = INFINITY;
    double median = INFINITY;
  };
  // KL over all positions.
  static Distance distance(const std::vector<std::vector<float>>& expected,
                           const std::vector<std::vector<float>>& got) {
    if (got.size() != expected.size() || got.empty()) return {};
    std::vector<double> kl;
    for (size_t i = 0; i < got.size(); ++i) kl.push_back(test::kl_of_logits(expected[i], got[i]));
    std::sort(kl.begin(), kl.end());
    return {kl.back(), kl[kl.size() / 2]};
  }
  static double worst(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& got) {
    return distance(expected, got).worst;
  }
  // What README.md promises.
  static void expect_close(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& got,
                           int n_chunk) {
    const Distance kl = distance(expected, got);
    EXPECT_LE(kl.worst, 1e-4) << "chunk " << n_chunk;
    EXPECT_LE(kl.median, 1e-6) << "chunk " << n_chunk;
  }

  test::QuietLog quiet_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Forward> forward_;
};

struct Shape {
  std::string name;
  test::TinyGguf tiny;
};

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  std::string architecture = "llama";
  const auto add = [&](const std::string& name, auto change) {
    Shape shape = {architecture + "_" + name, {}};
    shape.tiny.architecture = architecture;
    shape.tiny.seed = shapes.size() + 1;
    change(shape.tiny);
    shapes.push_back(shape);
  };
  const auto yarn = [](test::TinyGguf& t) { t.rope_scaling = "yarn", t.rope_scale = 4, t.n_ctx_orig = 512; };
  add("gqa_tied", [](auto&) {});
  add("gqa_untied", [](auto& t) { t.tied = false; });
  add("mha", [](auto& t) { t.n_head_kv = 4; });
  add("mqa", [](auto& t) { t.n_head_kv = 1; });
  add("one_head", [](auto& t) { t.n_head = t.n_head_kv = 1, t.head_dim = 64; });
  add("odd_heads", [](auto& t) { t.n_head = 9, t.n_head_kv = 3, t.n_embd = 144; });
  add("head_dim_64", [](auto& t) { t.head_dim = 64, t.n_head = 3, t.n_head_kv = 1, t.n_embd = 192; });
  add("head_dim_80", [](auto& t) { t.head_dim = 80, t.n_head = 2, t.n_head_kv = 1, t.n_embd = 160; });
  add("head_dim_128", [](auto& t) { t.head_dim = 128, t.n_head = 2, t.n_head_kv = 1, t.n_embd = 256; });
  add("head_dim_256", [](auto& t) { t.head_dim = 256, t.n_head = 1, t.n_head_kv = 1, t.n_embd = 256; });
  add("heads_wider_than_embedding", [](auto& t) { t.head_dim = 32; });
  add("heads_narrower_than_embedding", [](auto& t) { t.n_embd = 128; });
  add("biases", [](auto& t) { t.biases = true; });
  add("rope_factors", [](auto& t) { t.rope_factors = true; });
  add("rope_linear_scaling", [](auto& t) { t.rope_scale = 4; });
  add("everything_and_one_layer", [](auto& t) {
    t.n_layer = 1, t.biases = t.rope_factors = true, t.rope_scale = 2, t.tied = false, t.n_ff = 200, t.n_vocab = 311;
  });
  add("four_layers", [](auto& t) { t.n_layer = 4; });
  add("fused_qkv", [](auto& t) { t.fused_qkv = t.biases = true; });
  add("rope_type_none", [](auto& t) { t.rope_scaling = "none", t.rope_scale = 4; });
  add("attn_factor", [](auto& t) { t.rope_attn_factor = 1.3; });
  add("yarn", yarn);
  add("yarn_factors_attn_factor", [&](auto& t) { yarn(t), t.rope_factors = true, t.rope_attn_factor = 0.8; });
  add("yarn_head_dim_128", [&](auto& t) { yarn(t), t.head_dim = 128, t.n_head = 2, t.n_head_kv = 1, t.n_embd = 256; });
  add("long_rope", [](auto& t) { t.rope_scaling = "longrope", t.long_rope = true, t.n_ctx_orig = kContext / 2; });
  for (const char* other : {"qwen2", "qwen3", "phi3", "gemma3"}) {
    architecture = other;
    const bool biases = architecture == "qwen2";
    add("gqa_tied", [&](auto& t) { t.biases = biases; });
    add("mha_untied", [&](auto& t) { t.n_head_kv = 4, t.tied = false, t.biases = biases; });
    add("odd_heads", [&](auto& t) { t.n_head = 9, t.n_head_kv = 3, t.n_embd = 144, t.biases = biases; });
    add("head_dim_64", [](auto& t) { t.head_dim = 64, t.n_head = 3, t.n_head_kv = 1, t.n_embd = 192; });
    add("head_dim_80", [](auto& t) { t.head_dim = 80, t.n_head = 2, t.n_head_kv = 1, t.n_embd = 160; });
    add("head_dim_128", [](auto& t) { t.head_dim = 128, t.n_head = 2, t.n_head_kv = 1, t.n_embd = 256; });
    add("head_dim_256", [](auto& t) { t.head_dim = 256, t.n_head = 1, t.n_head_kv = 1, t.n_embd = 256; });
    add("linear_scaling", [](auto& t) { t.rope_scale = 4; });
    add("yarn", [&](auto& t) { yarn(t), t.biases = biases, t.rope_attn_factor = 1.2; });
  }
  architecture = "qwen2";
  add("fused_qkv", [](auto& t) { t.fused_qkv = t.biases = true; });
  architecture = "qwen3";
  add("fused_qkv", [](auto& t) { t.fused_qkv = true; });
  add("heads_wider_than_embedding", [](auto& t) { t.head_dim = 32; });
  add("heads_narrower_than_embedding", [](auto& t) { t.n_embd = 128; });
  architecture = "phi3";
  add("bias", [](auto& t) { t.biases = true; });
  add("part_of_a_head_rotates", [](auto& t) { t.head_dim = 32, t.n_embd = 128, t.n_rot = 24; });
  // The original context is the limit: one position more and the other table serves.
  add("short_rope", [](auto& t) { t.long_rope = true, t.n_ctx_orig = kContext, t.rope_attn_factor = 1.2; });
  add("long_rope", [](auto& t) { t.long_rope = true, t.n_ctx_orig = kContext - 1, t.rope_attn_factor = 1.2; });
  add("long_rope_named_part_of_a_head",
      [](auto& t) { t.rope_scaling = "longrope", t.long_rope = true, t.n_ctx_orig = 128, t.n_rot = 12; });
  architecture = "gemma3";
  const auto slides = [](test::TinyGguf& t, int window, int pattern) {
    t.sliding_window = window, t.sliding_pattern = pattern;
  };
  add("first_layer_slides", [&](auto& t) { slides(t, 16, 2); });
  add("window_of_one", [&](auto& t) { slides(t, 1, 2); });
  add("window_beyond_the_prompt", [&](auto& t) { slides(t, 71, 2); });
  add("four_of_five_layers_slide", [&](auto& t) { slides(t, 9, 5), t.n_layer = 5; });
  add("pattern_as_published", [&](auto& t) { slides(t, 8, 0), t.n_layer = 7; });
  add("slides_and_scales", [&](auto& t) { slides(t, 16, 2), t.rope_scale = 8; });
  add("slides_and_yarn", [&](auto& t) { slides(t, 16, 2), yarn(t); });
  return shapes;
}

class TinyOracleShapeTest : public TinyOracleTest, public ::testing::WithParamInterface<Shape> {};

INSTANTIATE_TEST_SUITE_P(Shapes, TinyOracleShapeTest, ::testing::ValuesIn(shapes()),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(TinyOracleShapeTest, MatchesLibllamaAtEveryPositionInAnyChunks) {
  const test::TinyGguf& tiny = GetParam().tiny;
  const std::string path = test::tiny_gguf(tiny);
  load(path);
  EXPECT_EQ(model_->config().head_dim, tiny.head_dim);
  EXPECT_EQ(model_->config().n_vocab, tiny.n_vocab);
  test::Oracle oracle(path, {.f32_cache = true, .n_ctx = kContext, .n_threads = 1});
  ASSERT_TRUE(oracle.ok());
  const auto tokens = test::random_tokens(70, tiny.n_vocab, tiny.seed);
  const auto expected = oracle.logits(tokens);
  for (const int n_chunk : {1, 33, 512}) {
    EXPECT_LE(worst(expected, test::all_logits(*forward_, tokens, kF32Cache, n_chunk)), 1e-6) << "chunk " << n_chunk;
  }
  EXPECT_LE(test::kl_of_logits(expected.back(), test::prefilled(*forward_, tokens, kF32Cache, 33).logits), 1e-6);
}

// A match means nothing on a model that answers the same whatever it reads.
TEST_P(TinyOracleShapeTest, AnswersDependOnEveryPartOfTheModel) {
  const test::TinyGguf& tiny = GetParam().tiny;
  load(test::tiny_gguf(tiny));
  const auto tokens = test::random_tokens(40, tiny.n_vocab, 5);
  const auto logits = test::all_logits(*forward_, tokens, kF32Cache, 512).back();
  EXPECT_GT(test::kl_of_logits(logits, std::vector<float>(logits.size(), 0.0F)), 0.3) << "flat";
  EXPECT_LT(test::kl_of_logits(logits, std::vector<float>(logits.size(), 0.0F)), 5.0) << "one-hot";

  auto others = tokens;
  others[0] = others[0] == 3 ? 4 : 3;
  EXPECT_GT(test::kl_of_logits(logits, test::all_logits(*forward_, others, kF32Cache, 512).back()), 1e-5)
      << "the first token";
  others = tokens;
  std::swap(others[3], others[20]);
  EXPECT_GT(test::kl_of_logits(logits, test::all_logits(*forward_, others, kF32Cache, 512).back()), 1e-5)
      << "the order";

  const auto differs = [&](auto change, const char* what) {
    test::TinyGguf other = tiny;
    change(other);
    load(test::tiny_gguf(other));
    EXPECT_GT(test::kl_of_logits(logits, test::all_logits(*forward_, tokens, kF32Cache, 512).back()), 1e-4) << what;
  };
  differs([](auto& t) { t.biases = !t.biases; }, "biases");
  if (tiny.architecture == "phi3") {
    differs([](auto& t) { t.long_rope = !t.long_rope, t.rope_scaling = "linear"; }, "LongRoPE factors");
  }
  if (tiny.architecture == "llama" && !tiny.long_rope) {
    differs([](auto& t) { t.rope_factors = !t.rope_factors; }, "RoPE factors");
  }
  if (tiny.long_rope) {
    differs([](auto& t) { t.n_ctx_orig = t.n_ctx_orig < kContext ? kContext : 1; }, "long or short");
  }
  if (tiny.rope_scaling != "none") {
    differs([](auto& t) { t.rope_scale = t.rope_scale == 1 ? 4 : 1; }, "RoPE scaling");
  }
  differs([](auto& t) { t.rope_attn_factor *= 1.5; }, "attention factor");
  if (tiny.rope_scaling == "yarn") {
    differs([](auto& t) { t.rope_scaling = "linear"; }, "YaRN");
    differs([](auto& t) { t.n_ctx_orig *= 8; }, "YaRN's original context");
  }
}

TEST_F(TinyOracleTest, AnyChunksOnOneThreadOrTwo) {
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    test::TinyGguf tiny;
    tiny.architecture = architecture;
    const std::string path = test::tiny_gguf(tiny);
    load(path);
    test::Oracle oracle(path, {.f32_cache = true, .n_ctx = kContext, .n_threads = 1});
    ASSERT_TRUE(oracle.ok());
    const auto tokens = test::random_tokens(101, tiny.n_vocab, 14);
    const auto expected = oracle.logits(tokens);
    for (const int n_chunk : {7, 32, 100, 101, 512}) {
      EXPECT_LE(worst(expected, test::all_logits(*forward_, tokens, kF32Cache, n_chunk)), 1e-6) << "chunk " << n_chunk;
      EXPECT_LE(test::kl_of_logits(expected.back(), test::prefilled(*forward_, tokens, kF32Cache, n_chunk).logits),
                1e-6)
          << "chunk " << n_chunk;
    }
    // One batch: on a busy machine two threads wait for each other at every node.
    load(path, WeightsMode::kNative, /*n_threads=*/2);
    EXPECT_LE(worst(expected, test::all_logits(*forward_, tokens, kF32Cache, 512)), 1e-6) << "two threads";
  }
}

// libllama reads these keys for other architectures only: it is what people's files have been run with.
TEST_F(TinyOracleTest, YarnKeysThatLibllamaDoesNotReadAreNotReadEither) {
  test::TinyGguf tiny;
  tiny.architecture = "qwen2";
  tiny.rope_scaling = "yarn";
  tiny.rope_scale = 4;
  const auto tokens = test::random_tokens(40, tiny.n_vocab, 15);
  load(test::tiny_gguf(tiny));
  const auto without = test::all_logits(*forward_, tokens, kF32Cache, 512);
  tiny.edit = [](gguf_context* gguf) {
    for (const char* key : {"beta_fast", "beta_slow", "ext_factor", "attn_factor", "log_multiplier"}) {
      gguf_set_val_f32(gguf, (std::string("qwen2.rope.scaling.yarn_") + key).c_str(), 8);
    }
  };
  const std::string path = test::tiny_gguf(tiny);
  load(path);
  test::Oracle oracle(path, {.f32_cache = true, .n_ctx = kContext, .n_threads = 1});
  ASSERT_TRUE(oracle.ok());
  EXPECT_LE(worst(oracle.logits(tokens), test::all_logits(*forward_, tokens, kF32Cache, 512)), 1e-6);
  EXPECT_EQ(without, test::all_logits(*forward_, tokens, kF32Cache, 512));
}

TEST_F(TinyOracleTest, AnF16CacheIsCloseToLibllamasFlashAttention) {
  test::TinyGguf tiny;
  tiny.head_dim = 64, tiny.n_embd = 128;
  const std::string path = test::tiny_gguf(tiny);
  load(path);
  test::Oracle oracle(path, {.n_ctx = kContext, .n_threads = 1});
  ASSERT_TRUE(oracle.ok());
  const auto tokens = test::random_tokens(101, tiny.n_vocab, 3);
  EXPECT_LE(worst(oracle.logits(tokens), test::all_logits(*forward_, tokens, kF16Cache, 512)), 1e-5);
}

// Everything but the dtype of the matrices: rows of 256, a block of every type.
test::TinyGguf model_of(int type, const char* architecture) {
  test::TinyGguf tiny;
  tiny.architecture = architecture;
  tiny.n_layer = 1;
  tiny.n_embd = tiny.n_ff = 256;
  tiny.n_head = 2;
  tiny.n_head_kv = 1;
  tiny.head_dim = 128;  // no power of four: where scores are scaled decides how they are rounded
  tiny.weight_type = type;
  if (tiny.architecture != "llama") {  // what the architectures do alike: to quantise takes most of the time
    tiny.types = {{"token_embd.weight", GGML_TYPE_F32}, {"blk.0.ffn_down.weight", GGML_TYPE_F32}};
  }
  return tiny;
}

class TinyOracleTypeTest : public TinyOracleTest, public ::testing::WithParamInterface<int> {
 protected:
  static const std::string& llama_file() {  // written once for all tests of a dtype
    static std::map<int, std::string> paths;
    std::string& path = paths[GetParam()];
    if (path.empty()) path = test::tiny_gguf(model_of(GetParam(), "llama"));
    return path;
  }
};

INSTANTIATE_TEST_SUITE_P(Types, TinyOracleTypeTest, ::testing::ValuesIn(test::weight_types()), [](const auto& type) {
  return std::string(ggml_type_name(static_cast<ggml_type>(type.param)));
});

// With ggml's attention on both sides: matrices of few bits make much of how a sum before them was rounded.
TEST_P(TinyOracleTypeTest, MatchesLibllamaInTheSameChunks) {
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    const std::string path =
        architecture == kArchitectures[0] ? llama_file() : test::tiny_gguf(model_of(GetParam(), architecture));
    load(path, WeightsMode::kNative, /*n_threads=*/1, CpuKernels::kGgml);
    const std::string name = ggml_type_name(static_cast<ggml_type>(GetParam()));
    EXPECT_NE(model_->quantisation().find(name + " x"), std::string::npos) << model_->quantisation();
    const auto tokens = test::random_tokens(33, model_->config().n_vocab, 11);
    for (const int n_chunk : {1, 512}) {
      test::Oracle oracle(path, {.n_ubatch = n_chunk, .n_ctx = kContext, .n_threads = 1});
      ASSERT_TRUE(oracle.ok());
      expect_close(oracle.logits(tokens), test::all_logits(*forward_, tokens, kF16Cache, n_chunk), n_chunk);
    }
  }
}

// --weights f32 is the dequantised file, in any chunks.
TEST_P(TinyOracleTypeTest, F32WeightsAreTheDequantisedFile) {
  const std::string path = llama_file();
  const std::string f32_path = path + ".f32";
  ASSERT_TRUE(test::write_f32_gguf(path, f32_path));
  load(path, WeightsMode::kF32);
  EXPECT_EQ(model_->weights_bytes(), int64_t{4} * (300 * 256 + 256 * (2 * 256 + 2 * 128) + 3 * 256 * 256 + 3 * 256));
  test::Oracle oracle(f32_path, {.f32_cache = true, .n_ctx = kContext, .n_threads = 1});
  ASSERT_TRUE(oracle.ok());
  const auto tokens = test::random_tokens(33, model_->config().n_vocab, 12);
  const auto expected = oracle.logits(tokens);
  EXPECT_LE(worst(expected, test::all_logits(*forward_, tokens, kF32Cache, 512)), 1e-6);
  EXPECT_LE(worst(expected, test::all_logits(*forward_, tokens, kF32Cache, 7)), 1e-6);
}

// --weights bf16 is the file with every matrix rounded to BF16, norms and biases untouched.
TEST_F(TinyOracleTest, Bf16WeightsAreThoseOfABf16File) {
  for (const int type : {GGML_TYPE_F32, GGML_TYPE_Q4_0, GGML_TYPE_BF16}) {
    test::TinyGguf tiny = model_of(type, "llama");
    const std::string path = test::tiny_gguf(tiny);
    load(path, WeightsMode::kBf16);
    EXPECT_EQ(model_->weights_bytes(),
              int64_t{2} * (300 * 256 + 256 * (2 * 256 + 2 * 128) + 3 * 256 * 256) + 4 * 3 * 256);
    const auto tokens = test::random_tokens(33, model_->config().n_vocab, 12);
    const auto got = test::all_logits(*forward_, tokens, kF32Cache, 512);
    load(path, WeightsMode::kF32);
    const auto exact = test::all_logits(*forward_, tokens, kF32Cache, 512);
    // BF16 keeps 8 bits: relative roundings of 2^-9 in weights and activations.
    EXPECT_LE(worst(exact, got), 1e-2);
    if (type != GGML_TYPE_F32) continue;
    EXPECT_GT(worst(exact, got), 1e-9) << "not rounded";
    tiny.weight_type = GGML_TYPE_BF16;
    load(test::tiny_gguf(tiny));
    EXPECT_EQ(got, test::all_logits(*forward_, tokens, kF32Cache, 512));
  }
}

TEST_F(TinyOracleTest, EveryDtypeOfRealFilesIsTested) {
  const auto types = test::weight_types();
  for (const ggml_type type :
       {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
        GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K,
        GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS, GGML_TYPE_TQ1_0, GGML_TYPE_MXFP4}) {
    EXPECT_NE(std::find(types.begin(), types.end(), type), types.end()) << ggml_type_name(type);
  }
}

// Files mix dtypes: Q4_K_M has Q6_K and F32 among Q4_K.
TEST_F(TinyOracleTest, MixedDtypesMatchLibllama) {
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    test::TinyGguf tiny = model_of(GGML_TYPE_Q4_K, architecture);
    tiny.n_layer = 2;
    tiny.types = {{"token_embd.weight", GGML_TYPE_Q6_K},    {"blk.0.attn_v.weight", GGML_TYPE_Q6_K},
                  {"blk.1.attn_v.weight", GGML_TYPE_Q8_0},  {"blk.0.attn_qkv.weight", GGML_TYPE_Q5_K},
                  {"blk.1.ffn_down.weight", GGML_TYPE_F16}, {"blk.0.ffn_down.weight", GGML_TYPE_Q5_0}};
    const std::string path = test::tiny_gguf(tiny);
    load(path, WeightsMode::kNative, /*n_threads=*/1, CpuKernels::kGgml);
    const auto tokens = test::random_tokens(48, tiny.n_vocab, 13);
    for (const int n_chunk : {1, 7, 512}) {
      test::Oracle oracle(path, {.n_ubatch = n_chunk, .n_ctx = kContext, .n_threads = 1});
      ASSERT_TRUE(oracle.ok());
      expect_close(oracle.logits(tokens), test::all_logits(*forward_, tokens, kF16Cache, n_chunk), n_chunk);
    }
  }
}

}  // namespace
}  // namespace ripplekv
