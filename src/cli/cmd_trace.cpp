// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv trace: which rows were kept, and what that did.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/places.h"
#include "cli/prompt_file.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/trace.h"
#include "engine/trace_html.h"
#include "model/vocab.h"

namespace ripplekv {

Status cmd_trace(const TraceArgs& args) {
  RKV_ASSIGN_OR_RETURN(const auto model, load_model(args.model));
  RKV_ASSIGN_OR_RETURN(const PromptFile input, read_prompt_file(*model, args.input_file));
  const auto n_prompt = static_cast<int64_t>(input.ids.size());
  const int64_t n_ctx = context_limit(args.model, model->config());
  if (n_prompt + static_cast<int64_t>(input.answer.size()) > n_ctx) {
    return resource_exhausted(
        fmt::format("input: {} tokens and {} of the answer, the context holds {}; --ctx-size raises it", n_prompt,
                    input.answer.size(), n_ctx));
  }
  for (const std::string& output : {args.output_file, args.html_file}) {
    if (!output.empty()) RKV_RETURN_IF_ERROR(prepare_output(output));
  }
  std::string note;
  RKV_ASSIGN_OR_RETURN(const auto budgets, resolve_budgets(args.kv, *model, note));
  if (!note.empty()) print_to_stderr("note: " + note);
  CachePlan plan = plan_full(model->config(), n_prompt, args.kv.type.format());
  if (budgets) {
    RKV_ASSIGN_OR_RETURN(plan, plan_cache(*budgets, model->config(), n_prompt));
  }
  RKV_ASSIGN_OR_RETURN(const auto engine, make_engine(model, args.model));
  engine->set_cancel(interrupt_flag());
  Progress progress("tracing", n_prompt * model->config().n_layer);
  RKV_ASSIGN_OR_RETURN(const Trace trace, trace_prompt(*engine, input.ids, input.answer, plan,
                                                       [&](int64_t done, int64_t) { progress.update(done); }));
  progress.finish();

  const std::string allocator = budgets ? budgets->allocator : "full";
  const std::string budget = budgets ? budgets->budget.to_string() : "full";
  nlohmann::ordered_json json = {{"model", model->id().name}, {"fingerprint", model->id().fingerprint},
                                 {"selector", plan.selector}, {"allocator", allocator},
                                 {"kv_budget", budget},       {"n_prompt", n_prompt},
                                 {"rows", plan.rows},         {"next_token_top10", trace.next_token_top10}};
  if (!input.answer.empty()) {
    json["answer_nll"] = trace.answer_nll;
    json["answer_nll_mean_full"] = trace.nll_full;
  }
  if (input.answer.size() >= 2) {  // the first token of an answer is the prefill's: no cache has moved it yet
    json["kl"] = trace.kl;
    json["top1"] = trace.top1;
  }
  json["kept"] = trace.kept;
  const std::string text = json_text(json, /*indent=*/-1) + "\n";
  if (args.output_file.empty()) {
    write_out(text);
  } else {
    RKV_RETURN_IF_ERROR(write_file_atomically(args.output_file, text));
  }
  if (args.html_file.empty()) return ok_status();

  const Vocab& vocab = model->vocab();
  TraceView view;
  view.model = model->id().name;
  view.selector = plan.selector;
  view.allocator = allocator;
  view.budget = budget;
  for (int32_t id : input.ids) view.tokens.push_back(vocab.piece(id, /*special=*/true));
  view.kept = trace.kept;
  for (const auto& [id, log_p] : trace.next_token_top10)
    view.next_token_top10.emplace_back(vocab.piece(id, true), log_p);
  if (!input.answer.empty()) {
    TraceAnswer answer;
    for (int32_t id : input.answer) answer.tokens.push_back(vocab.piece(id, true));
    answer.nll = trace.answer_nll;
    answer.kl_mean = trace.kl;
    answer.top1_agreement = trace.top1;
    view.answer = std::move(answer);
  }
  return write_file_atomically(args.html_file, trace_html(view));
}

}  // namespace ripplekv
