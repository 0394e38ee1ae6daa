// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A model file: header, keys, shapes, tokenizer, weights as they lie and dequantised; no graph is run.
#include <ggml.h>

#include "base/atomic_file.h"
#include "model/vocab.h"
#include "ripplekv/model.h"
#include "targets.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv::fuzz {
namespace {

// The smallest that every architecture accepts, so that mutations meet the header and not the weights.
test::TinyGguf smallest(std::string architecture) {
  test::TinyGguf tiny;
  tiny.architecture = std::move(architecture);
  tiny.n_layer = 1;
  tiny.n_embd = 8;
  tiny.n_head = 2;
  tiny.n_head_kv = 1;
  tiny.head_dim = 4;
  tiny.n_ff = 8;
  tiny.n_vocab = 261;
  tiny.weight_type = GGML_TYPE_F16;
  return tiny;
}

}  // namespace

int fuzz_gguf(const uint8_t* data, size_t size) {
  static const test::QuietLog quiet;
  const std::string path = put_file("model.gguf", text_of(data, size));
  const auto native = Model::load(path);
  expect_sentence(native.status());
  if (native.ok()) {
    RKV_CHECK((*native)->weights_bytes() > 0);
    const Vocab& vocab = (*native)->vocab();
    for (const int32_t token : vocab.tokenize("a b", true, true)) {
      RKV_CHECK(token >= 0 && token < vocab.n_tokens());
    }
    for (int32_t token = 0; token < vocab.n_tokens(); ++token) static_cast<void>(vocab.piece(token, true));
  }
  // What is refused for its dtypes alone may still be dequantised.
  if (native.ok() || native.status().code() == StatusCode::kUnsupported) {
    expect_sentence(Model::load(path, {.weights = WeightsMode::kF32}).status());
  }
  return 0;
}

std::vector<std::string> gguf_seeds() {
  std::vector<test::TinyGguf> models;
  for (const char* architecture : {"gemma3", "llama", "phi3", "qwen2", "qwen3"}) {
    models.push_back(smallest(architecture));
    models.back().biases = models.back().architecture == "qwen2";
    if (models.back().architecture == "gemma3") models.back().sliding_window = 2;
  }
  test::TinyGguf scaled = smallest("llama");
  scaled.tied = false;
  scaled.rope_factors = true;
  scaled.rope_scale = 4;
  scaled.rope_scaling = "yarn";
  scaled.n_ctx_orig = 1024;
  scaled.chat_template = "{{ messages[0].content }}";
  models.push_back(scaled);
  std::vector<std::string> seeds;
  for (const test::TinyGguf& model : models) {
    const std::string path = test::tiny_gguf(model);
    RKV_CHECK(Model::load(path).ok());
    seeds.push_back(*read_file(path, int64_t{1} << 20));
  }
  test::TinyGguf bare = smallest("llama");  // short: without a tokenizer, so refused, but only at the end
  bare.tokenizer = false;
  bare.n_embd = bare.n_ff = 32;
  bare.n_vocab = 4;
  bare.weight_type = GGML_TYPE_Q4_0;
  bare.head_dim = 16;
  seeds.push_back(*read_file(test::tiny_gguf(bare), int64_t{1} << 20));
  return seeds;
}

}  // namespace ripplekv::fuzz
