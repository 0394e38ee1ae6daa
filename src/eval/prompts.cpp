// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/prompts.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "engine/prompt.h"
#include "model/vocab.h"

namespace ripplekv {

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
    // Halves of characters that the cut left become U+FFFD, as the published program's decoding makes them.
    std::string text;
    if (prompt.n_cut == 0) {
      text = sample.prompt();
    } else {
      append_utf8(vocab.text(cut, false), text);
    }
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

}  // namespace ripplekv
