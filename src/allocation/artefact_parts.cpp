// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// JSON of the shared parts of the artefacts. Every member has a key of its own name; every key must be there
// unless it is said to be optional in docs/formats.md.
#include "allocation/artefact_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"

namespace ripplekv {
namespace {

constexpr int kIntMax = std::numeric_limits<int>::max();
constexpr int kIntMin = std::numeric_limits<int>::min();  // sign and parity are judged by make_selector(), once

}  // namespace

nlohmann::ordered_json to_json(const ModelId& model) {
  nlohmann::ordered_json json = {{"fingerprint", model.fingerprint},
                                 {"name", model.name},
                                 {"architecture", model.architecture},
                                 {"n_layer", model.n_layer}};
  if (!model.sliding_layers.empty()) {
    json["sliding_window"] = model.sliding_window;
    json["sliding_layers"] = model.sliding_layers;
  }
  if (model.layer != LayerShape{}) {
    json["head_dim"] = model.layer.head_dim;
    json["n_head_kv"] = model.layer.n_head_kv;
  }
  return json;
}

nlohmann::ordered_json to_json(const SelectorOptions& options) {
  nlohmann::ordered_json json = {{"window", options.window},
                                 {"kernel", options.kernel},
                                 {"pooling", options.pooling == Pooling::kMax ? "max" : "average"},
                                 {"group", options.group == GroupReduce::kMax ? "max" : "mean"},
                                 {"value_norm", options.value_norm},
                                 {"n_sink", options.n_sink},
                                 {"seed", options.seed}};
  if (options.head_floor != 1.0) json["head_floor"] = options.head_floor;
  return json;
}

Result<ModelId> read_model_id(const JsonObject& parent) {
  RKV_ASSIGN_OR_RETURN(const JsonObject object, parent.object("model"));
  ModelId model;
  RKV_ASSIGN_OR_RETURN(model.fingerprint, object.text("fingerprint"));
  RKV_ASSIGN_OR_RETURN(model.name, object.text("name"));
  RKV_ASSIGN_OR_RETURN(model.architecture, object.text("architecture"));
  RKV_ASSIGN_OR_RETURN(model.n_layer, object.small_integer("n_layer", 1, kLayersMax));
  if (object.has("head_dim") || object.has("n_head_kv")) {
    RKV_ASSIGN_OR_RETURN(model.layer.head_dim, object.small_integer("head_dim", 1, kIntMax));
    RKV_ASSIGN_OR_RETURN(model.layer.n_head_kv, object.small_integer("n_head_kv", 1, kIntMax));
  }
  if (!object.has("sliding_layers") && !object.has("sliding_window")) return model;
  RKV_ASSIGN_OR_RETURN(model.sliding_window, object.integer("sliding_window", 1, std::numeric_limits<int32_t>::max()));
  RKV_ASSIGN_OR_RETURN(const std::vector<double> layers, object.numbers("sliding_layers"));
  for (double layer : layers) {
    const int least = model.sliding_layers.empty() ? 0 : model.sliding_layers.back() + 1;
    if (!(layer >= least && layer < model.n_layer) || layer != std::floor(layer)) {
      return object.error("sliding_layers",
                          fmt::format("got layer {}, expected ascending ones of {}", layer, model.n_layer));
    }
    model.sliding_layers.push_back(static_cast<int>(layer));
  }
  if (layers.empty()) return object.error("sliding_layers", "got none, expected at least one beside sliding_window");
  return model;
}

Result<SelectorOptions> read_selector_options(const JsonObject& parent) {
  RKV_ASSIGN_OR_RETURN(const JsonObject object, parent.object("selector_options"));
  SelectorOptions options;
  RKV_ASSIGN_OR_RETURN(options.window, object.small_integer("window", kIntMin, kIntMax));
  RKV_ASSIGN_OR_RETURN(options.kernel, object.small_integer("kernel", kIntMin, kIntMax));
  RKV_ASSIGN_OR_RETURN(const std::string pooling, object.text("pooling"));
  if (pooling != "average" && pooling != "max") {
    return object.error("pooling", fmt::format("got {}, expected average or max", ripplekv::quoted(pooling)));
  }
  options.pooling = pooling == "max" ? Pooling::kMax : Pooling::kAverage;
  RKV_ASSIGN_OR_RETURN(const std::string group, object.text("group"));
  if (group != "mean" && group != "max") {
    return object.error("group", fmt::format("got {}, expected mean or max", ripplekv::quoted(group)));
  }
  options.group = group == "max" ? GroupReduce::kMax : GroupReduce::kMean;
  RKV_ASSIGN_OR_RETURN(options.value_norm, object.boolean("value_norm"));
  RKV_ASSIGN_OR_RETURN(options.n_sink, object.small_integer("n_sink", kIntMin, kIntMax));
  RKV_ASSIGN_OR_RETURN(options.seed, object.unsigned_integer("seed"));
  if (object.has("head_floor")) {
    RKV_ASSIGN_OR_RETURN(options.head_floor, object.number("head_floor"));
  }
  return options;
}

Result<KvType> read_kv_type(const JsonObject& parent, std::string_view key) {
  RKV_ASSIGN_OR_RETURN(const std::string name, parent.text(key));
  Result<KvType> type = parse_kv_type(name);
  if (!type.ok()) return parent.error(key, type.status().message());
  return type;
}

Status check_model_id(const ModelId& model) {
  if (!is_hash(model.fingerprint)) {
    return bad_key("model.fingerprint",
                   fmt::format("got {}, expected \"xxh3:\" and 32 hex digits", ripplekv::quoted(model.fingerprint)));
  }
  if (model.n_layer < 1 || model.n_layer > kLayersMax) {
    return bad_key("model.n_layer", fmt::format("got {}, expected 1 to {}", model.n_layer, kLayersMax));
  }
  if (model.sliding_layers.empty() != (model.sliding_window == 0) || model.sliding_window < 0) {
    return bad_key("model.sliding_window", fmt::format("got {} for {} layers, expected both or neither",
                                                       model.sliding_window, model.sliding_layers.size()));
  }
  const LayerShape& layer = model.layer;
  if (layer != LayerShape{} &&
      (layer.head_dim < 1 || layer.n_head_kv < 1 || int64_t{layer.head_dim} * layer.n_head_kv > kLayerWidthMax)) {
    return bad_key("model.n_head_kv",
                   fmt::format("got {} heads of {} values, expected at least 1 of each and at most {} in all",
                               layer.n_head_kv, layer.head_dim, kLayerWidthMax));
  }
  return ok_status();
}

Status check_selector(std::string_view selector, const SelectorOptions& options, std::string_view prefix) {
  const Status status = make_selector(selector, options).status();
  if (status.ok()) return status;
  // An unknown name fails with any options; what fails only with these options is their fault.
  const bool known = make_selector(selector, SelectorOptions{}).ok();
  return bad_key(fmt::format("{}{}", prefix, known ? "selector_options" : "selector"), status.message());
}

Status bad_key(std::string_view key, std::string_view message) {
  return invalid_argument(fmt::format("key {}: {}", ripplekv::quoted(key), message));
}

Status in_file(const Status& fault, std::string_view path) {
  return fault.ok() ? fault : data_loss(fmt::format("{}: {}", path, fault.message()));
}

}  // namespace ripplekv
