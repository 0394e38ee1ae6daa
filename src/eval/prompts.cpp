// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/prompts.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "engine/prompt.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

// The tokens left of a text; halves of characters that a cut left become U+FFFD, as the published program's decoding
// makes them.
std::string text_of(const Vocab& vocab, std::span<const int32_t> cut) {
  std::string text;
  append_utf8(vocab.text(cut, false), text);
  return text;
}

std::string_view without_end_space(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

struct Parts {
  std::vector<int32_t> document;
  std::vector<int32_t> question;
};

Result<Parts> split(const Model& model, const ChatTemplate* chat, const EvalSample& sample, const std::string& document,
                    const std::string& question) {
  const Vocab& vocab = model.vocab();
  Parts parts;
  if (!sample.chat || chat == nullptr) {
    parts.document = vocab.tokenize(document, /*add_special=*/true, /*parse_special=*/false);
    parts.question = vocab.tokenize(question, /*add_special=*/false, /*parse_special=*/false);
    return parts;
  }
  const ChatMessage message{"user", document + question};
  RKV_ASSIGN_OR_RETURN(const std::string text, chat->render({&message, 1}, /*add_generation_prompt=*/true));
  // Templates trim what they paste.
  const size_t at = text.rfind(without_end_space(question));
  if (at == std::string::npos) {
    return invalid_argument(
        fmt::format("sample '{}': the chat template changes its question, expected it word for word", sample.id));
  }
  parts.document = rendered_tokens(model, std::string_view(text).substr(0, at));
  parts.question = vocab.tokenize(std::string_view(text).substr(at), /*add_special=*/false, /*parse_special=*/true);
  return parts;
}

}  // namespace

Result<EvalPrompt> tokenize_prompt(const Model& model, const ChatTemplate* chat, const EvalSample& sample,
                                   int64_t max_tokens) {
  const Vocab& vocab = model.vocab();
  const bool wrapped = sample.chat && chat != nullptr;
  const std::vector<int32_t> plain = vocab.tokenize(sample.prompt(), /*add_special=*/false, /*parse_special=*/false);
  const auto n_plain = static_cast<int64_t>(plain.size());
  for (int64_t n_max = std::min(n_plain, max_tokens); n_max >= 2;) {
    const std::vector<int32_t> cut = truncate_middle(plain, n_max);
    EvalPrompt prompt;
    prompt.n_cut = n_plain - static_cast<int64_t>(cut.size());
    const std::string text = prompt.n_cut == 0 ? sample.prompt() : text_of(vocab, cut);
    if (wrapped) {
      const ChatMessage message{"user", text};
      RKV_ASSIGN_OR_RETURN(prompt.ids, chat_tokens(model, *chat, {&message, 1}));
    } else {
      prompt.ids = vocab.tokenize(text, /*add_special=*/true, /*parse_special=*/false);
    }
    const int64_t over = static_cast<int64_t>(prompt.ids.size()) - max_tokens;
    if (over <= 0) return prompt;
    n_max -= over;
  }
  return invalid_argument(
      fmt::format("sample '{}': a prompt of {} tokens leaves no room for its chat template", sample.id, max_tokens));
}

Result<SplitPrompt> tokenize_apart(const Model& model, const ChatTemplate* chat, std::span<const EvalSample> samples,
                                   int64_t max_tokens) {
  const Vocab& vocab = model.vocab();
  const std::vector<int32_t> plain =
      vocab.tokenize(samples[0].document, /*add_special=*/false, /*parse_special=*/false);
  const auto n_plain = static_cast<int64_t>(plain.size());
  for (const EvalSample& sample : samples) {
    if (!plain.empty() && !without_end_space(sample.question).empty()) continue;
    return invalid_argument(fmt::format("sample '{}': got no {}, expected a document and a question apart", sample.id,
                                        plain.empty() ? "document" : "question"));
  }
  size_t n_beside = 0;  // a question has the same tokens behind any document
  for (const std::string& question : samples[0].questions_beside) {
    RKV_ASSIGN_OR_RETURN(const Parts parts, split(model, chat, samples[0], /*document=*/".", question));
    n_beside = std::max(n_beside, parts.question.size());
  }
  for (int64_t n_max = std::min(n_plain, max_tokens); n_max >= 2;) {
    const std::vector<int32_t> cut = truncate_middle(plain, n_max);
    SplitPrompt prompt;
    prompt.n_cut = n_plain - static_cast<int64_t>(cut.size());
    const std::string document = prompt.n_cut == 0 ? samples[0].document : text_of(vocab, cut);
    size_t n_question = n_beside;
    for (const EvalSample& sample : samples) {
      RKV_ASSIGN_OR_RETURN(Parts parts, split(model, chat, sample, document, sample.question));
      prompt.document = std::move(parts.document);
      n_question = std::max(n_question, parts.question.size());
      prompt.questions.push_back(std::move(parts.question));
    }
    const int64_t over = static_cast<int64_t>(prompt.document.size() + n_question) - max_tokens;
    if (over <= 0) return prompt;
    n_max -= over;
  }
  return invalid_argument(
      fmt::format("sample '{}': a prompt of {} tokens leaves no room for its question", samples[0].id, max_tokens));
}

}  // namespace ripplekv
