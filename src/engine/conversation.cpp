// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What is in the cache is compared with a new rendering as text: an answer tokenised anew would seldom give the tokens
// that were sampled.
#include "engine/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/prompt.h"
#include "model/vocab.h"

namespace ripplekv {

Result<Conversation> Conversation::begin(Engine& engine, ChatTemplate chat, ConversationOptions options) {
  std::optional<Budgets> budgets = std::exchange(options.budgets, std::nullopt);
  Conversation conversation(engine, std::move(chat), std::move(options));
  RKV_RETURN_IF_ERROR(conversation.set_budgets(std::move(budgets)));
  if (const std::string& system = conversation.options_.system_prompt; !system.empty()) {
    conversation.messages_.push_back({"system", system});
  }
  return conversation;
}

Status Conversation::set_budgets(std::optional<Budgets> budgets) {
  std::swap(options_.budgets, budgets);
  const Status status = plan_for(options_.generate.n_ctx).status();
  if (!status.ok()) std::swap(options_.budgets, budgets);
  return status;
}

Result<CachePlan> Conversation::plan_for(int64_t n_pos) const {
  const ModelConfig& config = engine_->model().config();
  std::vector<KvFormat> formats(static_cast<size_t>(config.n_layer), options_.format);
  if (options_.budgets) formats = options_.budgets->kv_format;
  for (int il = 0; sequence_ && il < static_cast<int>(formats.size()); ++il) {
    formats[static_cast<size_t>(il)] = sequence_->cache.layer(il).format();
  }
  CachePlan plan = plan_full(config, n_pos, options_.format);
  plan.format = formats;
  if (options_.budgets) {
    Budgets budgets = *options_.budgets;
    budgets.kv_format = formats;
    RKV_ASSIGN_OR_RETURN(plan, plan_cache(budgets, config, n_pos, /*lift_fraction=*/true));
    plan.decode_slack = options_.decode_slack;
  }
  return plan;
}

Status Conversation::check_context(int64_t n_pos) const {
  const int64_t n_answer = std::max<int64_t>(1, options_.generate.n_predict);
  if (n_pos + n_answer <= options_.generate.n_ctx) return ok_status();
  return resource_exhausted(
      fmt::format("conversation: {} tokens and {} for the answer, the context holds {}; --ctx-size raises it", n_pos,
                  n_answer, options_.generate.n_ctx));
}

PrefillOptions Conversation::prefill_options(const OnProgress& on_progress) const {
  PrefillOptions options;
  if (options_.generate.n_predict >= 0) options.n_decode = options_.generate.n_predict;
  options.on_progress = on_progress;
  return options;
}

Result<int64_t> Conversation::take_in(const std::string& rendering, const OnProgress& on_progress, std::string& note) {
  const Model& model = engine_->model();
  std::vector<int32_t> added;
  const auto added_after = [&](const std::string& held) {
    added.clear();
    if (!sequence_ || !rendering.starts_with(held)) return false;
    added = model.vocab().tokenize(std::string_view(rendering).substr(held.size()), /*add_special=*/false,
                                   /*parse_special=*/true);
    return !added.empty();
  };
  const auto answer = std::span(tokens_).subspan(static_cast<size_t>(n_prompt_));
  bool extends = added_after(prompt_text_ + model.vocab().text(answer, /*special=*/true));
  if (!extends && before_ && added_after(prompt_text_)) {
    // The template, a stop string or half a character made another text of the answer: that is what is read.
    RKV_RETURN_IF_ERROR(check_context(n_prompt_ + static_cast<int64_t>(added.size())));
    RKV_RETURN_IF_ERROR(go_back());
    extends = true;
  }
  const auto n_held = static_cast<int64_t>(tokens_.size());
  if (extends) {
    const int64_t n_pos = n_held + static_cast<int64_t>(added.size());
    RKV_RETURN_IF_ERROR(check_context(n_pos));
    RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_for(n_pos));
    RKV_RETURN_IF_ERROR(engine_->extend(*sequence_, added, plan, prefill_options(on_progress)));
    tokens_.insert(tokens_.end(), added.begin(), added.end());
  } else {
    added = rendered_tokens(model, rendering);
    const auto n_pos = static_cast<int64_t>(added.size());
    RKV_RETURN_IF_ERROR(check_context(n_pos));
    RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_for(n_pos));
    RKV_ASSIGN_OR_RETURN(Sequence sequence, engine_->prefill(added, plan, prefill_options(on_progress)));
    if (sequence_) {
      note =
          fmt::format("the conversation no longer begins as the cache does: all its {} tokens were read anew", n_pos);
    }
    sequence_ = std::move(sequence);
    tokens_ = added;
  }
  prompt_text_ = rendering;
  n_prompt_ = static_cast<int64_t>(tokens_.size());
  before_.reset();
  return static_cast<int64_t>(added.size());
}

bool Conversation::answers_drop_rows() const {
  return sequence_->plan.decode_slack > 0 || !engine_->model().id().sliding_layers.empty();
}

Status Conversation::remember() {
  before_.reset();
  Before before;
  if (answers_drop_rows()) {  // which cannot be had back
    RKV_ASSIGN_OR_RETURN(before.copy, engine_->fork(*sequence_));
  } else {
    before.rows = sequence_->cache.snapshot();
    before.logits = sequence_->logits;
  }
  before_ = std::move(before);
  return ok_status();
}

std::vector<float> Conversation::logits_before_answer() const {
  if (!before_ || !before_->copy) return before_ ? before_->logits : std::vector<float>();
  const int64_t n_answer = sequence_->cache.n_pos() - n_prompt_;
  for (int il = 0; il < sequence_->cache.n_layer(); ++il) {
    if (engine_->model().config().window_of(il) > 0) continue;  // needs its window, which before_answer() looks for
    if (sequence_->cache.layer(il).n_rows() != before_->copy->cache.layer(il).n_rows() + n_answer) return {};
  }
  return before_->copy->logits;
}

std::optional<Conversation::Before> Conversation::before_answer(std::vector<float> logits) const {
  Before before;
  before.logits = std::move(logits);
  before.rows = sequence_->cache.snapshot();
  before.rows.n_pos = n_prompt_;
  const int64_t n_answer = sequence_->cache.n_pos() - n_prompt_;
  for (int il = 0; il < sequence_->cache.n_layer(); ++il) {
    const LayerCache& layer = sequence_->cache.layer(il);
    const int64_t n_rows = layer.n_rows() - n_answer;
    const int64_t window = engine_->model().config().window_of(il);
    if (n_rows < 1 || (window > 0 && n_rows < std::min(window, n_prompt_))) return std::nullopt;
    for (int head = 0; head < layer.shape().n_head_kv; ++head) {
      const auto positions = layer.positions(head);
      if (std::cmp_less_equal(positions.size(), n_answer)) return std::nullopt;
      if (n_answer > 0 && positions[positions.size() - static_cast<size_t>(n_answer)] != n_prompt_) return std::nullopt;
    }
    before.rows.n_rows[static_cast<size_t>(il)] = n_rows;
  }
  if (answers_drop_rows() && !before.logits.empty()) {
    auto copy = engine_->fork(*sequence_);
    if (!copy.ok() || !copy->cache.restore(before.rows).ok()) return std::nullopt;
    copy->logits = before.logits;
    copy->n_decode_left = prefill_options(nullptr).n_decode;
    before.copy = std::move(*copy);
  }
  return before;
}

Status Conversation::go_back() {
  if (before_->copy) {
    RKV_ASSIGN_OR_RETURN(sequence_, engine_->fork(*before_->copy));
  } else {
    RKV_RETURN_IF_ERROR(sequence_->cache.restore(before_->rows));
    sequence_->logits = before_->logits;
    sequence_->n_decode_left = prefill_options(nullptr).n_decode;
  }
  tokens_.resize(static_cast<size_t>(n_prompt_));
  return ok_status();
}

void Conversation::drop_cache() {
  sequence_.reset();
  before_.reset();
  tokens_.clear();
  prompt_text_.clear();
  n_prompt_ = 0;
}

Result<Generated> Conversation::answer(const OnText& on_text) {
  GenerateOptions options = options_.generate;
  options.sampling.seed += n_answers_++;
  auto generated = generate(*engine_, *sequence_, tokens_, options, on_text);
  if (!generated.ok()) return generated;
  // Not n_decoded: a cancel may come after a token went through.
  const int64_t n_decoded = sequence_->cache.n_pos() - n_prompt_;
  tokens_.insert(tokens_.end(), generated->ids.begin(), generated->ids.begin() + n_decoded);
  return generated;
}

Result<Reply> Conversation::say(const std::string& text, const OnText& on_text, const OnProgress& on_progress) {
  std::vector<ChatMessage> messages = messages_;
  messages.push_back({"user", text});
  RKV_ASSIGN_OR_RETURN(const std::string rendering, chat_.render(messages, /*add_generation_prompt=*/true));
  Reply reply;
  const auto begin = std::chrono::steady_clock::now();
  RKV_ASSIGN_OR_RETURN(reply.n_prefilled, take_in(rendering, on_progress, reply.note));
  reply.prefill_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (const Status status = remember(); !status.ok()) {
    reply.note = fmt::format("this answer cannot be regenerated: {}", status.message());
  }
  auto generated = answer(on_text);
  if (!generated.ok()) {
    // The question stays in the cache and nowhere else: there is no answer to it, and the next turn reads all anew.
    if (!before_ || !go_back().ok()) drop_cache();
    before_.reset();
    return generated.status();
  }
  reply.generated = *std::move(generated);
  messages.push_back({"assistant", reply.generated.text});
  messages_ = std::move(messages);
  return reply;
}

Result<Reply> Conversation::regenerate(const OnText& on_text) {
  if (!before_ || (!before_->copy && before_->logits.empty())) {
    const bool answered = !messages_.empty() && messages_.back().role == "assistant";
    return invalid_argument(answered ? "this answer cannot be regenerated: the rows it was drawn from are gone"
                                     : "there is no answer to regenerate: ask something first");
  }
  RKV_RETURN_IF_ERROR(go_back());
  Reply reply;
  auto generated = answer(on_text);
  if (!generated.ok()) {
    if (!go_back().ok()) drop_cache();  // the old answer stays, and is read as text at the next turn
    return generated.status();
  }
  reply.generated = *std::move(generated);
  messages_.back().content = reply.generated.text;
  return reply;
}

Status Conversation::save(const std::string& path) const {
  if (!sequence_) return invalid_argument("there is nothing to save yet: ask something first");
  SessionState state;
  state.model = engine_->model().id();
  state.messages = messages_;
  state.prompt_text = prompt_text_;
  state.n_prompt = n_prompt_;
  state.tokens = tokens_;
  state.budgets = options_.budgets;
  state.decode_slack = options_.decode_slack;
  state.logits = logits_before_answer();
  return write_session(path, state, sequence_->cache);
}

Status Conversation::load(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(Session session, read_session(path, engine_->model()));
  SessionState& state = session.state;
  messages_ = std::move(state.messages);
  prompt_text_ = std::move(state.prompt_text);
  n_prompt_ = state.n_prompt;
  tokens_ = std::move(state.tokens);
  options_.budgets = std::move(state.budgets);
  options_.decode_slack = state.decode_slack;
  options_.format = session.cache.layer(0).format();
  before_.reset();
  sequence_.emplace();
  sequence_->cache = std::move(session.cache);
  if (auto plan = plan_for(n_prompt_); plan.ok()) {  // if not, the next turn says so
    sequence_->plan = *std::move(plan);
    before_ = before_answer(std::move(state.logits));
  }
  return ok_status();
}

}  // namespace ripplekv
