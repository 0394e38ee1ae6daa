// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/apart.h"
#include "bench/rounds.h"
#include "bench/weigh.h"
#include "engine/machine.h"
#include "engine/prefilled.h"

namespace ripplekv {
namespace {

constexpr int64_t kShortPrompt = 32;  // tokens of first_token

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

const BenchVariant kFullF16 = [] {
  BenchVariant variant;
  variant.name = variant.policy.allocator = "full";
  return variant;
}();

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}

  Status run() {
    RKV_ASSIGN_OR_RETURN(const nlohmann::json n_variant, run_apart([this] { return check(); }));
    n_variant_ = n_variant.get<int64_t>();
    count_runs();
    if (options_.first_token) RKV_RETURN_IF_ERROR(time_first_token());
    if (options_.memory) {
      for (const int64_t n : options_.contexts) {
        RKV_ASSIGN_OR_RETURN(const auto weighed, weigh(options_, n, n_variant_, [this] { done_one(); }));
        records_.insert(records_.end(), weighed.begin(), weighed.end());
        RKV_RETURN_IF_ERROR(publish());
      }
    }
    if (options_.prefill || options_.decode) RKV_RETURN_IF_ERROR(time_speeds());
    return ok_status();
  }

 private:
  void count_runs() {
    const auto n_repeat = static_cast<int64_t>(options_.n_repeat);
    const auto n_setting = options_.peer ? static_cast<int64_t>(llama_settings().size()) : 0;
    const auto n_context = static_cast<int64_t>(options_.contexts.size());
    const int64_t n_speed = (options_.prefill ? 1 : 0) + (options_.decode ? 1 : 0);
    n_total_ = n_context * n_speed * n_repeat * (n_variant_ + n_setting);
    if (options_.first_token) n_total_ += n_repeat * (1 + n_setting);
    if (options_.memory) {
      n_total_ += n_context * (n_variant_ + (options_.peer ? static_cast<int64_t>(f16_settings().size()) : 0));
    }
  }

  // Everything so far, the work at hand included.
  Status publish(const std::vector<BenchRecord>& at_hand = {}) const {
    std::vector<BenchRecord> records = records_;
    records.insert(records.end(), at_hand.begin(), at_hand.end());
    const std::vector<BenchRecord> comparisons = own_comparisons(records);
    records.insert(records.end(), comparisons.begin(), comparisons.end());
    return options_.on_records(records);
  }

  void note(BenchRecord& record, const Sequence& sequence) const {
    note_cache(record, sequence.cache.bytes().total(), sequence.cache.n_rows(), engine_->model().config());
  }

  // The rounds of one work; records have its caches, and may be completed by the runs.
  Status time(std::vector<Contestant>& contestants, const std::vector<BenchRecord>& records) {
    RKV_RETURN_IF_ERROR(hold_rounds(
        contestants, options_.n_repeat, [this] { done_one(); },
        [&] { return publish(with_times(records, contestants)); }));
    const std::vector<BenchRecord> timed = with_times(records, contestants);
    records_.insert(records_.end(), timed.begin(), timed.end());
    return ok_status();
  }

  void done_one() {
    ++n_done_;
    if (options_.on_progress) options_.on_progress(n_done_, n_total_);
  }

  // The number of variants, if everything that is asked for can be planned and fits.
  Result<nlohmann::json> check() const {
    RKV_ASSIGN_OR_RETURN(const auto engine, options_.load());
    RKV_ASSIGN_OR_RETURN(const auto variants, options_.make_variants(engine->model()));
    const ModelConfig& config = engine->model().config();
    const int64_t available = available_memory();
    for (const int64_t n : options_.contexts) {
      const auto refuse = [&](const std::string& who, int64_t bytes) {
        return resource_exhausted(
            fmt::format("--contexts: a prompt of {} tokens needs {} of memory with {}, {} are free", n,
                        human_bytes(bytes), who, human_bytes(available)));
      };
      const MemoryForecast full = forecast_memory(plan_full(config, n, KvFormat{}), config, options_.n_decode + 1);
      for (const BenchVariant& variant : variants) {
        RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_of(variant, engine->model(), n));
        RKV_RETURN_IF_ERROR(check_plan(plan, config));
        const MemoryForecast forecast = forecast_memory(plan, config, options_.n_decode + 1);
        // A fork stands beside the full cache it is made from.
        const int64_t beside = options_.decode ? full.kv_decode : 0;
        const int64_t bytes = beside + std::max(forecast.kv_peak, forecast.kv_decode) + forecast.scratch;
        if (bytes > available) return refuse(variant.name, bytes);
      }
      if (!options_.peer) continue;
      for (const LlamaSetting& setting : llama_settings()) {
        const int64_t bytes = LlamaPeer::bytes_needed(config, setting, n, options_.peer->n_ubatch);
        if (bytes > available) return refuse(fmt::format("{} ({})", kLlamaPeer, setting.name), bytes);
      }
    }
    return nlohmann::json(variants.size());
  }

  static Result<double> seconds_apart(const std::function<Status()>& work) {
    RKV_ASSIGN_OR_RETURN(const nlohmann::json seconds, run_apart([&]() -> Result<nlohmann::json> {
                           const auto begin = Clock::now();
                           RKV_RETURN_IF_ERROR(work());
                           return nlohmann::json(seconds_since(begin));
                         }));
    return seconds.get<double>();
  }

  Status time_first_token() {
    std::vector<Contestant> contestants;
    contestants.push_back({[this] {
      return seconds_apart([this]() -> Status {
        RKV_ASSIGN_OR_RETURN(const auto engine, options_.load());
        RKV_ASSIGN_OR_RETURN(const auto tokens, options_.make_tokens(engine->model(), kShortPrompt));
        return engine->prefill(tokens, plan_full(engine->model().config(), kShortPrompt, KvFormat{})).status();
      });
    }});
    add_peer(contestants, [this](const LlamaSetting& setting) {
      return seconds_apart([&]() -> Status {
        RKV_ASSIGN_OR_RETURN(const auto peer, LlamaPeer::load(*options_.peer));
        return peer->prefill(std::vector<int32_t>(kShortPrompt, 1), setting).status();
      });
    });
    std::vector<BenchRecord> records = {record_of("first_token", kShortPrompt, kFullF16)};
    records[0].rows_per_layer = static_cast<double>(kShortPrompt);
    return time(contestants, records);
  }

  Status time_speeds() {
    RKV_ASSIGN_OR_RETURN(engine_, options_.load());
    RKV_ASSIGN_OR_RETURN(variants_, options_.make_variants(engine_->model()));
    if (options_.peer) {
      RKV_ASSIGN_OR_RETURN(peer_, LlamaPeer::load(*options_.peer));
    }
    const int64_t longest = *std::max_element(options_.contexts.begin(), options_.contexts.end());
    RKV_ASSIGN_OR_RETURN(tokens_, options_.make_tokens(engine_->model(), longest + options_.n_decode + 1));
    RKV_RETURN_IF_ERROR(warm_up());
    for (const int64_t n : options_.contexts) {
      if (options_.prefill) RKV_RETURN_IF_ERROR(time_prefill(n));
      if (options_.decode) RKV_RETURN_IF_ERROR(time_decode(n));
    }
    return ok_status();
  }

  std::span<const int32_t> prompt(int64_t n) const { return std::span(tokens_).first(static_cast<size_t>(n)); }

  // Threads are started, weights in memory, buffers of one chunk allocated.
  Status warm_up() {
    const int64_t n = std::min<int64_t>(options_.contexts[0], engine_->n_chunk());
    RKV_RETURN_IF_ERROR(engine_->prefill(prompt(n), plan_full(engine_->model().config(), n, KvFormat{})).status());
    return peer_ ? peer_->prefill(prompt(n), llama_settings()[0]).status() : ok_status();
  }

  void add_peer(std::vector<Contestant>& contestants, std::function<Result<double>(const LlamaSetting&)> run) const {
    if (!options_.peer) return;
    for (const LlamaSetting& setting : llama_settings()) {
      contestants.push_back({[run, &setting] { return run(setting); }, &setting});
    }
  }

  Status time_prefill(int64_t n) {
    std::vector<BenchRecord> records;
    std::vector<Contestant> contestants;
    std::vector<std::vector<double>> compress_seconds(variants_.size());
    for (const BenchVariant& variant : variants_) records.push_back(record_of("prefill", n, variant));
    for (size_t i = 0; i < variants_.size(); ++i) {
      RKV_ASSIGN_OR_RETURN(CachePlan plan, plan_of(variants_[i], engine_->model(), n));
      records[i].n_token = n;
      contestants.push_back({[&, i, plan]() -> Result<double> {
        const auto begin = Clock::now();
        RKV_ASSIGN_OR_RETURN(const Sequence sequence, engine_->prefill(prompt(n), plan, {.n_decode = 1}));
        const double seconds = seconds_since(begin);
        note(records[i], sequence);
        compress_seconds[i].push_back(sequence.receipt.compress_seconds);
        records[i].compress_seconds = median_of(compress_seconds[i]);
        return seconds;
      }});
    }
    add_peer(contestants, [this, n](const LlamaSetting& setting) { return peer_->prefill(prompt(n), setting); });
    return time(contestants, records);
  }

  // A full cache in a format that prefill itself writes, from which variants are forked.
  struct Source {
    KvFormat format;
    PrefilledPrompt prompt;
  };

  Result<std::vector<Source>> prefill_for_forks(int64_t n) {
    std::vector<Source> sources;
    for (const BenchVariant& variant : variants_) {
      const KvFormat format = prefill_format(variant.policy.kv_format);
      if (source_of(sources, format) != nullptr) continue;
      std::vector<SelectorSpec> selectors;
      for (const BenchVariant& other : variants_) {
        const SelectorSpec spec = {other.policy.selector, other.policy.selector_options};
        if (other.policy.allocator != "full" && prefill_format(other.policy.kv_format) == format &&
            std::find(selectors.begin(), selectors.end(), spec) == selectors.end()) {
          selectors.push_back(spec);
        }
      }
      RKV_ASSIGN_OR_RETURN(
          PrefilledPrompt made,
          PrefilledPrompt::create(*engine_, prompt(n), selectors, plan_full(engine_->model().config(), n, format),
                                  options_.n_decode + 1));
      sources.push_back({format, std::move(made)});
    }
    return sources;
  }

  static const PrefilledPrompt* source_of(const std::vector<Source>& sources, const KvFormat& format) {
    for (const Source& source : sources) {
      if (source.format == format) return &source.prompt;
    }
    return nullptr;
  }

  Status time_decode(int64_t n) {
    RKV_ASSIGN_OR_RETURN(const std::vector<Source> sources, prefill_for_forks(n));
    const auto tokens = std::span(tokens_).subspan(static_cast<size_t>(n), static_cast<size_t>(options_.n_decode) + 1);
    std::vector<BenchRecord> records;
    std::vector<Contestant> contestants;
    for (const BenchVariant& variant : variants_) records.push_back(record_of("decode", n, variant));
    for (size_t i = 0; i < variants_.size(); ++i) {
      RKV_ASSIGN_OR_RETURN(CachePlan plan, plan_of(variants_[i], engine_->model(), n));
      const PrefilledPrompt* made = source_of(sources, prefill_format(variants_[i].policy.kv_format));
      records[i].n_token = options_.n_decode;
      contestants.push_back({[&, i, plan, made]() -> Result<double> {
        RKV_ASSIGN_OR_RETURN(Sequence sequence, made->fork(plan));
        note(records[i], sequence);
        auto begin = Clock::now();
        for (size_t t = 0; t < tokens.size(); ++t) {
          const DecodeStep step = {&sequence, tokens[t]};
          RKV_RETURN_IF_ERROR(engine_->decode({&step, 1}));
          if (t == 0) begin = Clock::now();  // the first makes room for the others and plans the graph
        }
        return seconds_since(begin);
      }});
    }
    add_peer(contestants, [&](const LlamaSetting& setting) { return peer_->decode(prompt(n), tokens, setting); });
    return time(contestants, records);
  }

  const BenchOptions& options_;
  std::vector<BenchRecord> records_;
  std::unique_ptr<Engine> engine_;
  std::vector<BenchVariant> variants_;
  std::unique_ptr<LlamaPeer> peer_;
  std::vector<int32_t> tokens_;
  int64_t n_variant_ = 0;
  int64_t n_done_ = 0;
  int64_t n_total_ = 0;
};

}  // namespace

Status run_bench(const BenchOptions& options) { return Bench(options).run(); }

}  // namespace ripplekv
