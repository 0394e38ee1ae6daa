// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ChatTemplate: the Jinja chat template of a model file, rendered by llama.cpp's interpreter (common/jinja).
// A template is untrusted, and that interpreter bounds nothing: no steps, depth or memory; `1 is divisibleby(0)` and
// deep lists kill it, a tuple that holds itself twice makes `==` exponential. Its tree could be wrapped to count steps,
// its built-ins not. So every rendering, parsing included, runs in a process that the kernel bounds: confined_worker.h.
// Thread-safe, one rendering at a time. Knows no tokens: special tokens are text here.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "ripplekv/status.h"

namespace ripplekv {

class ConfinedWorker;

struct ChatMessage {
  std::string role;  // "system", "user", "assistant": which roles are allowed is the template's choice
  std::string content;
};

// Of one rendering. Real templates take about 2 ms of CPU time and 10 MiB for a short conversation.
struct ChatLimits {
  size_t source_bytes = 256 << 10;
  size_t output_bytes = 16 << 20;
  size_t memory_bytes = 256 << 20;            // depth is bounded by the stack of the thread that called parse()
  std::chrono::milliseconds cpu_time{1'000};  // steps are bounded as time: built-ins do unbounded work in one step
  std::chrono::milliseconds wall_time{10'000};
};

class ChatTemplate {
 public:
  // `bos_token` and `eos_token` are the texts of those tokens, which templates paste. The template is tried once, on a
  // conversation of one user message: kUnsupported if it cannot be interpreted or refuses that, kResourceExhausted if
  // it goes over a limit. Call it before the weights are loaded: a rendering then costs milliseconds, whatever the
  // program holds later (confined_worker.h).
  static Result<ChatTemplate> parse(std::string source, std::string bos_token, std::string eos_token,
                                    const ChatLimits& limits = {});

  // The conversation as the model expects to read it; with `add_generation_prompt` it ends where the answer begins.
  // If the template pastes bos_token, the tokenizer must not add another. The template sees messages, bos_token,
  // eos_token, add_generation_prompt, tools (none), strftime_now and raise_exception. Contents are pasted as they are:
  // text of a special token in a content is not told apart from the template's own.
  // kInvalidArgument: the template refuses the conversation (a role, their order), with its own words.
  Result<std::string> render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

 private:
  ChatTemplate(std::unique_ptr<ConfinedWorker> worker, const ChatLimits& limits);

  std::unique_ptr<ConfinedWorker> worker_;
  ChatLimits limits_;
};

}  // namespace ripplekv
