// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What a GGUF file can do to us: every bad file is refused with one sentence, none reaches ggml's or libllama's
// asserts. And the typed getters and the fingerprint.
#include "model/gguf_file.h"

#include <fmt/format.h>
#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "model/vocab.h"
#include "ripplekv/model.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

using Edit = std::function<void(gguf_context*)>;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string write_file(const std::string& bytes) {
  static const std::string folder = test::temp_dir();
  static int n_written = 0;
  const std::string path = fmt::format("{}/bad{}.gguf", folder, n_written++);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

template <class T>
void put(std::string& bytes, size_t offset, T value) {
  ASSERT_LE(offset + sizeof(value), bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

// Offsets in a file: where the value of a key begins, and the type of a tensor.
size_t value_offset(const std::string& bytes, const std::string& key) { return bytes.find(key) + key.size() + 4; }
size_t shape_offset(const std::string& bytes, const std::string& tensor) {
  return bytes.find(tensor) + tensor.size() + 4;
}
size_t type_offset(const std::string& bytes, const std::string& matrix) { return shape_offset(bytes, matrix) + 2 * 8; }

class GgufFileTest : public ::testing::Test {
 protected:
  static Status load(const std::string& path) {
    const auto model = Model::load(path);
    return model.ok() ? ok_status() : model.status();
  }

  // One sentence that names the file and what is wrong with it.
  static void expect_refused(const std::string& path, StatusCode code, const std::string& what) {
    const Status status = load(path);
    ASSERT_FALSE(status.ok()) << "accepted, but: " << what;
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
    EXPECT_LT(status.message().size(), path.size() + 200) << status.message();
  }
  static void expect_tiny_refused(const test::TinyGguf& tiny, StatusCode code, const std::string& what) {
    expect_refused(test::tiny_gguf(tiny), code, what);
  }
  static void expect_edit_refused(const Edit& edit, StatusCode code, const std::string& what) {
    test::TinyGguf tiny;
    tiny.edit = edit;
    expect_tiny_refused(tiny, code, what);
  }
  template <class Patch>
  static void expect_patch_refused(Patch patch, StatusCode code, const std::string& what) {
    std::string bytes = read_file(test::tiny_gguf({}));
    patch(bytes);
    expect_refused(write_file(bytes), code, what);
  }

  test::QuietLog quiet_;
};

TEST_F(GgufFileTest, TheModelAllBadOnesAreMadeFromIsGood) {
  const std::string path = test::tiny_gguf({});
  EXPECT_TRUE(load(path).ok()) << load(path).message();
  const auto model = Model::load(path);
  EXPECT_EQ((*model)->quantisation(), "f32 x20");
  EXPECT_EQ((*model)->id().name, "tiny");
  EXPECT_EQ((*model)->id().n_layer, 2);
  EXPECT_EQ((*model)->config().attention_scale, 0.25F);
  EXPECT_EQ((*model)->weights_bytes(),
            int64_t{4} * (300 * 64 + 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96)));
}

TEST_F(GgufFileTest, WhatIsNoGgufFile) {
  const std::string folder = test::temp_dir();
  expect_refused(folder + "/none.gguf", StatusCode::kNotFound, "No such file");
  expect_refused(folder, StatusCode::kInvalidArgument, "not a file");
  expect_refused("", StatusCode::kNotFound, "No such file");
  expect_refused(write_file("") + "/below", StatusCode::kIo, "Not a directory");
  expect_refused(write_file(""), StatusCode::kDataLoss, "0 bytes long");
  expect_refused(write_file("GGU"), StatusCode::kDataLoss, "3 bytes long");
  expect_refused(write_file("GGUF"), StatusCode::kDataLoss, "4 bytes long");
  expect_refused(write_file("{\"model\": true}"), StatusCode::kDataLoss, "magic is 7b 22 6d 6f, expected 'GGUF'");
  expect_refused(write_file(std::string(4096, '\0')), StatusCode::kDataLoss, "magic is 00 00 00 00");
}

TEST_F(GgufFileTest, Versions) {
  for (const uint32_t version : {0U, 1U, 4U, 77U, 0x03000000U}) {
    expect_patch_refused([&](std::string& bytes) { put(bytes, 4, version); }, StatusCode::kUnsupported,
                         fmt::format("GGUF version {}, expected 2 to 3", version));
  }
}

// Truncated anywhere, in the header or in the weights, it is refused; only the whole file is accepted.
TEST_F(GgufFileTest, TruncatedFiles) {
  const std::string bytes = read_file(test::tiny_gguf({}));
  std::vector<size_t> lengths;
  for (size_t n = 1; n < 64; ++n) lengths.push_back(n);
  for (size_t n = 64; n < bytes.size(); n += bytes.size() / 61) lengths.push_back(n);
  for (size_t n : {size_t{1}, size_t{2}, size_t{31}, size_t{32}, size_t{33}}) lengths.push_back(bytes.size() - n);
  const std::string path = write_file("");
  for (size_t n : lengths) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, n);
    expect_refused(path, StatusCode::kDataLoss, "");
  }
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  expect_refused(path, StatusCode::kDataLoss,
                 fmt::format("truncated: tensor 'blk.1.ffn_down.weight' ends at byte {}, "
                             "the file at {}",
                             bytes.size(), bytes.size() - 1));
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_TRUE(load(path).ok());
}

TEST_F(GgufFileTest, MissingKeys) {
  for (const char* key : {"general.architecture", "llama.block_count", "llama.context_length", "llama.embedding_length",
                          "llama.feed_forward_length", "llama.attention.head_count",
                          "llama.attention.layer_norm_rms_epsilon", "tokenizer.ggml.model", "tokenizer.ggml.tokens"}) {
    expect_edit_refused([&](gguf_context* gguf) { ASSERT_GE(gguf_remove_key(gguf, key), 0); }, StatusCode::kDataLoss,
                        fmt::format("key '{}' is missing", key));
  }
}

TEST_F(GgufFileTest, KeysOfTheWrongType) {
  const auto text = [](const char* key) { return [key](gguf_context* g) { gguf_set_val_str(g, key, "three"); }; };
  const auto real = [](const char* key) { return [key](gguf_context* g) { gguf_set_val_f32(g, key, 2.0F); }; };
  const auto list = [](const char* key) {
    return [key](gguf_context* g) {
      const uint32_t values[] = {2, 2};
      gguf_set_arr_data(g, key, GGUF_TYPE_UINT32, values, 2);
    };
  };
  for (const char* key : {"llama.block_count", "llama.embedding_length", "llama.attention.head_count_kv",
                          "llama.rope.dimension_count", "llama.expert_count", "split.count"}) {
    expect_edit_refused(text(key), StatusCode::kDataLoss, fmt::format("key '{}' is str, expected one whole", key));
    expect_edit_refused(real(key), StatusCode::kDataLoss, fmt::format("key '{}' is f32, expected one whole", key));
    // Per-layer values are lists: no graph here does them.
    expect_edit_refused(list(key), StatusCode::kDataLoss, fmt::format("key '{}' is arr, expected one whole", key));
  }
  for (const char* key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base", "llama.rope.scaling.factor",
                          "llama.attention.scale"}) {
    expect_edit_refused(text(key), StatusCode::kDataLoss, fmt::format("key '{}' is str, expected a number", key));
    expect_edit_refused(list(key), StatusCode::kDataLoss, fmt::format("key '{}' is arr, expected a number", key));
  }
  for (const char* key : {"general.architecture", "general.name", "llama.rope.scaling.type", "tokenizer.ggml.model"}) {
    expect_edit_refused(real(key), StatusCode::kDataLoss, fmt::format("key '{}' is f32, expected a string", key));
    expect_edit_refused(list(key), StatusCode::kDataLoss, fmt::format("key '{}' is arr, expected a string", key));
  }
  expect_edit_refused(list("tokenizer.ggml.tokens"), StatusCode::kDataLoss, "expected a list of strings");
  expect_edit_refused(text("tokenizer.ggml.tokens"), StatusCode::kDataLoss, "expected a list of strings");
}

TEST_F(GgufFileTest, AbsurdSizes) {
  const auto number = [](const char* key, uint64_t value) {
    return [key, value](gguf_context* g) { gguf_set_val_u64(g, key, value); };
  };
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
        "attention.key_length", "context_length", "rope.scaling.original_context_length"}) {
    const std::string full = std::string("llama.") + key;
    for (const uint64_t value : {uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX}) {
      const uint64_t shown = std::min(value, uint64_t{INT64_MAX});
      expect_edit_refused(number(full.c_str(), value), StatusCode::kDataLoss,
                          fmt::format("key '{}' is {}, expected 1 to", full, shown));
    }
  }
  expect_edit_refused([](gguf_context* g) { gguf_set_val_i32(g, "llama.block_count", -3); }, StatusCode::kDataLoss,
                      "key 'llama.block_count' is -3, expected 1 to");
  expect_edit_refused(number("llama.block_count", 3), StatusCode::kDataLoss,
                      "tensor 'blk.2.attn_norm.weight' is missing");
  expect_edit_refused(number("llama.attention.head_count_kv", 3), StatusCode::kDataLoss,
                      "4 query heads for 3 KV heads, expected a multiple");
  expect_edit_refused(number("llama.attention.head_count_kv", 8), StatusCode::kDataLoss,
                      "4 query heads for 8 KV heads, expected a multiple");
  expect_edit_refused(number("llama.attention.head_count", 6), StatusCode::kDataLoss,
                      "embedding length 64 does not divide into 6 heads");
  expect_edit_refused(number("llama.attention.value_length", 32), StatusCode::kUnsupported,
                      "K heads of 16 and V heads of 32 values");
  expect_edit_refused(number("llama.rope.dimension_count", 18), StatusCode::kDataLoss, "is 18, expected 2 to 16");
  expect_edit_refused(number("llama.rope.dimension_count", 7), StatusCode::kUnsupported, "7 rotated of 16 values");
}

TEST_F(GgufFileTest, AbsurdNumbers) {
  const auto real = [](const char* key, double value) {
    return [key, value](gguf_context* g) { gguf_set_val_f64(g, key, value); };
  };
  for (const char* key :
       {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base", "llama.rope.scaling.factor"}) {
    expect_edit_refused(real(key, NAN), StatusCode::kDataLoss, "expected a finite number");
    expect_edit_refused(real(key, -INFINITY), StatusCode::kDataLoss, "expected a finite number");
    expect_edit_refused(real(key, -1), StatusCode::kDataLoss, "-1, expected");
  }
  expect_edit_refused(real("llama.attention.layer_norm_rms_epsilon", 1), StatusCode::kDataLoss, "norm epsilon 1");
  for (const char* key : {"llama.rope.freq_base", "llama.rope.scaling.factor", "llama.rope.scaling.attn_factor"}) {
    expect_edit_refused(real(key, 0), StatusCode::kDataLoss, "expected a positive number");
    expect_edit_refused(real(key, 1e300), StatusCode::kDataLoss, "1e+300, expected ");
    expect_edit_refused(real(key, 1e-300), StatusCode::kDataLoss, "1e-300, expected ");
  }
  expect_edit_refused(real("llama.attention.scale", -1), StatusCode::kDataLoss, "is -1, expected 0 to 1000");
  expect_edit_refused(real("llama.attention.scale", 1e300), StatusCode::kDataLoss, "is 1e+300, expected 0 to 1000");
  const auto yarn = [&](const char* key, double value) {
    return [key, value](gguf_context* g) {
      gguf_set_val_str(g, "llama.rope.scaling.type", "yarn");
      gguf_set_val_f64(g, key, value);
    };
  };
  expect_edit_refused(yarn("llama.rope.scaling.factor", 0.5), StatusCode::kDataLoss, "factor 0.5, expected 1 to");
  expect_edit_refused(yarn("llama.rope.freq_base", 1), StatusCode::kDataLoss, "is 1, expected more than 1 for YaRN");
}

TEST_F(GgufFileTest, FeaturesThatAreNotThere) {
  const auto text = [](const char* key, const char* value) {
    return [key, value](gguf_context* g) { gguf_set_val_str(g, key, value); };
  };
  test::TinyGguf tiny;
  tiny.architecture = "gptneox";
  expect_tiny_refused(tiny, StatusCode::kUnsupported, "architecture 'gptneox' is not supported; supported: ");
  expect_edit_refused([](gguf_context* g) { gguf_set_val_u32(g, "llama.expert_count", 8); }, StatusCode::kUnsupported,
                      "mixture of 8 experts");
  expect_edit_refused([](gguf_context* g) { gguf_set_val_u16(g, "split.count", 3); }, StatusCode::kUnsupported,
                      "split into 3 files");
  for (const char* scaling : {"su", "dynamic", "YARN", ""}) {
    expect_edit_refused(text("llama.rope.scaling.type", scaling), StatusCode::kUnsupported,
                        fmt::format("RoPE scaling '{}' is not supported", scaling));
  }
}

TEST_F(GgufFileTest, MissingTensors) {
  for (const char* name :
       {"token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight",
        "blk.1.attn_k.weight", "blk.0.attn_v.weight", "blk.1.attn_output.weight", "blk.0.ffn_norm.weight",
        "blk.0.ffn_gate.weight", "blk.1.ffn_up.weight", "blk.1.ffn_down.weight"}) {
    test::TinyGguf tiny;
    tiny.shapes = {{name, {}}};
    expect_tiny_refused(tiny, StatusCode::kDataLoss, fmt::format("tensor '{}' is missing", name));
  }
}

TEST_F(GgufFileTest, MisshapenTensors) {
  const auto refused = [](const char* name, std::vector<int64_t> shape, const std::string& what) {
    test::TinyGguf tiny;
    tiny.tied = false;
    tiny.biases = tiny.rope_factors = true;
    tiny.shapes = {{name, std::move(shape)}};
    expect_tiny_refused(tiny, StatusCode::kDataLoss, fmt::format("tensor '{}' has shape {}", name, what));
  };
  refused("blk.0.attn_q.weight", {64, 32}, "[64, 32, 1, 1], expected [64, 64, 1, 1]");
  refused("blk.0.attn_k.weight", {32, 64}, "[32, 64, 1, 1], expected [64, 32, 1, 1]");
  refused("blk.1.ffn_down.weight", {64, 96}, "[64, 96, 1, 1], expected [96, 64, 1, 1]");
  refused("blk.1.ffn_up.weight", {64, 96, 2}, "[64, 96, 2, 1], expected [64, 96, 1, 1]");
  refused("blk.1.attn_norm.weight", {63}, "[63, 1, 1, 1], expected [64, 1, 1, 1]");
  refused("blk.0.attn_v.bias", {64}, "[64, 1, 1, 1], expected [32, 1, 1, 1]");
  refused("output.weight", {64, 299}, "[64, 299, 1, 1], expected [64, 300, 1, 1]");
  refused("rope_freqs.weight", {16}, "[16, 1, 1, 1], expected [8, 1, 1, 1]");
  refused("token_embd.weight", {32, 300}, "[32, 300, 1, 1], expected [64, 300, 1, 1]");
}

// Ignoring a tensor would give wrong answers; libllama refuses such files as well.
TEST_F(GgufFileTest, TensorsThatNothingReads) {
  for (const char* name : {"blk.0.ffn_up.bias", "blk.1.attn_q_norm.weight", "blk.2.attn_q.weight", "foo"}) {
    test::TinyGguf tiny;
    tiny.shapes = {{name, {64}}};
    expect_tiny_refused(tiny, StatusCode::kUnsupported, fmt::format("tensor '{}' is part of no feature", name));
  }
}

TEST_F(GgufFileTest, Dtypes) {
  test::TinyGguf tiny;
  tiny.types = {{"blk.0.attn_q.weight", GGML_TYPE_I32}};
  expect_tiny_refused(tiny, StatusCode::kUnsupported, "tensor 'blk.0.attn_q.weight' is i32, expected a dtype");
  // Element-wise kernels: anything but F32 would abort in the middle of a graph.
  tiny.types = {{"blk.1.ffn_norm.weight", GGML_TYPE_Q8_0}};
  expect_tiny_refused(tiny, StatusCode::kUnsupported, "tensor 'blk.1.ffn_norm.weight' is q8_0, expected f32");
  tiny.types = {{"blk.1.attn_q.bias", GGML_TYPE_F16}};
  tiny.biases = true;
  expect_tiny_refused(tiny, StatusCode::kUnsupported, "tensor 'blk.1.attn_q.bias' is f16, expected f32");
  const std::string path = test::tiny_gguf(tiny);
  EXPECT_TRUE(Model::load(path, {.weights = WeightsMode::kF32}).ok());

  // A row of 64 values is no whole block of 256; dtypes that are gone, and some that never were.
  for (const int32_t type : {int32_t{GGML_TYPE_Q4_K}, 4, 31, 200, -1, INT32_MAX}) {
    expect_patch_refused([&](std::string& bytes) { put(bytes, type_offset(bytes, "blk.0.attn_q.weight"), type); },
                         StatusCode::kDataLoss, "the GGUF header is damaged");
  }
}

TEST_F(GgufFileTest, DamagedHeaders) {
  const auto refused = [](auto patch) {
    expect_patch_refused(patch, StatusCode::kDataLoss, "the GGUF header is damaged");
  };
  for (const int64_t n : {int64_t{-1}, int64_t{1} << 40, int64_t{1} << 60, INT64_MAX}) {
    refused([&](std::string& bytes) { put(bytes, 8, n); });   // tensors
    refused([&](std::string& bytes) { put(bytes, 16, n); });  // keys
    refused([&](std::string& bytes) { put(bytes, 24, n); });  // length of the first key
    // Length of a text, and of a list.
    refused([&](std::string& bytes) { put(bytes, value_offset(bytes, "general.name"), n); });
    refused([&](std::string& bytes) { put(bytes, value_offset(bytes, "tokenizer.ggml.scores") + 4, n); });
    refused([&](std::string& bytes) { put(bytes, shape_offset(bytes, "blk.0.attn_k.weight"), n); });
    refused([&](std::string& bytes) { put(bytes, type_offset(bytes, "blk.0.attn_k.weight") + 4, n); });  // data offset
  }
  for (const uint32_t type : {9U, 13U, 77U, UINT32_MAX}) {  // of a key
    refused([&](std::string& bytes) { put(bytes, value_offset(bytes, "general.name") - 4, type); });
  }
  for (const uint32_t n_dims : {5U, 100U, UINT32_MAX}) {
    refused([&](std::string& bytes) { put(bytes, shape_offset(bytes, "blk.0.attn_k.weight") - 4, n_dims); });
  }
  // Two tensors of one name.
  refused([](std::string& bytes) { bytes.replace(bytes.find("blk.0.attn_k"), 12, "blk.0.attn_q"); });
  // Shapes whose product overflows.
  refused([](std::string& bytes) {
    put(bytes, shape_offset(bytes, "blk.0.attn_k.weight"), int64_t{1} << 40);
    put(bytes, shape_offset(bytes, "blk.0.attn_k.weight") + 8, int64_t{1} << 40);
  });
  expect_patch_refused([](std::string& bytes) { put(bytes, 8, int64_t{0}); }, StatusCode::kDataLoss,
                       "holds no tensors");
}

// Any single byte of the header changed: refused or accepted, but never a crash; a refusal names the file.
TEST_F(GgufFileTest, FlippedBytesNeverCrash) {
  const std::string good = read_file(test::tiny_gguf({}));
  const std::string path = write_file("");
  Random random(3);
  const size_t header = good.find("blk.1.ffn_down.weight") + 60;
  int n_refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    const size_t at = random.below(header);
    bytes[at] = static_cast<char>(static_cast<uint8_t>(bytes[at]) ^ (1 + random.below(255)));
    std::ofstream(path, std::ios::binary) << bytes;
    const Status status = load(path);
    if (status.ok()) continue;
    ++n_refused;
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  }
  EXPECT_GT(n_refused, 100);
}

TEST_F(GgufFileTest, Tokenizers) {
  test::TinyGguf tiny;
  tiny.tokenizer = false;
  expect_tiny_refused(tiny, StatusCode::kDataLoss, "key 'tokenizer.ggml.model' is missing");
  for (const char* kind : {"none", "rwkv", "bert", "", "a\nb"}) {
    expect_edit_refused([&](gguf_context* g) { gguf_set_val_str(g, "tokenizer.ggml.model", kind); },
                        StatusCode::kUnsupported, "is not supported; supported: gpt2, llama");
  }
  const auto tokens = [](auto change) {
    return [change](gguf_context* g) {
      std::vector<std::string> texts;
      const int64_t id = gguf_find_key(g, "tokenizer.ggml.tokens");
      for (size_t i = 0; i < gguf_get_arr_n(g, id); ++i) texts.emplace_back(gguf_get_arr_str(g, id, i));
      change(texts);
      std::vector<const char*> pointers;
      for (const std::string& text : texts) pointers.push_back(text.c_str());
      gguf_set_arr_str(g, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
    };
  };
  expect_edit_refused(tokens([](auto& texts) { texts[270] = texts[265]; }), StatusCode::kDataLoss,
                      "token 270 is 'f', which another token is already");
  expect_edit_refused(tokens([](auto& texts) { texts.pop_back(); }), StatusCode::kDataLoss,
                      "299 tokens in the tokenizer, 300 in the embedding");
  expect_edit_refused(tokens([](auto& texts) { texts[3 + 0x41] = "not a byte"; }), StatusCode::kDataLoss,
                      "no token for some byte, expected all 256");
  expect_edit_refused(tokens([](auto& texts) { texts.push_back("more"); }), StatusCode::kUnsupported,
                      "libllama cannot read its tokenizer");
  expect_edit_refused([](gguf_context* g) { gguf_set_val_str(g, "tokenizer.ggml.model", "gpt2"); },
                      StatusCode::kUnsupported, "libllama cannot read its tokenizer");
  const auto one_more_byte = [&](gguf_context* g) {
    std::vector<int32_t> types(300, 1);
    for (size_t i = 3; i < 3 + 256; ++i) types[i] = 6;
    types[299] = 6;
    gguf_set_arr_data(g, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
    tokens([](auto& texts) { texts[299] = "xx"; })(g);
  };
  expect_edit_refused(one_more_byte, StatusCode::kUnsupported, "libllama cannot read its tokenizer");
}

TEST_F(GgufFileTest, VocabIsTheTokenizerOfTheFile) {
  test::TinyGguf tiny;
  tiny.chat_template = "{{ messages[0].content }}";
  const auto model = Model::load(test::tiny_gguf(tiny));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Vocab& vocab = (*model)->vocab();
  EXPECT_EQ(vocab.n_tokens(), 300);
  EXPECT_EQ(vocab.bos(), 1);
  EXPECT_EQ(vocab.eos(), 2);
  EXPECT_TRUE(vocab.is_end(2));
  EXPECT_FALSE(vocab.is_end(3));
  EXPECT_EQ(vocab.chat_template(), tiny.chat_template);
  EXPECT_EQ(vocab.piece(259, false), " ");
  EXPECT_EQ(vocab.piece(260, false), "a");
  EXPECT_EQ(vocab.piece(3 + 0xE2, false), "\xE2");
  EXPECT_EQ(vocab.special_text(-1), "");
  EXPECT_EQ(vocab.special_text(1), "<s>");
  const auto tokens = vocab.tokenize("abc", true, false);
  EXPECT_EQ(tokens.front(), 1);
  EXPECT_EQ(vocab.text(tokens, false), " abc");
  EXPECT_EQ(vocab.tokenize("</s>", false, true).back(), 2);
  EXPECT_TRUE(vocab.tokenize("", false, false).empty());
  std::string all(600, 'x');
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);  // any bytes, not only UTF-8
  EXPECT_GE(vocab.tokenize(all, false, true).size(), 256U);
}

TEST_F(GgufFileTest, GettersReadEveryWidthAndNameKeyGotAndExpected) {
  test::TinyGguf tiny;
  tiny.edit = [](gguf_context* g) {
    gguf_set_val_u8(g, "t.u8", 200);
    gguf_set_val_i8(g, "t.i8", -5);
    gguf_set_val_u16(g, "t.u16", 60000);
    gguf_set_val_i16(g, "t.i16", -300);
    gguf_set_val_u32(g, "t.u32", 4000000000U);
    gguf_set_val_i32(g, "t.i32", -70000);
    gguf_set_val_u64(g, "t.u64", UINT64_MAX);
    gguf_set_val_i64(g, "t.i64", INT64_MIN);
    gguf_set_val_f64(g, "t.f64", 0.1);
    gguf_set_val_bool(g, "t.bool", true);
  };
  const std::string path = test::tiny_gguf(tiny);
  const auto opened = GgufFile::open(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const GgufFile& file = **opened;
  const auto integer = [&](const char* key) { return *file.integer(key, INT64_MIN, INT64_MAX); };
  EXPECT_EQ(integer("t.u8"), 200);
  EXPECT_EQ(integer("t.i8"), -5);
  EXPECT_EQ(integer("t.u16"), 60000);
  EXPECT_EQ(integer("t.i16"), -300);
  EXPECT_EQ(integer("t.u32"), 4000000000);
  EXPECT_EQ(integer("t.i32"), -70000);
  EXPECT_EQ(integer("t.u64"), INT64_MAX);
  EXPECT_EQ(integer("t.i64"), INT64_MIN);
  EXPECT_EQ(*file.real("t.f64"), 0.1);
  EXPECT_EQ(*file.text("general.name"), "tiny");
  EXPECT_EQ(file.texts("tokenizer.ggml.tokens")->size(), 300U);
  EXPECT_TRUE(file.has("t.bool"));
  EXPECT_FALSE(file.has("t.none"));
  EXPECT_FALSE(file.optional_integer("t.none", 0, 1)->has_value());
  EXPECT_FALSE(file.optional_real("t.none")->has_value());
  EXPECT_FALSE(file.optional_text("t.none")->has_value());
  EXPECT_EQ(file.integer("t.u8", 0, 199).status().message(),
            fmt::format("model '{}': key 't.u8' is 200, expected 0 to 199", path));
  EXPECT_EQ(file.integer("t.i8", -4, 0).status().message(),
            fmt::format("model '{}': key 't.i8' is -5, expected -4 to 0", path));
  EXPECT_EQ(file.integer("t.bool", 0, 1).status().message(),
            fmt::format("model '{}': key 't.bool' is bool, expected one whole number", path));
  EXPECT_EQ(file.real("t.u8").status().message(), fmt::format("model '{}': key 't.u8' is u8, expected a number", path));
  EXPECT_EQ(file.text("t.none").status().message(), fmt::format("model '{}': key 't.none' is missing", path));

  EXPECT_EQ(file.version(), 3U);
  EXPECT_EQ(file.n_tensors(), 20);
  EXPECT_EQ(file.alignment(), 32);
  EXPECT_EQ(file.find_tensor("none"), -1);
  const int64_t id = file.find_tensor("blk.1.attn_k.weight");
  ASSERT_GE(id, 0);
  EXPECT_EQ(file.tensor_name(id), "blk.1.attn_k.weight");
  EXPECT_EQ(file.tensor_shape(id)[0], 64);
  EXPECT_EQ(file.tensor_shape(id)[1], 32);
  EXPECT_EQ(file.tensor_type(id), GGML_TYPE_F32);
  EXPECT_EQ(file.tensor_bytes(id).size(), 64U * 32 * 4);
}

TEST_F(GgufFileTest, FingerprintIsOfTheContentNotOfThePath) {
  const std::string path = test::tiny_gguf({});
  const auto fingerprint = [](const std::string& of) { return (*GgufFile::open(of))->fingerprint(); };
  const std::string first = fingerprint(path);
  EXPECT_EQ(first.size(), 5U + 32U);
  EXPECT_EQ(first.substr(0, 5), "xxh3:");
  EXPECT_EQ(fingerprint(write_file(read_file(path))), first) << "a copy";
  EXPECT_EQ(fingerprint(test::tiny_gguf({})), first) << "the same model made again";
  EXPECT_EQ((*Model::load(path))->id().fingerprint, first);
  EXPECT_EQ((*Model::load(path, {.weights = WeightsMode::kF32}))->id().fingerprint, first);

  test::TinyGguf other;
  other.weight_type = GGML_TYPE_F16;
  EXPECT_NE(fingerprint(test::tiny_gguf(other)), first) << "another quantisation";
  other = {};
  other.seed = 2;
  EXPECT_NE(fingerprint(test::tiny_gguf(other)), first) << "other weights";
  other = {};
  other.edit = [](gguf_context* g) { gguf_set_val_str(g, "general.name", "tony"); };
  EXPECT_NE(fingerprint(test::tiny_gguf(other)), first) << "another name";
  EXPECT_NE(fingerprint(write_file(read_file(path) + "x")), first) << "another size";
}

TEST_F(GgufFileTest, FingerprintSeesTheBeginningOfEveryTensor) {
  const std::string path = test::tiny_gguf({});
  const std::string good = read_file(path);
  const auto file = GgufFile::open(path);
  const std::string first = (*file)->fingerprint();
  for (int64_t id = 0; id < (*file)->n_tensors(); ++id) {
    const auto tensor = (*file)->tensor_bytes(id);
    const auto begin = static_cast<size_t>(tensor.data() - (*file)->mapping().data());
    for (const size_t at : {size_t{0}, std::min<size_t>(4096, tensor.size()) - 1}) {
      std::string bytes = good;
      bytes[begin + at] = static_cast<char>(bytes[begin + at] ^ 1);
      EXPECT_NE((*GgufFile::open(write_file(bytes)))->fingerprint(), first) << (*file)->tensor_name(id) << " " << at;
    }
  }
}

}  // namespace
}  // namespace ripplekv
