// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Conversation: messages in turns over one compressed cache. Each turn is rendered whole, but only what lies beyond the
// text already in the cache is put through the model (Engine::extend). Knows no terminal; the budget counts for the
// whole conversation so far. One thread. A turn that fails, or is cancelled before its answer began, leaves messages as
// they were. Costs beside the cache: the logits, and where answers drop rows a second cache, to answer anew.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat_template.h"
#include "engine/generate.h"
#include "engine/session.h"
#include "ripplekv/budgets.h"
#include "ripplekv/engine.h"

namespace ripplekv {

struct ConversationOptions {
  GenerateOptions generate;  // of every answer; each draws with the next seed
  KvFormat format;           // of a cache without budgets
  std::optional<Budgets> budgets;
  int64_t decode_slack = 0;
  std::string system_prompt;  // none if empty
};

// One answer, and what it took.
struct Reply {
  Generated generated;
  int64_t n_prefilled = 0;  // tokens put through the model before the answer
  double prefill_seconds = 0;
  std::string note;  // a sentence the user should see, or ""
};

class Conversation {
 public:
  using OnText = std::function<void(std::string_view)>;
  using OnProgress = std::function<void(int64_t done, int64_t total)>;

  // The engine must outlive it. Errors: those of set_budgets.
  static Result<Conversation> begin(Engine& engine, ChatTemplate chat, ConversationOptions options);

  // One turn. Errors: the template's, a conversation longer than the context, memory, cancelled while the turn was read
  // (a cancelled answer is an answer as far as it came).
  Result<Reply> say(const std::string& text, const OnText& on_text, const OnProgress& on_progress = nullptr);
  // The last answer again, with the next seed. Errors: there is none, or it came from a session and had dropped rows.
  Result<Reply> regenerate(const OnText& on_text);

  // From the next turn on; rows that were dropped do not come back. A fraction of a short conversation is never less
  // than the rows no layer may fall under. Errors: too few rows for a conversation as long as the context.
  Status set_budgets(std::optional<Budgets> budgets);
  const std::optional<Budgets>& budgets() const { return options_.budgets; }

  // Errors: nothing was said yet; those of session.h. What cannot be loaded changes nothing.
  Status save(const std::string& path) const;
  Status load(const std::string& path);

  const std::vector<ChatMessage>& messages() const { return messages_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }                  // in the cache, dropped rows included
  const Sequence* sequence() const { return sequence_ ? &*sequence_ : nullptr; }  // null before the first turn

 private:
  // The moment before the last answer.
  struct Before {
    KvSnapshot rows;
    std::vector<float> logits;     // empty: unknown, and the answer cannot be drawn anew
    std::optional<Sequence> copy;  // where answers drop rows: decode_slack, sliding windows
  };

  Conversation(Engine& engine, ChatTemplate chat, ConversationOptions options)
      : engine_(&engine), chat_(std::move(chat)), options_(std::move(options)) {}
  Result<CachePlan> plan_for(int64_t n_pos) const;
  Status check_context(int64_t n_pos) const;
  PrefillOptions prefill_options(const OnProgress& on_progress) const;
  // Puts a rendering into the cache; returns the number of tokens that took.
  Result<int64_t> take_in(const std::string& rendering, const OnProgress& on_progress, std::string& note);
  Status remember();  // sets before_
  // What a session keeps of before_: its logits, unless rows of that moment are gone.
  std::vector<float> logits_before_answer() const;
  // before_ of a session just read: the last rows are the answer's, unless the answer dropped rows.
  std::optional<Before> before_answer(std::vector<float> logits) const;
  bool answers_drop_rows() const;
  Status go_back();   // to before_; an error leaves all as it was
  void drop_cache();  // messages stay
  Result<Generated> answer(const OnText& on_text);

  Engine* engine_;
  ChatTemplate chat_;
  ConversationOptions options_;
  std::vector<ChatMessage> messages_;
  std::string prompt_text_;  // the rendering in the cache; the last answer's tokens follow it
  int64_t n_prompt_ = 0;     // tokens of it
  std::vector<int32_t> tokens_;
  std::optional<Sequence> sequence_;
  std::optional<Before> before_;
  uint32_t n_answers_ = 0;
};

}  // namespace ripplekv
