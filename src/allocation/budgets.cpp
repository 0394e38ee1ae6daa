// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// budgets.json to and from Budgets. What makes a Budgets valid is in check(), for the writer and the reader alike, so
// that whatever is written can be read back. The file holds shares (weights that sum to 1), as people compare those.
#include "ripplekv/budgets.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "allocation/artefact_parts.h"
#include "base/hash.h"
#include "base/json_file.h"
#include "base/text.h"

namespace ripplekv {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFormat = "ripplekv.budgets";
constexpr int kVersion = 1;
constexpr double kSumTolerance = 1e-6;       // of shares that a person may have typed
constexpr double kRoundingTolerance = 1e-9;  // of shares that a program computed
constexpr int kFloorExtraMax = 1 << 20;
constexpr std::string_view kOfBytes = "bytes";
constexpr std::string_view kOfRows = "rows";  // the default

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

Status check_sizes(const Budgets& budgets) {
  const auto n_layer = static_cast<size_t>(budgets.model.n_layer);
  if (budgets.weights.weights.size() != n_layer || budgets.kv_format.size() != n_layer) {
    return bad_key("layers", fmt::format("got {} weights and {} kv formats, expected {} of each, one per layer",
                                         budgets.weights.weights.size(), budgets.kv_format.size(), n_layer));
  }
  return ok_status();
}

Status check_heads(const Budgets& budgets) {
  if (budgets.head_shares.empty()) return ok_status();
  if (budgets.head_shares.size() != budgets.weights.weights.size()) {
    return bad_key("layers", fmt::format("got heads of {} layers, expected {}", budgets.head_shares.size(),
                                         budgets.weights.weights.size()));
  }
  for (size_t layer = 0; layer < budgets.head_shares.size(); ++layer) {
    const std::vector<double>& shares = budgets.head_shares[layer];
    if (shares.empty()) continue;
    const std::string key = fmt::format("layers[{}].heads", layer);
    if (budgets.model.layer == LayerShape{}) {
      return bad_key(key, fmt::format("got shares of {} heads, expected model.n_head_kv and model.head_dim with them",
                                      shares.size()));
    }
    if (std::cmp_not_equal(shares.size(), budgets.model.layer.n_head_kv)) {
      return bad_key(key, fmt::format("got shares of {} heads, expected {} (model.n_head_kv)", shares.size(),
                                      budgets.model.layer.n_head_kv));
    }
    for (double share : shares) {
      if (!(share >= 0 && share <= 1)) return bad_key(key, fmt::format("got a share of {}, expected 0 to 1", share));
    }
    if (const double sum = sum_of(shares); !(std::abs(sum - 1) <= kSumTolerance)) {
      return bad_key(key, fmt::format("the shares sum to {}, expected 1 (within {})", sum, kSumTolerance));
    }
  }
  return ok_status();
}

Status check(const Budgets& budgets) {
  RKV_RETURN_IF_ERROR(check_model_id(budgets.model));
  RKV_RETURN_IF_ERROR(check_sizes(budgets));
  const std::vector<double>& weights = budgets.weights.weights;
  for (size_t layer = 0; layer < weights.size(); ++layer) {
    if (!std::isfinite(weights[layer]) || weights[layer] < 0) {
      return bad_key(fmt::format("layers[{}].share", layer),
                     fmt::format("got {}, expected a finite number of at least 0", weights[layer]));
    }
  }
  if (const double sum = sum_of(weights); !(sum > 0) || !std::isfinite(sum)) {
    return bad_key("layers", fmt::format("the shares sum to {}, expected a finite sum above 0", sum));
  }
  RKV_RETURN_IF_ERROR(check_heads(budgets));
  if (!std::isfinite(budgets.weights.base_rows) || budgets.weights.base_rows < 0) {
    return bad_key("base_rows",
                   fmt::format("got {}, expected a finite number of at least 0", budgets.weights.base_rows));
  }
  if (budgets.rows_floor_extra < 1 || budgets.rows_floor_extra > kFloorExtraMax) {
    return bad_key("rows_floor_extra",
                   fmt::format("got {}, expected 1 to {}", budgets.rows_floor_extra, kFloorExtraMax));
  }
  if (budgets.allocator.empty()) return bad_key("allocator", "is empty, expected the allocator's name");
  if (const auto budget = parse_kv_budget(budgets.budget.to_string()); !budget.ok()) {
    return bad_key("budget", budget.status().message());
  }
  if (!budgets.profile_hash.empty() && !is_hash(budgets.profile_hash)) {
    return bad_key("profile_hash", fmt::format("got {}, expected \"xxh3:\" and 32 hex digits, or nothing",
                                               ripplekv::quoted(budgets.profile_hash)));
  }
  RKV_RETURN_IF_ERROR(check_selector(budgets.selector, budgets.selector_options, ""));
  if (budgets.selector == "full" && !(budgets.budget.kind == KvBudget::Kind::kFraction && budgets.budget.value >= 1)) {
    return bad_key("selector", fmt::format("got full, which keeps every row, beside a budget of {}, expected 100%",
                                           budgets.budget.to_string()));
  }
  return ok_status();
}

// Weights divided by their sum; weights that already are shares stay to the last bit, so that reading a file and
// writing it again changes nothing.
std::vector<double> shares_of(const std::vector<double>& weights) {
  std::vector<double> shares = weights;
  const double sum = sum_of(weights);
  if (std::abs(sum - 1) > kRoundingTolerance) {
    for (double& share : shares) share /= sum;
  }
  return shares;
}

Status read_layers(const JsonObject& root, Budgets& budgets) {
  RKV_ASSIGN_OR_RETURN(const std::vector<JsonObject> layers, root.objects("layers"));
  const auto n_layer = static_cast<size_t>(budgets.model.n_layer);
  if (layers.size() != n_layer) {
    return root.error("layers", fmt::format("got {} layers, expected {} (model.n_layer)", layers.size(), n_layer));
  }
  budgets.weights.weights.assign(n_layer, 0);
  budgets.kv_format.assign(n_layer, KvFormat{});
  std::vector<bool> seen(n_layer, false);
  for (const JsonObject& entry : layers) {
    RKV_ASSIGN_OR_RETURN(const int64_t index, entry.integer("layer", 0, budgets.model.n_layer - 1));
    const auto layer = static_cast<size_t>(index);
    if (seen[layer]) return entry.error("layer", fmt::format("got {} a second time, expected each layer once", layer));
    seen[layer] = true;
    RKV_ASSIGN_OR_RETURN(const double share, entry.number("share"));
    if (share < 0) return entry.error("share", fmt::format("got {}, expected a finite number of at least 0", share));
    budgets.weights.weights[layer] = share;
    RKV_ASSIGN_OR_RETURN(budgets.kv_format[layer].k, read_kv_type(entry, "k"));
    RKV_ASSIGN_OR_RETURN(budgets.kv_format[layer].v, read_kv_type(entry, "v"));
    if (!entry.has("heads")) continue;
    budgets.head_shares.resize(n_layer);
    RKV_ASSIGN_OR_RETURN(budgets.head_shares[layer], entry.numbers("heads"));
    if (budgets.head_shares[layer].empty()) {
      return entry.error("heads", "got none, expected a share for each KV head, or no such key: equal parts");
    }
  }
  const double sum = sum_of(budgets.weights.weights);
  if (!(std::abs(sum - 1) <= kSumTolerance)) {
    return root.error("layers", fmt::format("the shares sum to {}, expected 1 (within {})", sum, kSumTolerance));
  }
  return ok_status();
}

Status read_budget(const JsonObject& root, Budgets& budgets) {
  RKV_ASSIGN_OR_RETURN(const std::string text, root.text("budget"));
  const Result<KvBudget> parsed = parse_kv_budget(text);
  if (!parsed.ok()) return root.error("budget", parsed.status().message());
  budgets.budget = *parsed;
  if (root.has("budget_of")) {
    RKV_ASSIGN_OR_RETURN(const std::string of, root.text("budget_of"));
    if (of != kOfRows && of != kOfBytes) {
      return root.error("budget_of", fmt::format("got {}, expected rows or bytes", ripplekv::quoted(of)));
    }
    budgets.of_bytes = of == kOfBytes;
  }
  // Written for people beside the budget; someone who edits one and not the other is told.
  if (!root.has("kept_fraction")) return ok_status();
  RKV_ASSIGN_OR_RETURN(const double kept_fraction, root.number("kept_fraction"));
  if (parsed->kind != KvBudget::Kind::kFraction || std::abs(kept_fraction - parsed->value) > kRoundingTolerance) {
    return root.error("kept_fraction",
                      fmt::format("got {}, expected what the budget says, {}", kept_fraction, ripplekv::quoted(text)));
  }
  return ok_status();
}

std::string describe(const ModelId& model) {
  const std::string heads = model.layer == LayerShape{}
                                ? ""
                                : fmt::format(" of {} KV heads of {}", model.layer.n_head_kv, model.layer.head_dim);
  return fmt::format("{} ({}, {} layers{}, {})", ripplekv::quoted(model.name), model.architecture, model.n_layer, heads,
                     model.fingerprint);
}

}  // namespace

Result<ordered_json> budgets_json(const Budgets& budgets) {
  RKV_RETURN_IF_ERROR(check(budgets));
  nlohmann::json settings = nlohmann::json::object();
  if (!budgets.settings.empty()) {
    RKV_ASSIGN_OR_RETURN(settings, parse_json(budgets.settings, "key 'settings'"));
    if (!settings.is_object()) return bad_key("settings", "expected a JSON object");
  }
  ordered_json layers = ordered_json::array();
  const std::vector<double> shares = shares_of(budgets.weights.weights);
  for (size_t layer = 0; layer < shares.size(); ++layer) {
    layers.push_back({{"layer", layer},
                      {"share", shares[layer]},
                      {"k", to_string(budgets.kv_format[layer].k)},
                      {"v", to_string(budgets.kv_format[layer].v)}});
    if (!budgets.head_shares.empty() && !budgets.head_shares[layer].empty()) {
      layers.back()["heads"] = budgets.head_shares[layer];
    }
  }
  ordered_json body;
  body["model"] = to_json(budgets.model);
  body["allocator"] = budgets.allocator;
  body["settings"] = ordered_json::parse(settings.dump());
  body["profile_hash"] = budgets.profile_hash;
  body["budget"] = budgets.budget.to_string();
  if (budgets.budget.kind == KvBudget::Kind::kFraction && !budgets.of_bytes)
    body["kept_fraction"] = budgets.budget.value;
  if (budgets.of_bytes) body["budget_of"] = kOfBytes;
  body["selector"] = budgets.selector;
  body["selector_options"] = to_json(budgets.selector_options);
  body["rows_floor_extra"] = budgets.rows_floor_extra;
  body["base_rows"] = budgets.weights.base_rows;
  body["layers"] = std::move(layers);
  return body;
}

Result<Budgets> budgets_from(const JsonObject& root, std::string_view where) {
  Budgets budgets;
  RKV_ASSIGN_OR_RETURN(budgets.model, read_model_id(root));
  RKV_ASSIGN_OR_RETURN(budgets.allocator, root.text("allocator"));
  RKV_ASSIGN_OR_RETURN(budgets.settings, root.object_text("settings"));
  RKV_ASSIGN_OR_RETURN(budgets.profile_hash, root.text("profile_hash"));
  RKV_RETURN_IF_ERROR(read_budget(root, budgets));
  RKV_ASSIGN_OR_RETURN(budgets.selector, root.text("selector"));
  RKV_ASSIGN_OR_RETURN(budgets.selector_options, read_selector_options(root));
  RKV_ASSIGN_OR_RETURN(budgets.rows_floor_extra, root.small_integer("rows_floor_extra", 1, kFloorExtraMax));
  RKV_ASSIGN_OR_RETURN(budgets.weights.base_rows, root.number("base_rows"));
  RKV_RETURN_IF_ERROR(read_layers(root, budgets));
  RKV_RETURN_IF_ERROR(in_file(check(budgets), where));
  return budgets;
}

std::string budget_text(const Budgets& budgets) {
  const bool needs_words = budgets.of_bytes && budgets.budget.kind != KvBudget::Kind::kBytes;
  return budgets.budget.to_string() + (needs_words ? " of the f16 cache's bytes" : "");
}

Result<Budgets> read_budgets(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const nlohmann::json document, read_json(path, kFormat, kVersion));
  return budgets_from(JsonObject(document, path), path);
}

Status write_budgets(const Budgets& budgets, const std::string& path) {
  const Result<ordered_json> body = budgets_json(budgets);
  if (!body.ok()) return body.status().with_context(path);
  return write_json(path, kFormat, kVersion, *body);
}

Status check_model(const ModelId& artefact, const ModelId& model, std::string_view what) {
  if (artefact.fingerprint == model.fingerprint && artefact.n_layer == model.n_layer &&
      artefact.sliding_layers == model.sliding_layers && artefact.sliding_window == model.sliding_window &&
      (artefact.layer == model.layer || artefact.layer == LayerShape{} || model.layer == LayerShape{})) {
    return ok_status();
  }
  return mismatch(fmt::format("{}: made for model {}, expected model {}", what, describe(artefact), describe(model)));
}

}  // namespace ripplekv
