// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The tokenizer is libllama's, loaded without weights.
#include "model/vocab.h"

#include <fmt/format.h>
#include <llama.h>

#include <unordered_set>

#include "base/text.h"

namespace ripplekv {
namespace {

// What libllama asserts instead of reporting.
Status check_tokenizer(const GgufFile& file) {
  RKV_ASSIGN_OR_RETURN(const std::string kind, file.text("tokenizer.ggml.model"));
  if (kind != "llama" && kind != "gpt2") {
    return unsupported(fmt::format("model '{}': tokenizer {} is not supported; supported: gpt2, llama", file.path(),
                                   quoted(std::string_view(kind))));
  }
  RKV_ASSIGN_OR_RETURN(const std::vector<std::string> tokens, file.texts("tokenizer.ggml.tokens"));
  std::unordered_set<std::string_view> seen;
  for (size_t id = 0; id < tokens.size(); ++id) {
    // libllama gives empty tokens names of their own.
    if (tokens[id].empty() || seen.insert(tokens[id]).second) continue;
    return data_loss(fmt::format("model '{}': token {} is {}, which another token is already", file.path(), id,
                                 quoted(std::string_view(tokens[id]))));
  }
  return ok_status();
}

// libllama throws in the middle of tokenizing where a byte has no token.
bool tokenizes_every_byte(const llama_vocab* vocab) {
  try {
    for (int byte = 0; byte < 256; ++byte) {
      const char text = static_cast<char>(byte);
      llama_token tokens[16];
      if (llama_tokenize(vocab, &text, 1, tokens, 16, /*add_special=*/false, /*parse_special=*/false) < 0) return false;
    }
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

// `write` fills `buffer` as libllama does: it returns how much it wrote, or less the size that it would have needed.
template <class Buffer, class Write>
void fill_as_needed(Buffer& buffer, Write write) {
  int32_t n = write();
  if (n < 0) {
    buffer.resize(static_cast<size_t>(-n));
    n = write();
  }
  RKV_CHECK(n >= 0);
  buffer.resize(static_cast<size_t>(n));
}

}  // namespace

Result<std::unique_ptr<Vocab>> Vocab::load(const GgufFile& file) {
  RKV_RETURN_IF_ERROR(check_tokenizer(file));
  const std::string& path = file.path();
  std::unique_ptr<Vocab> vocab(new Vocab());
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  vocab->model_ = llama_model_load_from_file(path.c_str(), params);
  if (vocab->model_ == nullptr) {
    return unsupported(fmt::format("model '{}': libllama cannot read its tokenizer (-v shows why)", path));
  }
  vocab->vocab_ = llama_model_get_vocab(vocab->model_);
  if (!tokenizes_every_byte(vocab->vocab_)) {
    return data_loss(fmt::format("model '{}': its tokenizer has no token for some byte, expected all 256", path));
  }
  if ((llama_vocab_get_add_bos(vocab->vocab_) && vocab->bos() < 0) ||
      (llama_vocab_get_add_eos(vocab->vocab_) && vocab->eos() < 0)) {
    return data_loss(fmt::format("model '{}': its tokenizer adds a token at the beginning or end that it lacks", path));
  }
  return vocab;
}

Vocab::~Vocab() {
  if (model_ != nullptr) llama_model_free(model_);
}

int Vocab::n_tokens() const { return llama_vocab_n_tokens(vocab_); }

std::vector<int32_t> Vocab::tokenize(std::string_view text, bool add_special, bool parse_special) const {
  std::vector<int32_t> tokens(text.size() + 8);
  fill_as_needed(tokens, [&] {
    return llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                          static_cast<int32_t>(tokens.size()), add_special, parse_special);
  });
  return tokens;
}

std::string Vocab::piece(int32_t token, bool special) const {
  std::string text(64, '\0');
  fill_as_needed(text, [&] {
    return llama_token_to_piece(vocab_, token, text.data(), static_cast<int32_t>(text.size()), 0, special);
  });
  return text;
}

std::string Vocab::text(std::span<const int32_t> tokens, bool special) const {
  std::string text;
  for (int32_t token : tokens) text += piece(token, special);
  return text;
}

bool Vocab::is_end(int32_t token) const { return llama_vocab_is_eog(vocab_, token); }
int32_t Vocab::bos() const { return llama_vocab_bos(vocab_); }
int32_t Vocab::eos() const { return llama_vocab_eos(vocab_); }
std::string Vocab::special_text(int32_t token) const { return token < 0 ? "" : piece(token, true); }

std::string Vocab::chat_template() const {
  const char* source = llama_model_chat_template(model_, nullptr);
  return source == nullptr ? "" : source;
}

}  // namespace ripplekv
