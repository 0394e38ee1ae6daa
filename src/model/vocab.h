// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Vocab: tokenizer, special tokens and chat template text of a model, through libllama. Immutable and thread-safe.
// Text is UTF-8; token ids are the model's. Rendering the template is chat_template.h's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf_file.h"
#include "ripplekv/status.h"

struct llama_model;
struct llama_vocab;

namespace ripplekv {

class Vocab {
 public:
  // Errors: none in the file, one that libllama does not read, or one that would make it abort later.
  static Result<std::unique_ptr<Vocab>> load(const GgufFile& file);
  ~Vocab();

  int n_tokens() const;
  // add_special: begin-of-sequence etc. as the model wants it; parse_special: "<|im_start|>" in the text is that token.
  std::vector<int32_t> tokenize(std::string_view text, bool add_special, bool parse_special) const;
  // Bytes of one token; may be a part of a UTF-8 character. Special tokens are empty unless `special`.
  std::string piece(int32_t token, bool special) const;
  std::string text(std::span<const int32_t> tokens, bool special) const;
  bool is_end(int32_t token) const;               // end of generation
  int32_t bos() const;                            // -1: none
  std::string special_text(int32_t token) const;  // "" for -1
  int32_t eos() const;
  std::string chat_template() const;  // Jinja source, or "" if the model has none

  const llama_vocab* handle() const { return vocab_; }  // for libllama's samplers

 private:
  Vocab() = default;
  llama_model* model_ = nullptr;  // tokenizer only, no weights
  const llama_vocab* vocab_ = nullptr;
};

}  // namespace ripplekv
