// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/weigh.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "bench/apart.h"
#include "bench/rounds.h"
#include "engine/machine.h"

namespace ripplekv {
namespace {

// Peak of what `work` does after `load`, in a process of its own. Above the weights: without mapped files, which by
// the end are all in memory, and without what loading allocated.
Result<nlohmann::json> weigh_apart(const std::function<Status()>& load,
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

Result<BenchRecord> weigh_variant(const BenchOptions& options, int64_t n, size_t i) {
  std::unique_ptr<Engine> engine;
  const auto load = [&]() -> Status {
    RKV_ASSIGN_OR_RETURN(engine, options.load());
    return ok_status();
  };
  RKV_ASSIGN_OR_RETURN(
      const nlohmann::json json, weigh_apart(load, [&]() -> Result<nlohmann::json> {
        const Model& model = engine->model();
        RKV_ASSIGN_OR_RETURN(const auto variants, options.make_variants(model));
        const BenchVariant& variant = variants[i];
        RKV_ASSIGN_OR_RETURN(const CachePlan plan, plan_of(variant, model, n));
        RKV_ASSIGN_OR_RETURN(const auto tokens, options.make_tokens(model, n));
        // So that all weights are in memory when the peak is reached, as they are for the peer.
        RKV_RETURN_IF_ERROR(
            engine->prefill(std::span(tokens).first(1), plan_full(model.config(), 1, KvFormat{})).status());
        RKV_ASSIGN_OR_RETURN(Sequence sequence, engine->prefill(tokens, plan, {.n_decode = 1}));
        const DecodeStep step = {&sequence, tokens[0]};
        RKV_RETURN_IF_ERROR(engine->decode({&step, 1}));
        BenchRecord record = record_of("memory", n, variant);
        note_cache(record, sequence.cache.bytes().total(), plan.total_rows(), model.config());
        return nlohmann::json{{"policy", record.policy},
                              {"budget", record.budget},
                              {"k", static_cast<int>(record.format.k)},
                              {"v", static_cast<int>(record.format.v)},
                              {"auto_format", record.auto_format},
                              {"kv_bytes", record.kv_bytes},
                              {"rows_per_layer", record.rows_per_layer},
                              {"held", record.held}};
      }));
  BenchRecord record;
  record.work = "memory";
  record.context = n;
  record.policy = json["policy"];
  record.budget = json["budget"];
  record.format = {static_cast<KvType>(json["k"].get<int>()), static_cast<KvType>(json["v"].get<int>())};
  record.auto_format = json["auto_format"];
  record.kv_bytes = json["kv_bytes"];
  record.rows_per_layer = json["rows_per_layer"];
  record.held = json["held"];
  record.peak_bytes = json["peak"];
  record.above_weights = json["above_weights"];
  return record;
}

Status weigh_peer(const LlamaPeerOptions& options, int64_t n, const LlamaSetting& setting,
                  std::vector<BenchRecord>& records) {
  std::unique_ptr<LlamaPeer> peer;
  const auto load = [&]() -> Status {
    RKV_ASSIGN_OR_RETURN(peer, LlamaPeer::load(options));
    return ok_status();
  };
  RKV_ASSIGN_OR_RETURN(
      const nlohmann::json json, weigh_apart(load, [&]() -> Result<nlohmann::json> {
        RKV_RETURN_IF_ERROR(peer->prefill_end(std::vector<int32_t>(static_cast<size_t>(n), 1), setting));
        return nlohmann::json::object();
      }));
  const auto above_weights = json["above_weights"].get<int64_t>();
  for (BenchRecord& record : records) {
    record.peer = kLlamaPeer;
    record.peer_settings.emplace_back(setting.name, static_cast<double>(above_weights));
    if (record.peer_setting.empty() || above_weights < record.peer_above_weights) {
      record.peer_setting = setting.name;
      record.peer_peak_bytes = json["peak"];
      record.peer_above_weights = above_weights;
    }
  }
  return ok_status();
}

}  // namespace

std::vector<const LlamaSetting*> f16_settings() {
  std::vector<const LlamaSetting*> settings;
  for (const LlamaSetting& setting : llama_settings()) {
    if (setting.format == KvFormat{}) settings.push_back(&setting);
  }
  return settings;
}

Result<std::vector<BenchRecord>> weigh(const BenchOptions& options, int64_t n, int64_t n_variant,
                                       const std::function<void()>& on_run) {
  std::vector<BenchRecord> records;
  for (int64_t i = 0; i < n_variant; ++i) {
    RKV_ASSIGN_OR_RETURN(BenchRecord record, weigh_variant(options, n, static_cast<size_t>(i)));
    records.push_back(std::move(record));
    on_run();
  }
  if (!options.peer) return records;
  for (const LlamaSetting* setting : f16_settings()) {
    RKV_RETURN_IF_ERROR(weigh_peer(*options.peer, n, *setting, records));
    on_run();
  }
  return records;
}

}  // namespace ripplekv
