// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Drives llama.cpp's Jinja interpreter inside a confined worker and turns whatever comes out of it into one sentence.
// The only file that includes jinja headers.
#include "engine/chat_template.h"

#include <fmt/format.h>
#include <jinja/lexer.h>
#include <jinja/parser.h>
#include <jinja/runtime.h>
#include <jinja/value.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "engine/confined_worker.h"

namespace ripplekv {
namespace {

constexpr size_t kQuotedBytes = 200;  // of a stranger's text in a message

// The first byte of a child's reply; the rest is the text, or the template's or the interpreter's words.
enum class Verdict : char { kText = 'T', kRefused = 'R', kFailed = 'F' };

// What the worker is started with; the conversation comes as its request.
struct Template {
  std::string source;
  std::string bos_token;
  std::string eos_token;
};

// One byte for add_generation_prompt, then role and content of each message, each after its length.
std::string request_of(std::span<const ChatMessage> messages, bool add_generation_prompt) {
  std::string request(1, add_generation_prompt ? '1' : '0');
  for (const ChatMessage& message : messages) {
    for (const std::string* text : {&message.role, &message.content}) {
      const uint64_t n_bytes = text->size();
      request.append(reinterpret_cast<const char*>(&n_bytes), sizeof(n_bytes)).append(*text);
    }
  }
  return request;
}

// The next text of a request_of(), taken off its front.
std::string take_text(std::string_view& request) {
  uint64_t n_bytes = 0;
  std::memcpy(&n_bytes, request.data(), sizeof(n_bytes));
  std::string text(request.substr(sizeof(n_bytes), n_bytes));
  request.remove_prefix(sizeof(n_bytes) + n_bytes);
  return text;
}

// The interpreter words its errors over several lines, with a picture of the source:
// "While executing X at line L, column C in source:\n...\nError: what", or "parser: what\n<picture>".
std::string reason_of(std::string_view what) {
  constexpr std::string_view kError = "\nError: ";
  constexpr std::string_view kAt = " at line ";
  constexpr std::string_view kInSource = " in source:\n";
  const size_t error = what.find(kError);
  if (error == what.npos) return std::string(what.substr(0, what.find('\n')));
  std::string reason(what.substr(error + kError.size()));
  const size_t in_source = what.find(kInSource);
  const size_t at = what.find(kAt);
  if (at < in_source && in_source < error) reason += what.substr(at, in_source - at);
  return reason;
}

// Runs in a confined child.
std::string interpret(const Template& chat_template, std::string_view request) {
  const auto reply = [](Verdict verdict, std::string_view text) {
    return std::string(1, static_cast<char>(verdict)).append(text);
  };
  std::optional<std::string> refusal;
  try {
    jinja::context context(chat_template.source);
    const bool add_generation_prompt = request[0] == '1';
    request.remove_prefix(1);
    auto messages = jinja::mk_val<jinja::value_array>();
    while (!request.empty()) {
      auto message = jinja::mk_val<jinja::value_object>();
      message->insert("role", jinja::mk_val<jinja::value_string>(take_text(request)));
      message->insert("content", jinja::mk_val<jinja::value_string>(take_text(request)));
      messages->push_back(message);
    }
    context.set_val("messages", messages);
    context.set_val("bos_token", jinja::mk_val<jinja::value_string>(chat_template.bos_token));
    context.set_val("eos_token", jinja::mk_val<jinja::value_string>(chat_template.eos_token));
    context.set_val("add_generation_prompt", jinja::mk_val<jinja::value_bool>(add_generation_prompt));
    // As transformers does: many templates ask `tools is not none` without asking whether it is defined.
    context.set_val("tools", jinja::mk_val<jinja::value_none>());
    // The built-in of this name ends in the same error as a bug of the template; this one tells a refusal apart.
    const auto raise_exception = [&refusal](const jinja::func_args& args) -> jinja::value {
      refusal = args.get_pos(0)->as_string().str();
      throw jinja::raised_exception(*refusal);
    };
    context.set_val("raise_exception", jinja::mk_val<jinja::value_func>("raise_exception", raise_exception));
    const jinja::program program = jinja::parse_from_tokens(jinja::lexer().tokenize(chat_template.source));
    const jinja::value results = jinja::runtime(context).execute(program);
    return reply(Verdict::kText, jinja::runtime::gather_string_parts(results)->as_string().str());
  } catch (const std::exception& error) {
    if (refusal) return reply(Verdict::kRefused, one_line(*refusal, kQuotedBytes));
    return reply(Verdict::kFailed, one_line(reason_of(error.what()), kQuotedBytes));
  }
}

std::string roles_of(std::span<const ChatMessage> messages) {
  constexpr size_t kRolesShown = 8;
  std::string roles;
  for (size_t i = 0; i < std::min(messages.size(), kRolesShown); ++i) {
    roles += (i == 0 ? "" : ", ") + one_line(messages[i].role, 20);
  }
  if (messages.size() > kRolesShown) roles += fmt::format(", ... ({} messages)", messages.size());
  return roles.empty() ? "none" : roles;
}

Status over_limit(const ConfinedOutcome& outcome, const ChatLimits& limits) {
  const auto at_most = [](std::string_view what, std::string bound) {
    return resource_exhausted(fmt::format("chat template: got a rendering that {}, expected at most {}", what, bound));
  };
  switch (outcome.end) {
    case ConfinedEnd::kMemory:
      return at_most("ran out of memory", fmt::format("{} bytes", limits.memory_bytes));
    case ConfinedEnd::kReplySize:
      return at_most("writes too much", fmt::format("{} bytes", limits.output_bytes));
    case ConfinedEnd::kCpuTime:
      return at_most("does not finish", fmt::format("{} ms of CPU time", limits.cpu_time.count()));
    case ConfinedEnd::kWallTime:
      return at_most("does not answer", fmt::format("{} ms", limits.wall_time.count()));
    case ConfinedEnd::kReplied:
    case ConfinedEnd::kDied:
      break;
  }
  return resource_exhausted(
      fmt::format("chat template: got a rendering that died of signal {}, expected recursion that fits the stack and "
                  "operations that the interpreter survives",
                  outcome.signal));
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<ConfinedWorker> worker, const ChatLimits& limits)
    : worker_(std::move(worker)), limits_(limits) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(std::string source, std::string bos_token, std::string eos_token,
                                         const ChatLimits& limits) {
  if (source.empty() || source.size() > limits.source_bytes) {
    return unsupported(
        fmt::format("chat template: got a source of {} bytes, expected 1 to {}", source.size(), limits.source_bytes));
  }
  const ConfinedLimits confined{.memory_bytes = limits.memory_bytes,
                                .reply_bytes = limits.output_bytes + 1,  // the verdict
                                .cpu_time = limits.cpu_time,
                                .wall_time = limits.wall_time};
  const auto work = [chat_template = Template{std::move(source), std::move(bos_token), std::move(eos_token)}](
                        std::string_view request) { return interpret(chat_template, request); };
  RKV_ASSIGN_OR_RETURN(auto worker, ConfinedWorker::start(confined, work));
  ChatTemplate parsed(std::move(worker), limits);
  const ChatMessage trial{.role = "user", .content = "Hello"};
  const Result<std::string> text = parsed.render({&trial, 1}, true);
  if (!text.ok()) {
    // A refusal of so plain a conversation is no fault of any user's.
    const bool is_refusal = text.status().code() == StatusCode::kInvalidArgument;
    return Status(is_refusal ? StatusCode::kUnsupported : text.status().code(), text.status().message());
  }
  if (text.value().empty()) {
    return unsupported("chat template: got no text for a conversation of one user message, expected at least one byte");
  }
  return parsed;
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages, bool add_generation_prompt) const {
  RKV_ASSIGN_OR_RETURN(const ConfinedOutcome outcome, worker_->run(request_of(messages, add_generation_prompt)));
  if (outcome.end != ConfinedEnd::kReplied) return over_limit(outcome, limits_);
  if (outcome.reply.empty()) return over_limit({.end = ConfinedEnd::kDied}, limits_);
  std::string text = outcome.reply.substr(1);
  switch (static_cast<Verdict>(outcome.reply[0])) {
    case Verdict::kText:
      return text;
    case Verdict::kRefused:
      return invalid_argument(
          fmt::format("chat template: got a conversation with the roles {}, expected one that the "
                      "template accepts; it says: {}",
                      roles_of(messages), text));
    case Verdict::kFailed:
      break;
  }
  return unsupported(fmt::format(
      "chat template: got an error from the interpreter, expected a template it can run; it says: {}", text));
}

}  // namespace ripplekv
