// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One sample at a time: prefill, continue, then change one layer after another and look at the output.
#include "profiling/profiler.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "base/random.h"
#include "model/prefill.h"
#include "profiling/divergence.h"
#include "profiling/perturbation.h"
#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

class SampleProfiler {
 public:
  SampleProfiler(Forward& forward, const ProfileSettings& settings, const ProfilerSample& sample, int n_chunk,
                 const std::function<void(int64_t, int64_t)>& on_progress)
      : forward_(forward),
        config_(forward.model().config()),
        settings_(settings),
        sample_(sample),
        n_chunk_(n_chunk),
        on_progress_(on_progress) {}

  Result<ProfileSample> run();
  int64_t n_forward_tokens() const { return n_done_; }

 private:
  Status check();
  Status prefill_full();
  Status continue_full();
  Result<double> continue_from(int il);
  struct Moved {
    double kl = 0;
    double local = 0;
  };
  Result<Moved> nudged(int il, int repeat);
  Result<double> local_change(int il);
  Result<double> damage(int il, size_t fraction, const KvFormat& format);
  Result<double> head_damage(int il, int head, size_t fraction);
  Result<double> with_layer(int il, Result<LayerCache> changed);
  // Whether a point of the curves changes anything in this layer. A window keeps its rows whatever the fraction: what
  // its format costs is measured where all rows stay.
  bool changes(int il, size_t point) const {
    const double fraction = settings_.curve_fractions[point % settings_.curve_fractions.size()];
    const KvFormat format = settings_.formats_of_curves()[point / settings_.curve_fractions.size()];
    return fraction >= 1 ? format != settings_.kv_format : config_.window_of(il) == 0;
  }
  void advance(int64_t layer_tokens);

  Forward& forward_;
  const ModelConfig& config_;
  const ProfileSettings& settings_;
  const ProfilerSample& sample_;
  int n_chunk_;
  const std::function<void(int64_t, int64_t)>& on_progress_;

  std::unique_ptr<Selector> selector_;
  KvCache cache_;
  std::vector<std::vector<KeepList>> keep_;       // [curve_fractions][layer]
  std::vector<std::vector<KeepList>> head_keep_;  // [head_fractions][layer]
  std::vector<float> last_logits_;
  std::vector<int32_t> answer_;
  std::vector<int32_t> rows_;            // 0 .. n_fed() - 1
  std::vector<float> reference_;         // F32 [n_vocab, n_fed()]
  std::unique_ptr<TensorArena> inputs_;  // each layer's input for the answer's tokens
  std::unique_ptr<TensorArena> output_;  // of the layer at hand, likewise
  std::vector<float> untouched_output_;  // what it was before the nudge, F32 [n_embd, n_fed()]
  NudgeRows nudge_rows_;
  int64_t n_done_ = 0;
  int64_t n_total_ = 0;

  // The last token of the answer is predicted, not fed.
  int64_t n_fed() const { return static_cast<int64_t>(answer_.size()) - 1; }
  int64_t n_prompt() const { return static_cast<int64_t>(sample_.ids.size()); }
};

void SampleProfiler::advance(int64_t layer_tokens) {
  n_done_ += layer_tokens;
  if (on_progress_) on_progress_(n_done_, n_total_);
}

Status SampleProfiler::check() {
  const std::string name = fmt::format("sample '{}'", sample_.id);
  const auto fail = [&](const std::string& what) { return invalid_argument(fmt::format("{}: {}", name, what)); };
  RKV_RETURN_IF_ERROR(check_token_ids(sample_.ids, config_.n_vocab, name));
  RKV_RETURN_IF_ERROR(check_token_ids(sample_.answer, config_.n_vocab, name + ": answer"));
  if (sample_.answer.size() == 1) return fail("an answer of 1 token, expected at least 2");
  RKV_ASSIGN_OR_RETURN(selector_, make_selector(settings_.selector, settings_.selector_options));
  nudge_rows_ = rows_to_nudge(settings_.rows == "evictable", n_prompt(), settings_.selector_options.n_sink,
                              settings_.selector_options.window);
  if (nudge_rows_.begin >= nudge_rows_.end) {
    return fail(
        fmt::format("{} tokens leave no row to nudge, expected more than {} (first {} and last {} are protected)",
                    n_prompt(), settings_.selector_options.n_sink + settings_.selector_options.window,
                    settings_.selector_options.n_sink, settings_.selector_options.window));
  }
  std::vector<double> fractions = settings_.curve_fractions;
  fractions.insert(fractions.end(), settings_.head_fractions.begin(), settings_.head_fractions.end());
  for (double fraction : fractions) {
    const auto rows = static_cast<int64_t>(std::floor(fraction * static_cast<double>(n_prompt()) + 1e-9));
    const int64_t at_least = selector_->protected_rows().count() + 1;
    if (rows < at_least) {
      return fail(
          fmt::format("a kept fraction of {:g}% is {} of {} rows, expected at least {} (the protected rows and one)",
                      fraction * 100, rows, n_prompt(), at_least));
    }
  }
  return ok_status();
}

Status SampleProfiler::prefill_full() {
  const std::vector<KvFormat> formats(static_cast<size_t>(config_.n_layer), prefill_format(settings_.kv_format));
  keep_.resize(settings_.curve_fractions.size());
  head_keep_.resize(settings_.head_fractions.size());
  PrefillRequest request;
  request.tokens = sample_.ids;
  request.cache = &cache_;
  request.formats = formats;
  request.extra_rows = settings_.n_answer;
  request.n_chunk = n_chunk_;
  const bool compresses = !keep_.empty() || !head_keep_.empty();
  if (compresses) request.n_query = selector_->n_query(n_prompt());
  request.on_layer = [&](int il, LayerCache& layer, const ViewLayer& view) -> Status {
    if (config_.window_of(il) > 0) {
      for (auto& keep : keep_) keep.emplace_back();
      for (auto& keep : head_keep_) keep.emplace_back();
    } else if (compresses) {
      RKV_ASSIGN_OR_RETURN(const LayerView seen, view(selector_->needs(), request.n_query));
      const std::vector<float> scores = score_parts(*selector_, seen.taps);
      const auto rows_of = [&](double fraction) {
        return static_cast<int64_t>(std::floor(fraction * static_cast<double>(n_prompt()) + 1e-9));
      };
      const auto keep_of = [&](int64_t rows) {
        return prune_heads(scores, layer.head_rows(),
                           std::vector<int64_t>(static_cast<size_t>(config_.n_head_kv), rows),
                           selector_->protected_rows(), settings_.selector_options.head_floor);
      };
      for (size_t f = 0; f < keep_.size(); ++f) keep_[f].push_back(keep_of(rows_of(settings_.curve_fractions[f])));
      for (size_t f = 0; f < head_keep_.size(); ++f) {
        // A layer holds a multiple of n_head_kv rows, so what one head alone drops is one, too: up to n_head_kv - 1
        // more than asked for, or fewer where that would leave it none beside the protected ones.
        int64_t rows = rows_of(settings_.head_fractions[f]);
        rows -= config_.n_head_kv - 1 - (n_prompt() - rows - 1) % config_.n_head_kv;
        if (rows <= selector_->protected_rows().count()) rows += config_.n_head_kv;
        head_keep_[f].push_back(keep_of(rows));
      }
    }
    if (layer.format() == settings_.kv_format) return ok_status();
    RKV_ASSIGN_OR_RETURN(layer, layer.gather(layer.all_rows(), settings_.kv_format, settings_.n_answer));
    return ok_status();
  };
  const int64_t before = n_done_;
  request.on_progress = [&](int64_t done, int64_t) {
    n_done_ = before + done;
    if (on_progress_) on_progress_(n_done_, n_total_);
  };
  RKV_ASSIGN_OR_RETURN(last_logits_, prefill(forward_, request));
  return ok_status();
}

// The answer, then one teacher-forced pass over it: reference distributions and the input of every layer. The pass has
// the shape of the passes it is compared with, so that an unchanged cache has a KL of exactly 0.
Status SampleProfiler::continue_full() {
  const KvSnapshot after_prompt = cache_.snapshot();
  answer_ = sample_.answer;
  if (static_cast<int64_t>(answer_.size()) > settings_.n_answer)
    answer_.resize(static_cast<size_t>(settings_.n_answer));
  if (answer_.empty()) {
    std::vector<float> logits = last_logits_;
    const int32_t row = 0;
    while (true) {
      answer_.push_back(argmax(logits));
      if (static_cast<int>(answer_.size()) == settings_.n_answer) break;
      ForwardBatch batch;
      batch.segments = {{&cache_, 1, n_prompt() + static_cast<int64_t>(answer_.size()) - 1}};
      batch.layer_end = config_.n_layer;
      batch.tokens = {&answer_.back(), 1};
      batch.logits_of = {&row, 1};
      batch.logits = &logits;
      RKV_RETURN_IF_ERROR(forward_.run(batch));
      advance(config_.n_layer);
    }
    RKV_RETURN_IF_ERROR(cache_.restore(after_prompt));
  }

  const std::vector<TensorSpec> specs(static_cast<size_t>(config_.n_layer),
                                      TensorSpec{GGML_TYPE_F32, {config_.n_embd, n_fed(), 1, 1}});
  RKV_ASSIGN_OR_RETURN(inputs_, forward_.scratch(specs));
  RKV_ASSIGN_OR_RETURN(output_, forward_.scratch(std::span(specs).first(1)));
  std::vector<ggml_tensor*> inputs;
  for (size_t il = 0; il < specs.size(); ++il) inputs.push_back(inputs_->tensor(il));
  rows_.resize(static_cast<size_t>(n_fed()));
  std::iota(rows_.begin(), rows_.end(), 0);
  ForwardBatch batch;
  batch.segments = {{&cache_, n_fed(), n_prompt()}};
  batch.layer_end = config_.n_layer;
  batch.tokens = std::span<const int32_t>(answer_).first(rows_.size());
  batch.logits_of = rows_;
  batch.logits = &reference_;
  batch.layer_inputs = inputs;
  RKV_RETURN_IF_ERROR(forward_.run(batch));
  advance(config_.n_layer * n_fed());
  return cache_.restore(after_prompt);
}

// Layers il.. over the answer, from the stored input of layer il; the KL to the reference. Rows written are forgotten.
Result<double> SampleProfiler::continue_from(int il) {
  std::vector<float> logits;
  ForwardBatch batch;
  batch.segments = {{&cache_, n_fed(), n_prompt()}};
  batch.layer_begin = il;
  batch.layer_end = config_.n_layer;
  batch.hidden_in = inputs_->tensor(static_cast<size_t>(il));
  batch.logits_of = rows_;
  batch.logits = &logits;
  RKV_RETURN_IF_ERROR(forward_.run(batch));
  for (int layer = il; layer < config_.n_layer; ++layer) {
    LayerCache& rows = cache_.layer(layer);
    rows.truncate(rows.n_rows() - n_fed());
  }
  advance((config_.n_layer - il) * n_fed());
  return mean_kl(reference_, logits, config_.n_vocab);
}

// How far layer il alone moves what it hands on, relative to it. Rows written are forgotten.
Result<double> SampleProfiler::local_change(int il) {
  ForwardBatch batch;
  batch.segments = {{&cache_, n_fed(), n_prompt()}};
  batch.layer_begin = il;
  batch.layer_end = il + 1;
  batch.hidden_in = inputs_->tensor(static_cast<size_t>(il));
  batch.hidden_out = output_->tensor(0);
  RKV_RETURN_IF_ERROR(forward_.run(batch));
  cache_.layer(il).truncate(cache_.layer(il).n_rows() - n_fed());
  advance(n_fed());
  std::vector<float> moved(static_cast<size_t>(config_.n_embd * n_fed()));
  ggml_backend_tensor_get(output_->tensor(0), moved.data(), 0, moved.size() * sizeof(float));
  if (untouched_output_.size() == moved.size()) {
    double change = 0;
    double norm = 0;
    for (size_t i = 0; i < moved.size(); ++i) {
      const double difference = static_cast<double>(moved[i]) - untouched_output_[i];
      change += difference * difference;
      norm += static_cast<double>(untouched_output_[i]) * untouched_output_[i];
    }
    return norm > 0 ? std::sqrt(change / norm) : 0;
  }
  untouched_output_ = std::move(moved);
  return 0.0;
}

Result<SampleProfiler::Moved> SampleProfiler::nudged(int il, int repeat) {
  LayerCache& layer = cache_.layer(il);
  const std::vector<uint8_t> untouched = layer.read_v_bytes();
  std::vector<float> v = layer.read_v();
  nudge(v, config_.head_dim, layer.n_rows(), config_.n_head_kv, nudge_rows_, settings_.eps,
        seed_from(settings_.seed, il, repeat),
        settings_.direction == "head" ? NudgeDirection::kHead : NudgeDirection::kRow);
  if (repeat == 0) {  // what the layer hands on untouched, computed alike
    untouched_output_.clear();
    RKV_RETURN_IF_ERROR(local_change(il).status());
  }
  layer.write_v(v);
  Moved moved;
  RKV_ASSIGN_OR_RETURN(moved.local, local_change(il));
  RKV_ASSIGN_OR_RETURN(moved.kl, continue_from(il));
  layer.write_v_bytes(untouched);
  return moved;
}

Result<double> SampleProfiler::damage(int il, size_t fraction, const KvFormat& format) {
  LayerCache& layer = cache_.layer(il);
  const KeepList keep = config_.window_of(il) > 0 ? layer.all_rows() : keep_[fraction][static_cast<size_t>(il)];
  return with_layer(il, layer.gather(keep, format));
}

// One head compressed, the others of its layer with all their rows.
Result<double> SampleProfiler::head_damage(int il, int head, size_t fraction) {
  LayerCache& layer = cache_.layer(il);
  KeepList keep = layer.all_rows();
  const auto of = static_cast<size_t>(head);
  keep[of] = head_keep_[fraction][static_cast<size_t>(il)][of];
  return with_layer(il, layer.gather(keep, settings_.kv_format));
}

// The KL of a cache with this layer in place of layer il, which comes back.
Result<double> SampleProfiler::with_layer(int il, Result<LayerCache> changed) {
  if (!changed.ok()) return changed.status();
  LayerCache& layer = cache_.layer(il);
  std::swap(layer, *changed);
  Result<double> kl = continue_from(il);
  std::swap(layer, *changed);
  return kl;
}

Result<ProfileSample> SampleProfiler::run() {
  RKV_RETURN_IF_ERROR(check());
  const int64_t n_layer = config_.n_layer;
  const auto n_answer = sample_.answer.empty()
                            ? int64_t{settings_.n_answer}
                            : std::min<int64_t>(settings_.n_answer, static_cast<int64_t>(sample_.answer.size()));
  const std::vector<KvFormat> formats = settings_.formats_of_curves();
  const size_t n_fraction = settings_.curve_fractions.size();
  int64_t n_again = 0;  // layers run again, over all changes of all layers
  for (int64_t il = 0; il < n_layer; ++il) {
    if (config_.window_of(static_cast<int>(il)) == 0) {
      const auto n_head_point = static_cast<int64_t>(settings_.head_fractions.size()) * config_.n_head_kv;
      n_again += (settings_.n_repeat + n_head_point) * (n_layer - il) + settings_.n_repeat + 1;
    }
    for (size_t point = 0; point < settings_.n_curve_point(); ++point) {
      if (changes(static_cast<int>(il), point)) n_again += n_layer - il;
    }
  }
  n_total_ = n_layer * n_prompt() + (sample_.answer.empty() ? n_layer * (n_answer - 1) : 0) + n_layer * (n_answer - 1) +
             n_again * (n_answer - 1);
  RKV_RETURN_IF_ERROR(prefill_full());
  RKV_RETURN_IF_ERROR(continue_full());

  ProfileSample result;
  result.id = sample_.id;
  result.content_hash = content_hash(sample_);
  result.n_prompt = n_prompt();
  result.n_answer = static_cast<int>(n_fed());
  result.sensitivity.assign(static_cast<size_t>(settings_.n_repeat), {});
  result.local_response.assign(static_cast<size_t>(settings_.n_repeat), {});
  result.damage.assign(settings_.n_curve_point(), {});
  result.head_damage.assign(settings_.head_fractions.size(), {});
  for (int il = 0; il < config_.n_layer; ++il) {
    const bool slides = config_.window_of(il) > 0;  // outside every budget: not nudged
    for (int repeat = 0; repeat < settings_.n_repeat; ++repeat) {
      RKV_ASSIGN_OR_RETURN(const Moved moved, slides ? Result<Moved>(Moved{}) : nudged(il, repeat));
      result.sensitivity[static_cast<size_t>(repeat)].push_back(moved.kl);
      result.local_response[static_cast<size_t>(repeat)].push_back(moved.local);
    }
    for (size_t point = 0; point < settings_.n_curve_point(); ++point) {
      RKV_ASSIGN_OR_RETURN(const double kl, changes(il, point)
                                                ? damage(il, point % n_fraction, formats[point / n_fraction])
                                                : Result<double>(0.0));
      result.damage[point].push_back(kl);
    }
    for (size_t f = 0; f < settings_.head_fractions.size(); ++f) {
      for (int head = 0; head < config_.n_head_kv; ++head) {
        RKV_ASSIGN_OR_RETURN(const double kl, slides ? Result<double>(0.0) : head_damage(il, head, f));
        result.head_damage[f].push_back(kl);
      }
    }
  }
  return result;
}

}  // namespace

std::string content_hash(const ProfilerSample& sample) {
  Hasher hasher;
  for (const auto* ids : {&sample.ids, &sample.answer}) {
    const auto n = static_cast<uint64_t>(ids->size());
    hasher.update(&n, sizeof(n));
    hasher.update(ids->data(), ids->size() * sizeof(int32_t));
  }
  return hasher.digest();
}

Result<ProfileSample> profile_sample(Forward& forward, const ProfileSettings& settings, const ProfilerSample& sample,
                                     int n_chunk, const std::function<void(int64_t, int64_t)>& on_progress,
                                     int64_t& n_forward_tokens) {
  SampleProfiler profiler(forward, settings, sample, n_chunk, on_progress);
  Result<ProfileSample> result = profiler.run();
  n_forward_tokens += profiler.n_forward_tokens();
  return result;
}

}  // namespace ripplekv
