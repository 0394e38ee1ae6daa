// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Prefill with compression, batched decoding, and the decode-time budget.
#include "ripplekv/engine.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/text.h"
#include "engine/machine.h"
#include "model/prefill.h"
#include "model/weights.h"

namespace ripplekv {
// Queries of the last decoded tokens: slots [0, n_filled) of every layer's tensor, 2 W long; when it is full the last W
// move to the front.
struct Sequence::DecodeWindow {
  int width = 0;                         // W: queries observed at most
  int n_filled = 0;                      // slots in use
  std::unique_ptr<TensorArena> queries;  // [n_layer] F32 [head_dim, n_head, 2 W]; null if the selector needs none
  std::unique_ptr<Selector> selector;
};

Sequence::Sequence() = default;
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;
Sequence::~Sequence() = default;

Engine::Engine() = default;
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model, const EngineOptions& options) {
  if (options.n_threads < 0 || options.n_chunk < 1) {
    return invalid_argument(fmt::format("engine: {} threads and chunks of {} tokens, expected at least 0 and 1",
                                        options.n_threads, options.n_chunk));
  }
  std::unique_ptr<Engine> engine(new Engine());
  engine->model_ = std::move(model);
  engine->options_ = options;
  const int n_threads = options.n_threads > 0 ? options.n_threads : n_physical_cores();
  RKV_ASSIGN_OR_RETURN(engine->forward_, Forward::create(engine->model_, n_threads));
  return engine;
}

int Engine::n_threads() const { return forward_->n_threads(); }
void Engine::set_cancel(const std::atomic<bool>* cancel) { forward_->set_cancel(cancel); }

Result<Sequence> Engine::prefill(std::span<const int32_t> tokens, const CachePlan& plan,
                                 const PrefillOptions& options) {
  const ModelConfig& config = model_->config();
  if (tokens.empty()) return invalid_argument("prompt: 0 tokens, expected at least 1");
  RKV_RETURN_IF_ERROR(check_token_ids(tokens, config.n_vocab, "prompt"));
  RKV_CHECK(plan.n_prompt == static_cast<int64_t>(tokens.size()));
  RKV_RETURN_IF_ERROR(check_plan(plan, config));
  RKV_CHECK(options.n_decode >= 0 && options.n_decode <= LayerCache::kManyRows);
  const bool in_place = ggml_backend_buft_is_host(model_->store().layer_buffer_type(0));
  const MemoryForecast forecast = forecast_memory(plan, config, options.n_decode, in_place);
  RKV_RETURN_IF_ERROR(check_memory(plan, forecast, options.n_decode, /*held=*/0));

  Sequence sequence;
  sequence.plan = plan;
  PrefillRequest request;
  request.tokens = tokens;
  request.cache = &sequence.cache;
  const std::vector<KvFormat> formats = prefill_formats(plan.format);
  request.formats = formats;
  if (plan.keeps_all() && options.n_decode < LayerCache::kManyRows) {
    // The same in all layers that see all.
    for (int il = 0; il < config.n_layer; ++il) {
      if (plan.window_of(il) == 0) request.extra_rows = plan.rows_after(il, options.n_decode) - plan.n_prompt;
    }
  }
  RKV_RETURN_IF_ERROR(fill(std::move(request), plan.keeps_all() ? Fill::kWindows : Fill::kPlan, forecast, options,
                           /*beside=*/0, sequence));
  return sequence;
}

Status Engine::fill(PrefillRequest request, Fill how, const MemoryForecast& forecast, const PrefillOptions& options,
                    int64_t beside, Sequence& next) {
  const ModelConfig& config = model_->config();
  const CachePlan& plan = next.plan;
  const KvCache& cache = *request.cache;
  const auto n_tokens = static_cast<int64_t>(request.tokens.size());
  const int64_t extra_rows = request.extra_rows;
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(plan.selector, plan.selector_options));
  next.n_decode_left = options.n_decode;
  next.receipt.kv_peak_planned = forecast.kv_peak;
  request.n_chunk = options_.n_chunk;
  request.on_progress = options.on_progress;
  if (how == Fill::kPlan) request.n_query = selector->n_query(n_tokens);
  request.on_layer = [&](int il, LayerCache& layer, const ViewLayer& view) -> Status {
    const KvFormat& format = plan.format[static_cast<size_t>(il)];
    const int64_t rows =
        how == Fill::kAppend ? layer.n_rows() : std::min(plan.rows[static_cast<size_t>(il)], layer.n_rows());
    const int64_t bytes_planned = forecast.layers[static_cast<size_t>(il)];
    const bool compress = rows < layer.n_rows();
    const bool round = layer.format() != format;
    const int64_t copied = round || (compress && !layer.compacts_in_place()) ? bytes_planned : 0;
    next.receipt.kv_peak_held = std::max(next.receipt.kv_peak_held, beside + cache.bytes().allocated() + copied);
    if (compress || round) {
      const auto begin = std::chrono::steady_clock::now();
      KeepList keep;
      if (!compress) {
        keep = layer.all_rows();
      } else if (plan.window_of(il) > 0) {
        keep = layer.last_rows(rows);
      } else {
        RKV_ASSIGN_OR_RETURN(const LayerView seen, view(selector->needs(), request.n_query));
        keep = prune_heads(score_parts(*selector, seen.taps), layer.head_rows(),
                           plan.rows_of_heads(il, rows, config.n_head_kv), selector->protected_rows(),
                           plan.selector_options.head_floor);
      }
      if (round) {
        const int64_t n_room = compress || plan.window_of(il) > 0 ? 0 : extra_rows;
        RKV_ASSIGN_OR_RETURN(layer, layer.gather(keep, format, n_room));
      } else {
        RKV_RETURN_IF_ERROR(layer.compact(keep));
      }
      next.receipt.compress_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    next.receipt.lines.push_back({rows, layer.n_rows(), bytes_planned, layer.format(), layer.bytes()});
    if (options.record_kept) {
      KeepList& kept = next.kept.emplace_back();
      for (int head = 0; head < layer.shape().n_head_kv; ++head) {
        kept.emplace_back(layer.positions(head).begin(), layer.positions(head).end());
      }
    }
    return ok_status();
  };
  RKV_ASSIGN_OR_RETURN(next.logits, ripplekv::prefill(*forward_, request));
  RKV_RETURN_IF_ERROR(next.receipt.check());
  return plan.decode_slack > 0 ? start_decode_window(next) : ok_status();
}

Status Engine::extend(Sequence& sequence, std::span<const int32_t> tokens, const CachePlan& plan,
                      const PrefillOptions& options) {
  const ModelConfig& config = model_->config();
  KvCache& old = sequence.cache;
  RKV_CHECK(old.n_layer() == config.n_layer);
  const auto n_new = static_cast<int64_t>(tokens.size());
  if (tokens.empty()) return invalid_argument("turn: 0 tokens, expected at least 1");
  RKV_RETURN_IF_ERROR(check_token_ids(tokens, config.n_vocab, "turn"));
  RKV_CHECK(plan.n_prompt == old.n_pos() + n_new);
  RKV_RETURN_IF_ERROR(check_plan(plan, config));
  RKV_CHECK(options.n_decode >= 0 && options.n_decode <= LayerCache::kManyRows);
  for (int il = 0; il < config.n_layer; ++il) {
    const KvFormat& held = old.layer(il).format();
    const KvFormat& planned = plan.format[static_cast<size_t>(il)];
    if (held == planned) continue;
    return invalid_argument(fmt::format("cache plan: layer {} is to hold {}/{} rows, the conversation began with {}/{}",
                                        il, to_string(planned.k), to_string(planned.v), to_string(held.k),
                                        to_string(held.v)));
  }
  const MemoryForecast forecast =
      forecast_extension(old, plan, config, n_new, options.n_decode, old.layer(0).compacts_in_place());
  const int64_t held = old.bytes().allocated();
  RKV_RETURN_IF_ERROR(check_memory(plan, forecast, options.n_decode, held));

  Sequence next;
  next.plan = plan;
  PrefillRequest request;
  request.tokens = tokens;
  if (appends_all(old, plan, n_new)) {
    const KvSnapshot before = old.snapshot();
    request.cache = &old;
    const int64_t n_room = options.n_decode < LayerCache::kManyRows ? options.n_decode : 0;
    const Status status = [&]() -> Status {
      for (int il = 0; il < config.n_layer; ++il) {
        LayerCache& layer = old.layer(il);
        const int64_t room = std::max(n_new, rows_extended(old, plan, il, n_new, n_room) - layer.n_rows());
        RKV_RETURN_IF_ERROR(layer.reserve_more(room, /*n_later=*/0));
      }
      return fill(std::move(request), Fill::kAppend, forecast, options, /*beside=*/0, next);
    }();
    if (!status.ok()) {
      RKV_CHECK(old.restore(before).ok());  // rows were only appended
      return status;
    }
    next.cache = std::move(old);
    RKV_RETURN_IF_ERROR(slide_windows(next));
  } else {
    next.cache.set_n_pos(old.n_pos());
    request.cache = &next.cache;
    request.make_layer = [&](int il) {
      const LayerCache& layer = old.layer(il);
      return layer.gather(layer.all_rows(), n_new);
    };
    RKV_RETURN_IF_ERROR(fill(std::move(request), Fill::kPlan, forecast, options, held, next));
  }
  sequence = std::move(next);
  return ok_status();
}

Result<Sequence> Engine::fork(const Sequence& sequence) const {
  const int64_t bytes = sequence.cache.bytes().allocated();
  if (const int64_t available = available_memory(); bytes > available) {
    return resource_exhausted(fmt::format("a second cache of the sequence needs {} of memory, {} are free",
                                          human_bytes(bytes), human_bytes(available)));
  }
  Sequence twin;
  RKV_ASSIGN_OR_RETURN(twin.cache, sequence.cache.fork());
  twin.plan = sequence.plan;
  twin.logits = sequence.logits;
  twin.n_decode_left = sequence.n_decode_left;
  twin.receipt = sequence.receipt;
  twin.kept = sequence.kept;
  if (twin.plan.decode_slack > 0) RKV_RETURN_IF_ERROR(start_decode_window(twin));
  return twin;
}

Status Engine::check_memory(const CachePlan& plan, const MemoryForecast& forecast, int64_t n_decode,
                            int64_t held) const {
  const int64_t cache = std::max(forecast.kv_peak, forecast.kv_decode) - held;
  const int64_t available = available_memory();
  if (cache + forecast.scratch <= available) return ok_status();
  const std::string answer = n_decode < LayerCache::kManyRows ? fmt::format(" and {} that follow", n_decode) : "";
  return resource_exhausted(
      fmt::format("a {} of {} tokens{} needs {} {}of memory ({} cache, {} activations), {} are free",
                  held > 0 ? "conversation" : "prompt", plan.n_prompt, answer, human_bytes(cache + forecast.scratch),
                  held > 0 ? "more " : "", human_bytes(cache), human_bytes(forecast.scratch), human_bytes(available)));
}

Status Engine::decode(std::span<const DecodeStep> steps) {
  if (steps.empty()) return ok_status();
  const ModelConfig& config = model_->config();
  ForwardBatch batch;
  std::vector<int32_t> tokens;
  std::vector<int32_t> rows;
  for (const DecodeStep& step : steps) {
    const auto index = static_cast<int32_t>(rows.size());
    Sequence& sequence = *step.sequence;
    for (int il = 0; il < config.n_layer; ++il) {
      LayerCache& layer = sequence.cache.layer(il);
      const int64_t most = sequence.plan.rows_after(il, LayerCache::kManyRows);
      RKV_RETURN_IF_ERROR(
          layer.reserve_more(1, std::max<int64_t>(0, std::min(most - layer.n_rows(), sequence.n_decode_left) - 1)));
    }
    batch.segments.push_back({&sequence.cache, 1, sequence.cache.n_pos()});
    tokens.push_back(step.token);
    rows.push_back(index);
    if (!sequence.decode_window || !sequence.decode_window->queries) continue;
    const Sequence::DecodeWindow& window = *sequence.decode_window;
    for (int il = 0; il < config.n_layer; ++il) {
      batch.query_taps.push_back({il, index, 1, window.queries->tensor(static_cast<size_t>(il)), window.n_filled});
    }
  }
  RKV_RETURN_IF_ERROR(check_token_ids(tokens, config.n_vocab, "decode"));
  std::vector<float> logits;
  batch.layer_end = config.n_layer;
  batch.tokens = tokens;
  batch.logits_of = rows;
  batch.logits = &logits;
  RKV_RETURN_IF_ERROR(forward_->run(batch));
  const auto n_vocab = static_cast<size_t>(config.n_vocab);
  for (size_t i = 0; i < steps.size(); ++i) {
    Sequence& sequence = *steps[i].sequence;
    sequence.cache.set_n_pos(sequence.cache.n_pos() + 1);
    if (sequence.n_decode_left < LayerCache::kManyRows) --sequence.n_decode_left;
    sequence.logits.assign(logits.begin() + static_cast<std::ptrdiff_t>(i * n_vocab),
                           logits.begin() + static_cast<std::ptrdiff_t>((i + 1) * n_vocab));
    RKV_RETURN_IF_ERROR(slide_windows(sequence));
    if (sequence.decode_window) RKV_RETURN_IF_ERROR(compress_outgrown(sequence));
  }
  return ok_status();
}

Status Engine::start_decode_window(Sequence& sequence) const {
  const ModelConfig& config = model_->config();
  auto window = std::make_unique<Sequence::DecodeWindow>();
  RKV_ASSIGN_OR_RETURN(window->selector, make_selector(sequence.plan.selector, sequence.plan.selector_options));
  if ((window->selector->needs() & kTapsOfQueries) != 0) {
    // A method that observes the whole prompt observes the last W queries of an answer.
    window->width = static_cast<int>(window->selector->n_query(sequence.plan.selector_options.window));
    const std::vector<TensorSpec> specs(static_cast<size_t>(config.n_layer),
                                        {GGML_TYPE_F32, {config.head_dim, config.n_head, 2 * window->width, 1}});
    RKV_ASSIGN_OR_RETURN(window->queries, forward_->scratch(specs));
  }
  sequence.decode_window = std::move(window);
  return ok_status();
}

Status Engine::slide_windows(Sequence& sequence) {
  for (int il = 0; il < model_->config().n_layer; ++il) {
    const int64_t window = sequence.plan.window_of(il);
    LayerCache& layer = sequence.cache.layer(il);
    // The row that made it too many is the last; room for it was in the plan.
    if (window == 0 || layer.n_rows() < sequence.plan.rows_after(il, LayerCache::kManyRows)) continue;
    RKV_RETURN_IF_ERROR(layer.compact(layer.last_rows(window)));
  }
  return ok_status();
}

Status Engine::compress_outgrown(Sequence& sequence) {
  const ModelConfig& config = model_->config();
  Sequence::DecodeWindow& window = *sequence.decode_window;
  if (window.queries) ++window.n_filled;
  for (int il = 0; il < config.n_layer; ++il) {
    if (sequence.plan.window_of(il) > 0) continue;
    LayerCache& layer = sequence.cache.layer(il);
    const int64_t rows = std::max(sequence.plan.rows[static_cast<size_t>(il)], sequence.plan.rows_floor);
    if (layer.n_rows() <= rows + sequence.plan.decode_slack) continue;
    // A head of fewer rows than the window has dropped the rows of its older queries.
    const std::vector<int64_t> head_rows = layer.head_rows();
    const int64_t fewest = *std::min_element(head_rows.begin(), head_rows.end());
    const auto n_window = static_cast<int>(std::min<int64_t>({window.n_filled, window.width, fewest}));
    ggml_tensor* queries = window.queries ? window.queries->tensor(static_cast<size_t>(il)) : nullptr;
    RKV_ASSIGN_OR_RETURN(const LayerView view, view_layer(*forward_, il, layer, window.selector->needs(), queries,
                                                          nullptr, window.n_filled - n_window, n_window));
    RKV_RETURN_IF_ERROR(layer.compact(prune_heads(
        score_parts(*window.selector, view.taps), head_rows, sequence.plan.rows_of_heads(il, rows, config.n_head_kv),
        window.selector->protected_rows(), sequence.plan.selector_options.head_floor)));
  }
  if (window.queries && window.n_filled == 2 * window.width) {
    std::vector<uint8_t> last;
    for (int il = 0; il < config.n_layer; ++il) {
      ggml_tensor* queries = window.queries->tensor(static_cast<size_t>(il));
      last.resize(static_cast<size_t>(window.width) * queries->nb[2]);
      ggml_backend_tensor_get(queries, last.data(), last.size(), last.size());
      ggml_backend_tensor_set(queries, last.data(), 0, last.size());
    }
    window.n_filled = window.width;
  }
  return ok_status();
}

Result<std::vector<float>> Engine::score(KvCache& cache, std::span<const int32_t> tokens) {
  const ModelConfig& config = model_->config();
  RKV_RETURN_IF_ERROR(check_token_ids(tokens, config.n_vocab, "score"));
  const KvSnapshot before = cache.snapshot();
  std::vector<float> all;
  std::vector<float> logits;
  Status status;
  for (size_t first = 0; first < tokens.size() && status.ok(); first += static_cast<size_t>(options_.n_chunk)) {
    const size_t n = std::min(static_cast<size_t>(options_.n_chunk), tokens.size() - first);
    std::vector<int32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    ForwardBatch batch;
    batch.segments = {{&cache, static_cast<int64_t>(n), cache.n_pos() + static_cast<int64_t>(first)}};
    batch.layer_end = config.n_layer;
    batch.tokens = tokens.subspan(first, n);
    batch.logits_of = rows;
    batch.logits = &logits;
    status = forward_->run(batch);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  RKV_RETURN_IF_ERROR(cache.restore(before));
  RKV_RETURN_IF_ERROR(status);
  return all;
}

}  // namespace ripplekv
