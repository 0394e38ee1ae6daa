// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv run: answer one prompt.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/text.h"
#include "cli/answering.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/generate.h"
#include "engine/prompt.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

Result<std::vector<int32_t>> prompt_tokens(const Model& model, const PromptArgs& args) {
  std::string text;
  if (args.prompt) {
    text = *args.prompt;
  } else {
    RKV_ASSIGN_OR_RETURN(text, read_text(args.file.empty() ? "-" : args.file));
  }
  if (args.raw) {
    auto tokens = model.vocab().tokenize(text, /*add_special=*/true, /*parse_special=*/true);
    if (tokens.empty()) return invalid_argument("prompt: 0 tokens, expected at least 1");
    return tokens;
  }
  if (text.empty()) return invalid_argument("prompt: 0 bytes, expected some text");
  RKV_ASSIGN_OR_RETURN(const ChatTemplate chat, model_chat_template(model));
  std::vector<ChatMessage> messages;
  if (!args.system_prompt.empty()) messages.push_back({"system", args.system_prompt});
  messages.push_back({"user", text});
  return chat_tokens(model, chat, messages);
}

Status check_context(int64_t n_prompt, const SamplingArgs& sampling, int64_t n_ctx) {
  const int64_t n_answer = std::max<int64_t>(1, sampling.n_predict);
  if (n_prompt + n_answer > n_ctx) {
    return resource_exhausted(
        fmt::format("prompt: {} tokens and {} for the answer, the context holds {}; --ctx-size raises it", n_prompt,
                    n_answer, n_ctx));
  }
  return ok_status();
}

nlohmann::ordered_json receipt_json(const Receipt& receipt) {
  nlohmann::ordered_json lines = nlohmann::json::array();
  for (const ReceiptLine& line : receipt.lines) {
    lines.push_back({{"rows_planned", line.rows_planned},
                     {"rows_held", line.rows_held},
                     {"bytes_planned", line.bytes_planned},
                     {"bytes_held", line.bytes.allocated()},
                     {"k", to_string(line.format.k)},
                     {"v", to_string(line.format.v)},
                     {"payload", line.bytes.payload},
                     {"scales", line.bytes.scales},
                     {"padding", line.bytes.padding},
                     {"index", line.bytes.index}});
  }
  return lines;
}

}  // namespace

Status cmd_run(const RunArgs& args) {
  if (args.interactive) return chat(args);
  RKV_ASSIGN_OR_RETURN(const auto model, load_model(args.model));
  RKV_ASSIGN_OR_RETURN(const std::vector<int32_t> prompt, prompt_tokens(*model, args.prompt));
  const auto n_prompt = static_cast<int64_t>(prompt.size());
  const int64_t n_ctx = context_limit(args.model, model->config());
  RKV_RETURN_IF_ERROR(check_context(n_prompt, args.sampling, n_ctx));
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  engine->set_cancel(interrupt_flag());

  RKV_RETURN_IF_ERROR(profile_if_asked(args, *model));
  std::string note;
  RKV_ASSIGN_OR_RETURN(const auto budgets, resolve_budgets(args.kv, *model, note));
  if (!note.empty()) print_to_stderr("note: " + note);
  CachePlan plan = plan_full(model->config(), n_prompt, args.kv.type.format());
  if (budgets) {
    RKV_ASSIGN_OR_RETURN(plan, plan_cache(*budgets, model->config(), n_prompt));
  }
  plan.decode_slack = args.kv.decode_slack.value_or(0);

  PrefillOptions prefill_options;
  if (args.sampling.n_predict >= 0) prefill_options.n_decode = args.sampling.n_predict;
  const auto begin = std::chrono::steady_clock::now();
  Result<Sequence> prefilled = [&] {
    Progress progress("prefill", n_prompt * model->config().n_layer);
    prefill_options.on_progress = [&](int64_t done, int64_t) { progress.update(done); };
    return engine->prefill(prompt, plan, prefill_options);
  }();
  if (!prefilled.ok()) return prefilled.status();
  Sequence sequence = std::move(*prefilled);
  const double prefill_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const GenerateOptions options = generate_options(args, model->config(), n_ctx);
  AnswerOutput output(*engine);
  const auto stream = [&](std::string_view text) {
    if (!args.output.json) output.write(text);
  };
  const Result<Generated> generated = generate(*engine, sequence, prompt, options, stream);
  if (!args.output.json) output.end();
  RKV_RETURN_IF_ERROR(flush_out());
  if (!generated.ok()) return generated.status();

  const KvFigures kv = kv_figures(sequence, budgets);
  const double prefill_speed = per_second(n_prompt, prefill_seconds);
  const double decode_speed = per_second(generated->n_decoded, generated->seconds);
  if (args.output.json) {
    const nlohmann::ordered_json json = {{"text", generated->text},
                                         {"ids", generated->ids},
                                         {"stopped_by", generated->stopped_by},
                                         {"prompt_ids", prompt},
                                         {"model", model->id().name},
                                         {"selector", plan.selector},
                                         {"allocator", budgets ? budgets->allocator : "full"},
                                         {"kv_budget", budgets ? budgets->budget.to_string() : "full"},
                                         {"rows", plan.rows},
                                         {"kv_bytes_held", kv.held},
                                         {"kv_bytes_allocated", kv.allocated},
                                         {"kv_bytes_full", kv.full},
                                         {"kv_bytes_peak", sequence.receipt.kv_peak_held},
                                         {"kv_bytes_peak_planned", sequence.receipt.kv_peak_planned},
                                         {"prefill_seconds", prefill_seconds},
                                         {"prefill_tokens_per_second", prefill_speed},
                                         {"decode_tokens", generated->n_decoded},
                                         {"decode_seconds", generated->seconds},
                                         {"decode_tokens_per_second", decode_speed},
                                         {"receipt", receipt_json(sequence.receipt)}};
    print("{}\n", json_text(json));
  }
  if (args.output.receipt) print_receipt(sequence.receipt);
  print_to_stderr(closing_line(n_prompt, prefill_seconds, *generated, kv));
  return generated->stopped_by == "interrupt" ? cancelled("interrupted") : ok_status();
}

}  // namespace ripplekv
