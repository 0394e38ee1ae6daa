// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/tiny_gguf.h"

#include <fmt/format.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <gguf.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "ripplekv/status.h"
#include "test_util/paths.h"

namespace ripplekv::test {
namespace {

constexpr int kSpecial = 3;  // <unk>, <s>, </s>
constexpr int kBytes = 256;

// These quantisers search neighbours on a grid, some of them first make a table of those for seconds, or try many
// scales; those that ggml runs only with importances are among them.
bool quantises_slowly(ggml_type type) {
  return type == GGML_TYPE_IQ2_XXS || type == GGML_TYPE_IQ2_XS || type == GGML_TYPE_IQ2_S || type == GGML_TYPE_IQ1_S ||
         type == GGML_TYPE_IQ1_M || type == GGML_TYPE_IQ3_XXS || type == GGML_TYPE_IQ3_S || type == GGML_TYPE_IQ4_NL ||
         type == GGML_TYPE_IQ4_XS;
}

// Sets the F16 scale of a block: its first two bytes, in IQ1_M the high four bits of its last four 16-bit words.
void set_scale(ggml_type type, uint8_t* block, float scale) {
  const ggml_fp16_t bits = ggml_fp32_to_fp16(scale);
  if (type != GGML_TYPE_IQ1_M) {
    std::memcpy(block, &bits, sizeof(bits));
    return;
  }
  uint8_t* words = block + ggml_type_size(type) - 8;
  for (int i = 0; i < 4; ++i) {
    uint8_t& high = words[2 * i + 1];
    high = static_cast<uint8_t>((high & 0x0F) | ((bits >> (4 * i) & 0x0F) << 4));
  }
}

// Random bits are valid blocks of the types above; one scale per tensor gives them the deviation.
void fill_blocks(ggml_tensor* tensor, double deviation, Random& random) {
  auto* bytes = static_cast<uint8_t*>(tensor->data);
  const size_t size = ggml_nbytes(tensor);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(random.next());
  const auto set_scales = [&](float scale) {
    for (size_t i = 0; i < size; i += ggml_type_size(tensor->type)) set_scale(tensor->type, bytes + i, scale);
  };
  set_scales(1.0F);
  std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
  ggml_get_type_traits(tensor->type)->to_float(bytes, values.data(), ggml_nelements(tensor));
  double squares = 0;
  for (float value : values) squares += static_cast<double>(value) * value;
  set_scales(static_cast<float>(deviation / std::sqrt(squares / static_cast<double>(values.size()))));
}

// Adds tensors to a file, each drawn from its own generator: leaving one out does not change the others.
class Writer {
 public:
  Writer(const TinyGguf& tiny, gguf_context* gguf) : tiny_(tiny), gguf_(gguf) {}
  ~Writer() {
    for (ggml_context* context : contexts_) ggml_free(context);
  }

  // Gaussian around `mean`.
  void tensor(const std::string& name, std::vector<int64_t> shape, double deviation, double mean = 0) {
    const auto misshapen = tiny_.shapes.find(name);
    if (misshapen != tiny_.shapes.end()) shape = misshapen->second;
    if (shape.empty()) return;
    written_.push_back(name);
    // Rows of one value (norms, biases) stay F32, as in every real file.
    auto type = shape.size() == 1 ? GGML_TYPE_F32 : static_cast<ggml_type>(tiny_.weight_type);
    if (const auto other = tiny_.types.find(name); other != tiny_.types.end()) {
      type = static_cast<ggml_type>(other->second);
    }
    int64_t n = 1;
    for (int64_t extent : shape) n *= extent;
    uint64_t seed = tiny_.seed;
    for (char letter : name) seed = seed_from(seed, letter);
    Random random(seed);
    ggml_context* context = ggml_init({ggml_tensor_overhead() + ggml_row_size(type, n) + 64, nullptr, false});
    contexts_.push_back(context);
    ggml_tensor* tensor = ggml_new_tensor(context, type, static_cast<int>(shape.size()), shape.data());
    ggml_set_name(tensor, name.c_str());
    if (type == GGML_TYPE_I32) {  // no weights, only a file that must be refused
      std::memset(tensor->data, 0, ggml_nbytes(tensor));
    } else if (quantises_slowly(type)) {
      fill_blocks(tensor, deviation, random);
    } else {
      std::vector<float> values(static_cast<size_t>(n));
      for (float& value : values) value = static_cast<float>(mean + deviation * random.gaussian());
      // Without importances: with them, quantisers search long for the best scale.
      ggml_quantize_chunk(type, values.data(), tensor->data, 0, n / shape[0], shape[0], nullptr);
    }
    gguf_add_tensor(gguf_, tensor);
  }

  // Tensors of `shapes` that no model has.
  void strangers() {
    for (const auto& [name, shape] : tiny_.shapes) {
      if (std::find(written_.begin(), written_.end(), name) == written_.end()) tensor(name, shape, 0.1);
    }
  }

 private:
  const TinyGguf& tiny_;
  gguf_context* gguf_;
  std::vector<ggml_context*> contexts_;
  std::vector<std::string> written_;
};

int n_rot(const TinyGguf& tiny) { return tiny.n_rot > 0 ? tiny.n_rot : tiny.head_dim; }

void write_keys(const TinyGguf& tiny, gguf_context* gguf) {
  gguf_set_val_str(gguf, "general.architecture", tiny.architecture.c_str());
  gguf_set_val_str(gguf, "general.name", "tiny");
  const auto number = [&](const char* key, int64_t value) {
    gguf_set_val_u32(gguf, (tiny.architecture + "." + key).c_str(), static_cast<uint32_t>(value));
  };
  const auto real = [&](const char* key, double value) {
    gguf_set_val_f32(gguf, (tiny.architecture + "." + key).c_str(), static_cast<float>(value));
  };
  number("block_count", tiny.n_layer);
  number("context_length", 4096);
  number("embedding_length", tiny.n_embd);
  number("feed_forward_length", tiny.n_ff);
  number("attention.head_count", tiny.n_head);
  number("attention.head_count_kv", tiny.n_head_kv);
  real("attention.layer_norm_rms_epsilon", 1e-5);
  number("rope.dimension_count", n_rot(tiny));
  if (tiny.n_head * tiny.head_dim != tiny.n_embd) {
    number("attention.key_length", tiny.head_dim);
    number("attention.value_length", tiny.head_dim);
  }
  if (tiny.rope_scale != 1) real("rope.scaling.factor", tiny.rope_scale);
  if (tiny.rope_attn_factor != 1) real("rope.scaling.attn_factor", tiny.rope_attn_factor);
  if (tiny.rope_scale != 1 || tiny.rope_scaling != "linear") {
    gguf_set_val_str(gguf, (tiny.architecture + ".rope.scaling.type").c_str(), tiny.rope_scaling.c_str());
  }
  if (tiny.sliding_window > 0) number("attention.sliding_window", tiny.sliding_window);
  if (tiny.sliding_pattern > 0) number("attention.sliding_window_pattern", tiny.sliding_pattern);
  if (tiny.n_ctx_orig > 0) number("rope.scaling.original_context_length", tiny.n_ctx_orig);
}

void write_tokenizer(const TinyGguf& tiny, gguf_context* gguf) {
  RKV_CHECK(tiny.n_vocab > kSpecial + kBytes);
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {LLAMA_TOKEN_TYPE_UNKNOWN, LLAMA_TOKEN_TYPE_CONTROL, LLAMA_TOKEN_TYPE_CONTROL};
  for (int byte = 0; byte < kBytes; ++byte) {
    texts.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(LLAMA_TOKEN_TYPE_BYTE);
  }
  texts.emplace_back("\xE2\x96\x81");  // SPM's space
  types.push_back(LLAMA_TOKEN_TYPE_NORMAL);
  for (int i = 0; static_cast<int>(texts.size()) < tiny.n_vocab; ++i) {
    texts.push_back(i < 26 ? std::string(1, static_cast<char>('a' + i)) : fmt::format("word{}", i));
    types.push_back(LLAMA_TOKEN_TYPE_NORMAL);
  }
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  const std::vector<float> scores(texts.size(), -1.0F);
  gguf_set_val_str(gguf, "tokenizer.ggml.model", "llama");
  gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
  gguf_set_arr_data(gguf, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores.data(), scores.size());
  gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
  if (!tiny.chat_template.empty()) gguf_set_val_str(gguf, "tokenizer.chat_template", tiny.chat_template.c_str());
}

// Products with gain / sqrt(inputs) keep the size of what goes in; the gains below give attention scores a deviation of
// about 2 and the layers more weight in the residual stream than the embedding has.
void write_tensors(const TinyGguf& tiny, Writer& writer) {
  const int64_t n_embd = tiny.n_embd;
  const int64_t n_q = int64_t{tiny.head_dim} * tiny.n_head;
  const int64_t n_kv = int64_t{tiny.head_dim} * tiny.n_head_kv;
  const auto gain = [](double g, int64_t n_in) { return g / std::sqrt(static_cast<double>(n_in)); };

  const bool gemma3 = tiny.architecture == "gemma3";  // its embeddings are scaled up on their way in
  writer.tensor("token_embd.weight", {n_embd, tiny.n_vocab}, gain(gemma3 ? 1.2 : 2.5, n_embd));
  writer.tensor("output_norm.weight", {n_embd}, 0.1, 1.0);
  if (!tiny.tied) writer.tensor("output.weight", {n_embd, tiny.n_vocab}, gain(2.5, n_embd));
  // Divisors of the rotation frequencies, positive.
  if (tiny.rope_factors) writer.tensor("rope_freqs.weight", {n_rot(tiny) / 2}, 0.3, 3.0);
  if (tiny.long_rope) {
    writer.tensor("rope_factors_short.weight", {n_rot(tiny) / 2}, 0.1, 1.2);
    writer.tensor("rope_factors_long.weight", {n_rot(tiny) / 2}, 0.5, 5.0);
  }
  const bool phi3 = tiny.architecture == "phi3";
  for (int il = 0; il < tiny.n_layer; ++il) {
    const auto name = [il](const char* suffix) { return fmt::format("blk.{}.{}", il, suffix); };
    writer.tensor(name("attn_norm.weight"), {n_embd}, 0.1, 1.0);
    if (phi3 || tiny.fused_qkv) {
      writer.tensor(name("attn_qkv.weight"), {n_embd, n_q + 2 * n_kv}, gain(1.4, n_embd));
      if (tiny.biases) writer.tensor(name("attn_qkv.bias"), {n_q + 2 * n_kv}, 0.3);
    } else {
      writer.tensor(name("attn_q.weight"), {n_embd, n_q}, gain(1.4, n_embd));
      writer.tensor(name("attn_k.weight"), {n_embd, n_kv}, gain(1.4, n_embd));
      writer.tensor(name("attn_v.weight"), {n_embd, n_kv}, gain(1.0, n_embd));
      if (tiny.biases) {
        writer.tensor(name("attn_q.bias"), {n_q}, 0.3);
        writer.tensor(name("attn_k.bias"), {n_kv}, 0.3);
        writer.tensor(name("attn_v.bias"), {n_kv}, 0.3);
      }
    }
    if (tiny.architecture == "qwen3" || gemma3) {  // around what gives scores a deviation of 2 in normed heads
      writer.tensor(name("attn_q_norm.weight"), {tiny.head_dim}, 0.3, 1.4);
      writer.tensor(name("attn_k_norm.weight"), {tiny.head_dim}, 0.3, 1.4);
    }
    writer.tensor(name("attn_output.weight"), {n_q, n_embd}, gain(2.0, n_q));
    if (tiny.biases && tiny.architecture == "llama") writer.tensor(name("attn_output.bias"), {n_embd}, 0.3);
    if (gemma3) {
      writer.tensor(name("post_attention_norm.weight"), {n_embd}, 0.3, 2.0);
      writer.tensor(name("post_ffw_norm.weight"), {n_embd}, 0.3, 2.0);
    }
    writer.tensor(name("ffn_norm.weight"), {n_embd}, 0.1, 1.0);
    if (!phi3) writer.tensor(name("ffn_gate.weight"), {n_embd, tiny.n_ff}, gain(1.4, n_embd));
    writer.tensor(name("ffn_up.weight"), {n_embd, tiny.n_ff * (phi3 ? 2 : 1)}, gain(1.4, n_embd));
    writer.tensor(name("ffn_down.weight"), {tiny.n_ff, n_embd}, gain(1.4, tiny.n_ff));
  }
  writer.strangers();
}

void log_nothing(ggml_log_level /*level*/, const char* /*text*/, void* /*user_data*/) {}

}  // namespace

TinyGguf tiny_chat_model() {
  TinyGguf tiny;
  tiny.n_layer = 3;
  tiny.head_dim = 32;
  tiny.n_embd = 128;
  tiny.chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]";
  return tiny;
}

void write_tiny_gguf(const TinyGguf& tiny, const std::string& path) {
  gguf_context* gguf = gguf_init_empty();
  write_keys(tiny, gguf);
  if (tiny.tokenizer) write_tokenizer(tiny, gguf);
  Writer writer(tiny, gguf);
  write_tensors(tiny, writer);
  if (tiny.edit) tiny.edit(gguf);
  RKV_CHECK(gguf_write_to_file(gguf, path.c_str(), /*only_meta=*/false));
  gguf_free(gguf);
}

std::string tiny_gguf(const TinyGguf& tiny) {
  static const std::string folder = temp_dir();
  static int n_written = 0;
  const std::string path = fmt::format("{}/tiny{}.gguf", folder, n_written++);
  write_tiny_gguf(tiny, path);
  return path;
}

std::vector<int> weight_types() {
  std::vector<int> types;
  for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
    const auto ggml = static_cast<ggml_type>(type);
    const ggml_type_traits* traits = ggml_get_type_traits(ggml);
    if (traits->blck_size == 0) continue;
    if (type != GGML_TYPE_F32 && traits->to_float == nullptr) continue;
    if (ggml_get_type_traits_cpu(ggml)->vec_dot == nullptr) continue;
    types.push_back(type);
  }
  return types;
}

std::vector<int32_t> random_tokens(int64_t n, int n_vocab, uint64_t seed) {
  RKV_CHECK(n_vocab > kSpecial);
  Random random(seed_from(seed, 17));
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i) {
    tokens.push_back(kSpecial + static_cast<int32_t>(random.below(static_cast<uint64_t>(n_vocab - kSpecial))));
  }
  return tokens;
}

QuietLog::QuietLog() { llama_log_set(log_nothing, nullptr); }
QuietLog::~QuietLog() { llama_log_set(nullptr, nullptr); }

}  // namespace ripplekv::test
