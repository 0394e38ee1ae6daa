// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The loop and its commands; conversation.h does the work.
#include "cli/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/answering.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/conversation.h"
#include "engine/prompt.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

class Chat {
 public:
  Chat(const RunArgs& args, Engine& engine, Conversation conversation)
      : args_(args),
        engine_(engine),
        conversation_(std::move(conversation)),
        from_flags_(args.kv.budget_file.empty()) {}

  // `first`, which is no command, and then lines, until the end of the input or /exit.
  Status run(const std::string& first);

 private:
  struct Command {
    std::string_view name;
    std::string_view argument;  // its placeholder, in brackets if it may be left out
    std::string_view help;
    Status (Chat::*run)(const std::string& argument);
  };
  static const std::array<Command, 7> kCommands;

  Status take(const std::string& line, bool may_be_command);
  Status say(const std::string& text);
  Status command(const std::string& line);
  Status budget(const std::string& value);
  Status receipt(const std::string&);
  Status save(const std::string& file);
  Status load(const std::string& file);
  Status regenerate(const std::string&);
  Status help(const std::string&);
  Status exit(const std::string&);
  // The budgets that a new budget makes of those there are.
  Result<Budgets> budgets_for(const KvBudget& wanted);
  // Runs one turn with its output; the report follows if it went well.
  template <class Turn>
  Status turn(Turn run_turn);

  const RunArgs& args_;
  Engine& engine_;
  Conversation conversation_;
  bool from_flags_;  // the budgets; else a file's or a session's
  bool output_failed_ = false;
  bool ended_ = false;
};

constexpr std::array<Chat::Command, 7> Chat::kCommands = {{
    {"/budget", "[BUDGET]", "Show the budget, or set it for the turns to come: 10%, 512 or 256MiB", &Chat::budget},
    {"/receipt", "", "Planned and held rows and bytes of every layer after the last turn", &Chat::receipt},
    {"/regen", "", "Answer the last message again, with a new seed", &Chat::regenerate},
    {"/save", "FILE", "Write the conversation and its cache to a file", &Chat::save},
    {"/load", "FILE", "Go on with a conversation that was saved with this model", &Chat::load},
    {"/help", "", "These commands", &Chat::help},
    {"/exit", "", "End; so does Ctrl-D. Ctrl-C ends an answer, and at the prompt the program", &Chat::exit},
}};

template <class Turn>
Status Chat::turn(Turn run_turn) {
  take_interrupts();
  engine_.set_cancel(interrupt_flag());
  AnswerOutput output(engine_);
  bool answers = false;
  const auto on_text = [&](std::string_view text) {
    answers = true;
    output.write(text);
  };
  const Result<Reply> reply = run_turn(on_text);
  if (answers || reply.ok()) output.end();
  output_failed_ = output.failed();
  ended_ = termination_asked();
  engine_.set_cancel(interrupt_flag());
  if (!reply.ok()) return reply.status();
  if (!reply->note.empty()) print_to_stderr("note: " + reply->note);
  if (args_.output.receipt) print_receipt(conversation_.sequence()->receipt);
  print_to_stderr(closing_line(reply->n_prefilled, reply->prefill_seconds, reply->generated,
                               kv_figures(*conversation_.sequence(), conversation_.budgets())));
  return ok_status();
}

Status Chat::say(const std::string& text) {
  return turn([&](const Conversation::OnText& on_text) {
    std::optional<Progress> progress;
    bool first = true;
    return conversation_.say(
        text,
        [&](std::string_view piece) {
          if (std::exchange(first, false) && progress) progress->finish();
          on_text(piece);
        },
        [&](int64_t done, int64_t total) {
          if (!progress) progress.emplace("prefill", total);
          progress->update(done);
        });
  });
}

Status Chat::regenerate(const std::string&) {
  return turn([&](const Conversation::OnText& on_text) { return conversation_.regenerate(on_text); });
}

// An allocator's shares may hold for one budget only, so flags are worked out anew; of a file or a session there are
// only the shares.
Result<Budgets> Chat::budgets_for(const KvBudget& wanted) {
  const std::optional<Budgets>& held = conversation_.budgets();
  if (held && !from_flags_) {
    Budgets budgets = *held;
    budgets.budget = wanted;
    if (goes_by_damage(budgets.allocator) && wanted.to_string() != held->budget.to_string()) {
      print_to_stderr(fmt::format(
          "note: the layers keep their shares, which {} made for the budget that the file or session came with; "
          "'ripplekv allocate' makes others",
          budgets.allocator));
    }
    return budgets;
  }
  KvArgs kv = args_.kv;
  kv.budget = wanted;
  if (!kv.budget_file.empty()) {  // a session without budgets came in its place
    kv.budget_file.clear();
    kv.allocator = AllocatorArgs();
  }
  std::string note;
  RKV_ASSIGN_OR_RETURN(std::optional<Budgets> budgets, resolve_budgets(kv, engine_.model(), note));
  if (!held && !note.empty()) print_to_stderr("note: " + note);  // else it was said at the start
  return *std::move(budgets);
}

Status Chat::budget(const std::string& value) {
  if (!value.empty()) {
    RKV_ASSIGN_OR_RETURN(const KvBudget wanted, parse_kv_budget(value));
    RKV_ASSIGN_OR_RETURN(Budgets resolved, budgets_for(wanted));
    const bool from_flags = !conversation_.budgets() || from_flags_;
    RKV_RETURN_IF_ERROR(conversation_.set_budgets(std::move(resolved)));
    from_flags_ = from_flags;
  }
  const std::optional<Budgets>& budgets = conversation_.budgets();
  std::string line = "budget: the full cache";
  if (budgets) {
    line = fmt::format("budget: {} ({}, {})", budget_text(*budgets), budgets->allocator, budgets->selector);
  }
  if (const Sequence* sequence = conversation_.sequence()) {
    const int64_t full = sequence->cache.n_pos() * sequence->cache.n_layer();
    line += fmt::format("; {} of {} rows are held after {}", sequence->cache.n_rows(), full,
                        counted(sequence->cache.n_pos(), "token"));
    bool other_formats = false;  // those of another budget, under --kv-type auto
    for (int il = 0; budgets && il < sequence->cache.n_layer(); ++il) {
      other_formats |= sequence->cache.layer(il).format() != budgets->kv_format[static_cast<size_t>(il)];
    }
    if (other_formats) line += "; these and rows to come keep the K/V formats of their layers";
  }
  print_to_stderr(line);
  return ok_status();
}

Status Chat::receipt(const std::string&) {
  const Sequence* sequence = conversation_.sequence();
  if (sequence == nullptr || sequence->receipt.lines.empty()) {
    return invalid_argument("there is no receipt yet: ask something first");
  }
  print_receipt(sequence->receipt);
  return ok_status();
}

Status Chat::save(const std::string& file) {
  RKV_RETURN_IF_ERROR(prepare_output(file));
  RKV_RETURN_IF_ERROR(check_replaces_session(file));
  RKV_RETURN_IF_ERROR(conversation_.save(file));
  print_to_stderr(fmt::format("saved {} and {} to '{}'", counted(conversation_.messages().size(), "message"),
                              counted(conversation_.tokens().size(), "token"), file));
  return ok_status();
}

// On rows that are stored otherwise than the flags ask; empty if there is nothing to say.
std::string format_note(const KvCache& cache, const KvTypeArgs& asked) {
  const KvFormat first = cache.layer(0).format();
  bool alike = true;
  bool as_asked = true;
  for (int il = 0; il < cache.n_layer(); ++il) {
    const KvFormat format = cache.layer(il).format();
    alike = alike && format == first;
    as_asked = as_asked && asked.k.value_or(format.k) == format.k && asked.v.value_or(format.v) == format.v;
  }
  if (asked.automatic ? !alike : as_asked) return "";
  return fmt::format("{}, also those to come, not as --kv-type says",
                     alike ? fmt::format("its keys are {} and its values {}", to_string(first.k), to_string(first.v))
                           : "its rows have formats of their own, layer by layer");
}

Status Chat::load(const std::string& file) {
  RKV_RETURN_IF_ERROR(conversation_.load(file));
  from_flags_ = false;
  const std::string note = format_note(conversation_.sequence()->cache, args_.kv.type);
  if (!note.empty()) print_to_stderr("note: " + note);
  print_to_stderr(fmt::format("loaded {} and {} from '{}'", counted(conversation_.messages().size(), "message"),
                              counted(conversation_.tokens().size(), "token"), file));
  return budget("");
}

Status Chat::help(const std::string&) {
  for (const Command& c : kCommands) {
    print_to_stderr(fmt::format("  {:<18}{}", fmt::format("{} {}", c.name, c.argument), c.help));
  }
  return ok_status();
}

Status Chat::exit(const std::string&) {
  ended_ = true;
  return ok_status();
}

Status Chat::command(const std::string& line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string name = line.substr(0, space);
  std::string argument = line.substr(std::min(line.find_first_not_of(' ', space), line.size()));
  argument.resize(argument.find_last_not_of(' ') + 1);
  const auto found = std::find_if(kCommands.begin(), kCommands.end(), [&](const Command& c) { return c.name == name; });
  if (found == kCommands.end()) {
    std::vector<std::string_view> names;
    for (const Command& c : kCommands) names.push_back(c.name);
    return invalid_argument(
        fmt::format("unknown command {}, expected {} (a message that begins with / needs a space before it)",
                    quoted(name), fmt::join(names, ", ")));
  }
  if (argument.empty() && !found->argument.empty() && found->argument[0] != '[') {
    return invalid_argument(fmt::format("{}: got nothing, expected {}", name, found->argument));
  }
  if (!argument.empty() && found->argument.empty()) {
    return invalid_argument(fmt::format("{}: got {}, expected nothing after it", name, quoted(argument)));
  }
  return (this->*found->run)(argument).with_context(name);
}

Status Chat::take(const std::string& line, bool may_be_command) {
  if (line.find_first_not_of(" \t\n") == std::string::npos) return ok_status();
  if (const auto byte = first_invalid_utf8(line)) {
    return invalid_argument(fmt::format("not UTF-8 at byte {} of the line", *byte));
  }
  return may_be_command && line.front() == '/' ? command(line) : say(line);
}

Status Chat::run(const std::string& first) {
  LineReader lines;
  std::optional<std::string> line = first;
  for (bool is_typed = false; line; is_typed = true) {
    const Status status = take(*line, is_typed);
    if (output_failed_) return flush_out();
    if (!status.ok()) print_to_stderr(printable(status.message()));
    if (ended_) break;
    line = lines.read("> ");
  }
  return ok_status();
}

}  // namespace

Status chat(const RunArgs& args) {
  RKV_ASSIGN_OR_RETURN(const auto model, load_model(args.model));
  if (model->vocab().chat_template().empty()) {
    return not_found(fmt::format("model '{}' has no chat template, which --interactive needs", model->id().name));
  }
  RKV_ASSIGN_OR_RETURN(ChatTemplate chat_template, model_chat_template(*model));
  std::string first;
  if (!args.prompt.file.empty()) {
    RKV_ASSIGN_OR_RETURN(first, read_text(args.prompt.file));
  }
  if (args.prompt.prompt) first = *args.prompt.prompt;
  const int64_t n_ctx = context_limit(args.model, model->config());
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  RKV_RETURN_IF_ERROR(profile_if_asked(args, *model));
  std::string note;
  ConversationOptions options;
  RKV_ASSIGN_OR_RETURN(options.budgets, resolve_budgets(args.kv, *model, note));
  if (!note.empty()) print_to_stderr("note: " + note);
  options.generate = generate_options(args, model->config(), n_ctx);
  options.format = args.kv.type.format();
  options.decode_slack = args.kv.decode_slack.value_or(0);
  options.system_prompt = args.prompt.system_prompt;
  RKV_ASSIGN_OR_RETURN(Conversation conversation,
                       Conversation::begin(*engine, std::move(chat_template), std::move(options)));
  return Chat(args, *engine, std::move(conversation)).run(first);
}

}  // namespace ripplekv
