// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Random-weight models of a few hundred kilobytes: every shape a real model may have, in milliseconds. The same options
// give the same file on every machine. Weights are scaled so that attention is neither flat nor one-hot and the logits
// spread over several tokens. The tokenizer is SPM with <unk>, <s>, </s>, 256 byte tokens, the space and letters.
// `edit`, `shapes` and `types` make the files a loader must refuse.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct gguf_context;

namespace ripplekv::test {

struct TinyGguf {
  std::string architecture = "llama";  // phi3: gate and up in one tensor; qwen3: norms of Q and K; gemma3: six norms
  int n_layer = 2;
  int n_embd = 64;
  int n_head = 4;
  int n_head_kv = 2;
  int head_dim = 16;  // written as key_length and value_length where n_head * head_dim != n_embd
  int n_rot = 0;      // 0: head_dim
  int n_ff = 96;
  int n_vocab = 300;       // 260 at least
  bool tied = true;        // no output.weight
  bool biases = false;     // of Q, K, V; in llama of the attention's output too
  bool fused_qkv = false;  // always in phi3
  bool rope_factors = false;
  bool long_rope = false;  // the two tables of LongRoPE
  double rope_scale = 1;   // scaling factor
  std::string rope_scaling = "linear";
  double rope_attn_factor = 1;
  int n_ctx_orig = 0;       // no key if 0; the context is 4096
  int sliding_window = 0;   // no key if 0
  int sliding_pattern = 0;  // likewise
  int weight_type = 0;      // ggml_type of the matrices; norms, biases and factors are F32
  uint64_t seed = 1;
  bool tokenizer = true;
  std::string chat_template;  // none if empty

  std::map<std::string, std::vector<int64_t>> shapes;  // of tensors that are to be misshapen or added; {}: left out
  std::map<std::string, int> types;                    // ggml_type of single tensors
  std::function<void(gguf_context*)> edit;             // the last word on the keys
};

// Aborts where it cannot: a test without its model proves nothing.
void write_tiny_gguf(const TinyGguf& tiny, const std::string& path);
// Three layers with a chat template, heads that every kv format fits: what the program's tests talk to.
TinyGguf tiny_chat_model();

// In a fresh folder that is removed when the program ends; its path.
std::string tiny_gguf(const TinyGguf& tiny);

// ggml types of weights that ggml can make and its CPU kernels multiply with; F32, F16 and BF16 among them.
std::vector<int> weight_types();

// n random token ids, none of them special. REQUIRES: n_vocab > 3.
std::vector<int32_t> random_tokens(int64_t n, int n_vocab, uint64_t seed);

// While it lives, ggml, gguf and libllama log nothing.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

}  // namespace ripplekv::test
