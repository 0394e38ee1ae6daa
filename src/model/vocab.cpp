// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The tokenizer is libllama's, loaded without weights.
#include "model/vocab.h"

#include <fmt/format.h>
#include <llama.h>

namespace ripplekv {

Result<std::unique_ptr<Vocab>> Vocab::load(const std::string& path) {
  std::unique_ptr<Vocab> vocab(new Vocab());
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  vocab->model_ = llama_model_load_from_file(path.c_str(), params);
  if (vocab->model_ == nullptr) {
    return unsupported(fmt::format("model '{}': libllama cannot read its tokenizer (-v shows why)", path));
  }
  vocab->vocab_ = llama_model_get_vocab(vocab->model_);
  return vocab;
}

Vocab::~Vocab() {
  if (model_ != nullptr) llama_model_free(model_);
}

int Vocab::n_tokens() const { return llama_vocab_n_tokens(vocab_); }

std::vector<int32_t> Vocab::tokenize(std::string_view text, bool add_special, bool parse_special) const {
  std::vector<int32_t> tokens(text.size() + 8);
  const auto run = [&] {
    return llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                          static_cast<int32_t>(tokens.size()), add_special, parse_special);
  };
  int32_t n = run();
  if (n < 0) {
    tokens.resize(static_cast<size_t>(-n));
    n = run();
  }
  RKV_CHECK(n >= 0);
  tokens.resize(static_cast<size_t>(n));
  return tokens;
}

std::string Vocab::piece(int32_t token, bool special) const {
  std::string text(64, '\0');
  const auto run = [&] {
    return llama_token_to_piece(vocab_, token, text.data(), static_cast<int32_t>(text.size()), 0, special);
  };
  int32_t n = run();
  if (n < 0) {
    text.resize(static_cast<size_t>(-n));
    n = run();
  }
  RKV_CHECK(n >= 0);
  text.resize(static_cast<size_t>(n));
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
