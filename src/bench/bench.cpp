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
#include "engine/machine.h"
#include "engine/prefilled.h"

namespace ripplekv {
namespace {

constexpr std::string_view kPeer = "llama.cpp";
constexpr int64_t kShortPrompt = 32;  // tokens of first_token
constexpr double kHopeless = 1.1;  // a setting of the peer that takes this many times its best time is not tried again

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// One that takes part in the rounds.
struct Contestant {
  std::function<Result<double>()> seconds_of_a_run;
  const LlamaSetting* setting = nullptr;  // of the peer; ours have none
  std::vector<double> seconds;
  bool out = false;
};

Result<CachePlan> plan_of(const BenchVariant& variant, const Model& model, int64_t n_prompt) {
  const ModelConfig& config = model.config();
  if (variant.policy.allocator == "full") return plan_full(config, n_prompt, variant.policy.kv_format);
  const auto with_context = [&](const Status& status) {
    return status.with_context(
        fmt::format("{} at {} of {} tokens", variant.name, variant.policy.budget.to_string(), n_prompt));
  };
  const Result<Budgets> budgets =
      make_budgets(model.id(), variant.policy, variant.profile, {config.layer_shape(), n_prompt});
  if (!budgets.ok()) return with_context(budgets.status());
  Result<CachePlan> plan = plan_cache(*budgets, config, n_prompt);
  return plan.ok() ? std::move(plan) : Result<CachePlan>(with_context(plan.status()));
}

BenchRecord record_of(std::string work, int64_t context, const BenchVariant& variant) {
  BenchRecord record;
  record.work = std::move(work);
  record.context = context;
  record.policy = variant.name;
  record.budget = variant.policy.allocator == "full" ? "100%" : variant.policy.budget.to_string();
  record.format = variant.policy.kv_format;
  return record;
}

void note_cache(BenchRecord& record, int64_t kv_bytes, int64_t rows, int n_layer) {
  record.kv_bytes = kv_bytes;
  record.rows_per_layer = static_cast<double>(rows) / n_layer;
}

void note_cache(BenchRecord& record, const Sequence& sequence) {
  note_cache(record, sequence.cache.bytes().total(), sequence.cache.n_rows(), sequence.cache.n_layer());
}

const BenchVariant kFullF16 = [] {
  BenchVariant variant;
  variant.name = variant.policy.allocator = "full";
  return variant;
}();

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}

  Result<std::vector<BenchRecord>> run() {
    RKV_ASSIGN_OR_RETURN(const nlohmann::json n_variant, run_apart([this] { return check(); }));
    n_variant_ = n_variant.get<int64_t>();
    count_runs();
    if (options_.first_token) RKV_RETURN_IF_ERROR(time_first_token());
    if (options_.memory) {
      for (const int64_t n : options_.contexts) RKV_RETURN_IF_ERROR(weigh(n));
    }
    if (options_.prefill || options_.decode) RKV_RETURN_IF_ERROR(time_speeds());
    const std::vector<BenchRecord> comparisons = own_comparisons(records_);
    records_.insert(records_.end(), comparisons.begin(), comparisons.end());
    return std::move(records_);
  }

 private:
  static std::vector<const LlamaSetting*> f16_settings() {
    std::vector<const LlamaSetting*> settings;
    for (const LlamaSetting& setting : llama_settings()) {
      if (setting.format == KvFormat{}) settings.push_back(&setting);
    }
    return settings;
  }

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
        if (bytes > available) return refuse(fmt::format("{} ({})", kPeer, setting.name), bytes);
      }
    }
    return nlohmann::json(variants.size());
  }

  // Every other round backwards, so that nobody always runs behind the same one.
  Status hold_rounds(std::vector<Contestant>& contestants) {
    for (int round = 0; round < options_.n_repeat; ++round) {
      for (size_t i = 0; i < contestants.size(); ++i) {
        Contestant& next = contestants[round % 2 == 0 ? i : contestants.size() - 1 - i];
        if (!next.out) {
          RKV_ASSIGN_OR_RETURN(const double seconds, next.seconds_of_a_run());
          next.seconds.push_back(seconds);
        }
        done_one();
      }
      if (round > 0) continue;
      const Contestant* best = best_of_peer(contestants);
      for (Contestant& other : contestants) {
        other.out = other.setting != nullptr && other.seconds[0] > kHopeless * best->seconds[0];
      }
    }
    return ok_status();
  }

  // Null without a peer.
  static const Contestant* best_of_peer(const std::vector<Contestant>& contestants) {
    const Contestant* best = nullptr;
    for (const Contestant& of : contestants) {
      if (of.setting == nullptr || of.out) continue;
      if (best == nullptr || median_of(of.seconds) < median_of(best->seconds)) best = &of;
    }
    return best;
  }

  // contestants: one for each record, then the peer's settings.
  void note_times(const std::vector<Contestant>& contestants, std::vector<BenchRecord>& records) {
    const Contestant* best = best_of_peer(contestants);
    for (size_t i = 0; i < records.size(); ++i) {
      BenchRecord& record = records[i];
      record.seconds = contestants[i].seconds;
      if (best != nullptr) {
        record.peer = kPeer;
        record.peer_setting = best->setting->name;
        record.peer_seconds = best->seconds;
        for (const Contestant& of : contestants) {
          if (of.setting == nullptr) continue;
          BenchRecord with_setting = record;
          with_setting.peer_seconds = of.seconds;
          record.peer_settings.emplace_back(of.setting->name, with_setting.peer_figure());
        }
      }
      records_.push_back(std::move(record));
    }
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
    RKV_RETURN_IF_ERROR(hold_rounds(contestants));
    std::vector<BenchRecord> records = {record_of("first_token", kShortPrompt, kFullF16)};
    records[0].rows_per_layer = static_cast<double>(kShortPrompt);
    note_times(contestants, records);
    return ok_status();
  }

  struct Weight {
    int64_t peak = 0;
    int64_t above_weights = 0;
  };

  // Peak of what `work` does after `load`, in a process of its own. Above the weights: without mapped files, which by
  // the end are all in memory, and without what loading allocated.
  static Result<nlohmann::json> weigh_apart(const std::function<Status()>& load,
                                            const std::function<Result<nlohmann::json>()>& work) {
    return run_apart([&]() -> Result<nlohmann::json> {
      RKV_RETURN_IF_ERROR(load());
      forget_peak_resident();
      const int64_t loaded = resident_bytes().anonymous;
      RKV_ASSIGN_OR_RETURN(nlohmann::json json, work());
      const ResidentBytes bytes = resident_bytes();
      json["peak"] = bytes.peak;
      json["above_weights"] = bytes.peak - bytes.file - loaded;
      return json;
    });
  }

  // What prefilling n tokens and beginning to decode takes.
  Status weigh(int64_t n) {
    std::vector<BenchRecord> records;
    for (int64_t i = 0; i < n_variant_; ++i) {
      std::unique_ptr<Engine> engine;
      const auto load = [&]() -> Status {
        RKV_ASSIGN_OR_RETURN(engine, options_.load());
        return ok_status();
      };
      RKV_ASSIGN_OR_RETURN(
          const nlohmann::json json, weigh_apart(load, [&]() -> Result<nlohmann::json> {
            const Model& model = engine->model();
            RKV_ASSIGN_OR_RETURN(const auto variants, options_.make_variants(model));
            const BenchVariant& variant = variants[static_cast<size_t>(i)];
            RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_of(variant, model, n));
            RKV_ASSIGN_OR_RETURN(const auto tokens, options_.make_tokens(model, n));
            // So that all weights are in memory when the peak is reached, as they are for the peer.
            RKV_RETURN_IF_ERROR(
                engine->prefill(std::span(tokens).first(1), plan_full(model.config(), 1, KvFormat{})).status());
            RKV_ASSIGN_OR_RETURN(Sequence sequence, engine->prefill(tokens, plan, {.n_decode = 1}));
            const DecodeStep step = {&sequence, tokens[0]};
            RKV_RETURN_IF_ERROR(engine->decode({&step, 1}));
            return nlohmann::json{{"kv_bytes", sequence.cache.bytes().total()},
                                  {"rows", plan.total_rows()},
                                  {"name", variant.name},
                                  {"budget", variant.policy.budget.to_string()},
                                  {"full", variant.policy.allocator == "full"},
                                  {"k", static_cast<int>(variant.policy.kv_format.k)},
                                  {"v", static_cast<int>(variant.policy.kv_format.v)},
                                  {"n_layer", model.config().n_layer}};
          }));
      BenchRecord& record = records.emplace_back();
      record.work = "memory";
      record.context = n;
      record.policy = json["name"];
      record.budget = json["full"].get<bool>() ? "100%" : json["budget"].get<std::string>();
      record.format = {static_cast<KvType>(json["k"].get<int>()), static_cast<KvType>(json["v"].get<int>())};
      note_cache(record, json["kv_bytes"], json["rows"], json["n_layer"]);
      record.peak_bytes = json["peak"];
      record.above_weights = json["above_weights"];
      done_one();
    }
    RKV_RETURN_IF_ERROR(weigh_peer(n, records));
    records_.insert(records_.end(), records.begin(), records.end());
    return ok_status();
  }

  Status weigh_peer(int64_t n, std::vector<BenchRecord>& records) {
    if (!options_.peer) return ok_status();
    for (const LlamaSetting* setting : f16_settings()) {
      std::unique_ptr<LlamaPeer> peer;
      const auto load = [&]() -> Status {
        RKV_ASSIGN_OR_RETURN(peer, LlamaPeer::load(*options_.peer));
        return ok_status();
      };
      RKV_ASSIGN_OR_RETURN(
          const nlohmann::json json, weigh_apart(load, [&]() -> Result<nlohmann::json> {
            RKV_RETURN_IF_ERROR(peer->prefill_end(std::vector<int32_t>(static_cast<size_t>(n), 1), *setting));
            return nlohmann::json::object();
          }));
      const auto above_weights = json["above_weights"].get<int64_t>();
      for (BenchRecord& record : records) {
        record.peer = kPeer;
        record.peer_settings.emplace_back(setting->name, static_cast<double>(above_weights));
        if (record.peer_setting.empty() || above_weights < record.peer_above_weights) {
          record.peer_setting = setting->name;
          record.peer_peak_bytes = json["peak"];
          record.peer_above_weights = above_weights;
        }
      }
      done_one();
    }
    return ok_status();
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
        note_cache(records[i], sequence);
        compress_seconds[i].push_back(sequence.receipt.compress_seconds);
        return seconds;
      }});
    }
    add_peer(contestants, [this, n](const LlamaSetting& setting) { return peer_->prefill(prompt(n), setting); });
    RKV_RETURN_IF_ERROR(hold_rounds(contestants));
    for (size_t i = 0; i < variants_.size(); ++i) records[i].compress_seconds = median_of(compress_seconds[i]);
    note_times(contestants, records);
    return ok_status();
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
        note_cache(records[i], sequence);
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
    RKV_RETURN_IF_ERROR(hold_rounds(contestants));
    note_times(contestants, records);
    return ok_status();
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

Result<std::vector<BenchRecord>> run_bench(const BenchOptions& options) { return Bench(options).run(); }

}  // namespace ripplekv
