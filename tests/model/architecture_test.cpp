// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What each architecture refuses by name, and that absurd hyper-parameters never reach ggml's asserts. What it computes
// is tiny_oracle_test.cpp's; files that are bad in any architecture are gguf_file_test.cpp's.
#include "model/architecture.h"

#include <fmt/format.h>
#include <gguf.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>

#include "model/prefill.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

class ArchitectureTest : public ::testing::Test {
 protected:
  static void expect_refused(const test::TinyGguf& tiny, StatusCode code, const std::string& what) {
    const auto model = Model::load(test::tiny_gguf(tiny));
    ASSERT_FALSE(model.ok()) << "accepted, but: " << what;
    EXPECT_EQ(model.status().code(), code) << model.status().message();
    EXPECT_NE(model.status().message().find(what), std::string::npos) << model.status().message();
  }

  test::QuietLog quiet_;
};

// Full attention is the model's as long as no sequence outgrows the window.
TEST_F(ArchitectureTest, SlidingWindows) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "phi3"}) {
    test::TinyGguf tiny;
    tiny.architecture = architecture;
    const auto window = [&](uint32_t n) {
      tiny.edit = [n, architecture](gguf_context* g) {
        gguf_set_val_u32(g, fmt::format("{}.attention.sliding_window", architecture).c_str(), n);
      };
    };
    window(4095);
    expect_refused(tiny, StatusCode::kUnsupported,
                   "a sliding window of 4095 tokens in a context of 4096; layers with a window are not "
                   "supported, --ctx-size 4095 stays within it");
    const std::string path = test::tiny_gguf(tiny);
    EXPECT_TRUE(Model::load(path, {.n_ctx = 4095}).ok());
    EXPECT_FALSE(Model::load(path, {.n_ctx = 5000}).ok());
    for (const uint32_t whole : {0U, 4096U, 262144U}) {
      window(whole);
      EXPECT_TRUE(Model::load(test::tiny_gguf(tiny)).ok()) << whole;
    }
  }
}

TEST_F(ArchitectureTest, LongRopeWithoutFactors) {
  for (const char* architecture : {"qwen2", "qwen3"}) {
    test::TinyGguf other;
    other.architecture = architecture;
    other.rope_scaling = "longrope";
    expect_refused(other, StatusCode::kUnsupported,
                   fmt::format("RoPE scaling 'longrope' is not supported for architecture '{}'", architecture));
    other.rope_scaling = "linear";
    other.long_rope = true;
    expect_refused(other, StatusCode::kUnsupported, "'rope_factors_short.weight' is part of no feature");
  }
}

TEST_F(ArchitectureTest, MissingAndMisshapenTensors) {
  const auto refused = [](const test::TinyGguf& tiny, const std::string& what) {
    expect_refused(tiny, StatusCode::kDataLoss, what);
  };
  test::TinyGguf qwen3;
  qwen3.architecture = "qwen3";
  qwen3.shapes = {{"blk.1.attn_q_norm.weight", {}}};
  refused(qwen3, "tensor 'blk.1.attn_q_norm.weight' is missing");
  qwen3.shapes = {{"blk.0.attn_k_norm.weight", {32}}};
  refused(qwen3, "tensor 'blk.0.attn_k_norm.weight' has shape [32, 1, 1, 1], expected [16, 1, 1, 1]");
  test::TinyGguf phi3;
  phi3.architecture = "phi3";
  phi3.shapes = {{"blk.0.ffn_up.weight", {64, 96}}};
  refused(phi3, "tensor 'blk.0.ffn_up.weight' has shape [64, 96, 1, 1], expected [64, 192, 1, 1]");
  phi3.shapes = {{"blk.1.attn_qkv.weight", {64, 64}}};
  refused(phi3, "tensor 'blk.1.attn_qkv.weight' has shape [64, 64, 1, 1], expected [64, 128, 1, 1]");
  phi3.shapes = {{"rope_factors_long.weight", {8}}};
  refused(phi3, "tensor 'rope_factors_short.weight' is missing");
  phi3.shapes = {{"rope_factors_short.weight", {8}}};
  refused(phi3, "tensor 'rope_factors_long.weight' is missing");
  phi3.shapes = {{"rope_factors_short.weight", {8}}, {"rope_factors_long.weight", {7}}};
  refused(phi3, "tensor 'rope_factors_long.weight' has shape [7, 1, 1, 1], expected [8, 1, 1, 1]");
  for (const char* architecture : {"llama", "phi3"}) {
    test::TinyGguf tiny;
    tiny.architecture = architecture;
    tiny.rope_scaling = "longrope";
    refused(tiny, "tensor 'rope_factors_long.weight' is missing");
  }
}

// What is not refused computes, or says why not. Values of numbers are four bytes in these files.
TEST_F(ArchitectureTest, AbsurdHyperParametersNeverCrash) {
  const std::string path = test::temp_dir() + "/absurd.gguf";
  for (const Architecture* architecture : architecture_registry()) {
    test::TinyGguf tiny;
    tiny.architecture = architecture->name;
    tiny.n_layer = 1;
    tiny.n_head = 3;  // key_length is in the file
    tiny.n_head_kv = 1;
    tiny.rope_scaling = "yarn";
    tiny.rope_scale = 4;
    tiny.rope_attn_factor = 1.5;
    tiny.n_ctx_orig = 128;
    tiny.long_rope = architecture->name == "phi3";
    std::ifstream good(test::tiny_gguf(tiny), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(good), {}};
    int n_refused = 0;
    int n_tried = 0;
    for (const char* key : {"block_count", "context_length", "embedding_length", "feed_forward_length",
                            "attention.head_count", "attention.head_count_kv", "attention.key_length",
                            "attention.value_length", "rope.dimension_count", "rope.scaling.original_context_length",
                            "rope.scaling.factor", "rope.scaling.attn_factor", "attention.layer_norm_rms_epsilon"}) {
      const std::string full = fmt::format("{}.{}", architecture->name, key);
      const size_t at = bytes.find(full) + full.size() + sizeof(uint32_t);
      ASSERT_LT(at, bytes.size()) << full;
      for (const uint32_t value :
           {0U, 1U, 2U, 7U, 1U << 20, 1U << 30, UINT32_MAX, std::bit_cast<uint32_t>(1e-38F),
            std::bit_cast<uint32_t>(3e38F), std::bit_cast<uint32_t>(-1.0F), std::bit_cast<uint32_t>(0.5F)}) {
        std::string changed = bytes;
        std::memcpy(changed.data() + at, &value, sizeof(value));
        std::ofstream(path, std::ios::binary) << changed;
        ++n_tried;
        const auto model = Model::load(path);
        if (!model.ok()) {
          ++n_refused;
          continue;
        }
        auto forward = Forward::create(*model, 1);
        ASSERT_TRUE(forward.ok());
        KvCache cache;
        const std::vector<KvFormat> formats(1);
        const std::vector<int32_t> tokens = {5, 6, 7};
        PrefillRequest request;
        request.tokens = tokens;
        request.cache = &cache;
        request.formats = formats;
        (void)prefill(**forward, request);
      }
    }
    EXPECT_GT(n_refused, n_tried / 2) << architecture->name;
    EXPECT_LT(n_refused, n_tried) << architecture->name;
  }
}

}  // namespace
}  // namespace ripplekv
