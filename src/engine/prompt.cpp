// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/prompt.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

// Without the bytes of characters cut at either end.
std::string whole_characters(std::string text) {
  size_t begin = 0;
  while (begin < text.size() && begin < 3 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  text.erase(0, begin);
  for (int i = 0; i < 3 && !text.empty() && !valid_utf8(text); ++i) text.pop_back();
  return text;
}

}  // namespace

Result<ChatTemplate> model_chat_template(const Model& model) {
  const Vocab& vocab = model.vocab();
  const std::string source = vocab.chat_template();
  if (source.empty()) return not_found(fmt::format("model '{}' has no chat template; use --raw", model.id().name));
  auto chat = ChatTemplate::parse(source, vocab.special_text(vocab.bos()), vocab.special_text(vocab.eos()));
  if (!chat.ok()) return chat.status().with_context("chat template of the model (--raw does without)");
  return chat;
}

std::vector<int32_t> rendered_tokens(const Model& model, std::string_view rendering) {
  std::vector<int32_t> tokens = model.vocab().tokenize(rendering, /*add_special=*/true, /*parse_special=*/true);
  const int32_t bos = model.vocab().bos();
  if (tokens.size() >= 2 && bos >= 0 && tokens[0] == bos && tokens[1] == bos) tokens.erase(tokens.begin());
  return tokens;
}

Result<std::vector<int32_t>> chat_tokens(const Model& model, const ChatTemplate& chat,
                                         std::span<const ChatMessage> messages) {
  RKV_ASSIGN_OR_RETURN(const std::string text, chat.render(messages, /*add_generation_prompt=*/true));
  return rendered_tokens(model, text);
}

Result<ProfilerSample> tokenize_sample(const Model& model, const ChatTemplate* chat, const CalibrationSample& sample,
                                       int64_t max_tokens) {
  ProfilerSample result;
  result.id = sample.id;
  const Vocab& vocab = model.vocab();
  if (sample.is_ids()) {
    result.ids = sample.ids;
    result.answer = sample.answer_ids;
    if (static_cast<int64_t>(result.ids.size()) > max_tokens) {
      const auto half = static_cast<std::ptrdiff_t>(max_tokens / 2);
      result.ids.erase(result.ids.begin() + half, result.ids.end() - (static_cast<std::ptrdiff_t>(max_tokens) - half));
    }
    return result;
  }
  const std::vector<int32_t> document = vocab.tokenize(sample.document, false, false);
  int64_t n_keep = std::min<int64_t>(static_cast<int64_t>(document.size()), max_tokens);
  while (true) {
    CalibrationSample cut = sample;
    if (n_keep < static_cast<int64_t>(document.size())) {
      const auto head = static_cast<size_t>((n_keep + 1) / 2);
      const auto tail = static_cast<size_t>(n_keep) - head;
      const std::span all(document);
      cut.document =
          whole_characters(vocab.text(all.first(head), true)) + whole_characters(vocab.text(all.last(tail), true));
    }
    if (sample.question.empty() || chat == nullptr) {
      result.ids = vocab.tokenize(cut.text(), true, false);
    } else {
      const ChatMessage message{"user", cut.text()};
      RKV_ASSIGN_OR_RETURN(result.ids, chat_tokens(model, *chat, {&message, 1}));
    }
    const int64_t over = static_cast<int64_t>(result.ids.size()) - max_tokens;
    if (over <= 0) break;
    n_keep -= over;
    if (n_keep < 1) {
      return invalid_argument(
          fmt::format("sample '{}': its question alone is longer than {} tokens", sample.id, max_tokens));
    }
  }
  if (result.ids.empty()) return invalid_argument(fmt::format("sample '{}': 0 tokens", sample.id));
  return result;
}

}  // namespace ripplekv
