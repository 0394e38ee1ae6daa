// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The parts that budgets.json and profile.json share: the model's identity and the selector with its options, to and
// from JSON, and the check that both writer and reader apply. Checks return "key 'x': got y, expected z" without the
// file; in_file() adds it. What is a bound of one artefact only is checked by that artefact.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/json_file.h"
#include "ripplekv/budgets.h"
#include "ripplekv/selection.h"

namespace ripplekv {

constexpr int64_t kLayerWidthMax = 1 << 15;  // head_dim x n_head_kv, likewise: bytes of all rows fit an int64
constexpr int kLayersMax = 10000;            // far above any model; bounds what a damaged file can make us allocate

nlohmann::ordered_json to_json(const ModelId& model);
nlohmann::ordered_json to_json(const SelectorOptions& options);

// From the keys "model" and "selector_options" of `parent`.
Result<ModelId> read_model_id(const JsonObject& parent);
Result<SelectorOptions> read_selector_options(const JsonObject& parent);
Result<KvType> read_kv_type(const JsonObject& parent, std::string_view key);

Status check_model_id(const ModelId& model);
// `prefix`: of the keys "selector" and "selector_options" in the file, such as "settings.".
Status check_selector(std::string_view selector, const SelectorOptions& options, std::string_view prefix);

// A whole budgets.json as a part of another artefact. budgets_json: kInvalidArgument for what budgets_from would
// refuse.
Result<nlohmann::ordered_json> budgets_json(const Budgets& budgets);
Result<Budgets> budgets_from(const JsonObject& root, std::string_view where);

Status bad_key(std::string_view key, std::string_view message);  // kInvalidArgument
Status in_file(const Status& fault, std::string_view path);      // what was read is damaged: kDataLoss

}  // namespace ripplekv
