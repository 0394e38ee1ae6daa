// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// budgets.json: an allocation frozen for one model. Per layer a share of B and a kv format; rows follow at prefill
// time from the prompt's length through rows_for() (allocation.h). Reading refuses a damaged file, another
// format or version; belonging to the right model is checked by check_model(). Written to a temporary name and renamed.
#pragma once

#include <string>
#include <vector>

#include "ripplekv/allocation.h"
#include "ripplekv/kv_type.h"
#include "ripplekv/model_id.h"
#include "ripplekv/selection.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct Budgets {
  ModelId model;
  std::string allocator;  // uniform, pyramid, ripple, ...
  KvBudget budget;        // the global budget it was made for
  bool of_bytes =
      false;  // a fraction or rows in `budget` are those of the f16 cache's bytes, whatever the formats below
  std::string selector = "snapkv";
  SelectorOptions selector_options;
  int rows_floor_extra = 8;   // floor = protected rows of the selector + this
  AllocationWeights weights;  // [n_layer]; 0 where a sliding window is kept
  // [n_layer][n_head_kv], each layer's summing to 1: what part of the layer's rows each KV head keeps. Empty: of all
  // layers, or in place of one's: equal parts.
  std::vector<std::vector<double>> head_shares;
  std::vector<KvFormat> kv_format;  // [n_layer]
  std::string settings;      // JSON object text: the allocator's own settings (r, gamma, transform, beta), for people
  std::string profile_hash;  // of the profile it was made from; empty if none

  // Bytes are rows only with the model's shape.
  bool counts_bytes() const { return of_bytes || budget.kind == KvBudget::Kind::kBytes; }
};

// The budget in words: what a fraction or a number of rows is of.
std::string budget_text(const Budgets& budgets);

// The weights read are the file's shares, which sum to 1; settings come back with their keys sorted.
Result<Budgets> read_budgets(const std::string& path);
// kInvalidArgument for budgets that read_budgets would refuse; the old file then stays.
Status write_budgets(const Budgets& budgets, const std::string& path);

// kMismatch if the artefact is of another model: names both.
Status check_model(const ModelId& artefact, const ModelId& model, std::string_view what);

}  // namespace ripplekv
