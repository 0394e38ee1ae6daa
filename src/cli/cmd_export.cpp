// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv export: the rows of a budgets file at a prompt's length, in the words of other programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "cli/standard_output.h"

namespace ripplekv {
namespace {

// kvpress keeps int(n * (1 - compression_ratio)) rows of a layer, in floating point: aimed at the middle between two
// counts, rounding cannot miss the one meant. All rows are a ratio of 0.
double kvpress_ratio(int64_t rows, int64_t n_prompt) {
  return rows == n_prompt ? 0 : 1 - (static_cast<double>(rows) + 0.5) / static_cast<double>(n_prompt);
}

std::string as_kvpress(const Budgets& budgets, const std::vector<int64_t>& rows, int64_t n_prompt) {
  nlohmann::ordered_json json = {{"press", "PerLayerCompressionPress"},
                                 {"model", budgets.model.name},
                                 {"n_prompt", n_prompt},
                                 {"rows", rows},
                                 {"compression_ratios", nlohmann::json::array()}};
  for (int64_t of_layer : rows) json["compression_ratios"].push_back(kvpress_ratio(of_layer, n_prompt));
  return json_text(json) + "\n";
}

// [n_layer][n_head_kv]; equal parts are empty.
using RowsOfHeads = std::vector<std::vector<int64_t>>;

std::string as_json(const Budgets& budgets, const std::vector<int64_t>& rows, const RowsOfHeads& heads,
                    int64_t n_prompt) {
  nlohmann::ordered_json layers = nlohmann::json::array();
  for (size_t il = 0; il < rows.size(); ++il) {
    layers.push_back({{"layer", il},
                      {"rows", rows[il]},
                      {"kept_fraction", static_cast<double>(rows[il]) / static_cast<double>(n_prompt)},
                      {"k", to_string(budgets.kv_format[il].k)},
                      {"v", to_string(budgets.kv_format[il].v)}});
    if (!heads.empty() && !heads[il].empty()) layers.back()["head_rows"] = heads[il];
  }
  const nlohmann::ordered_json json = {{"model", budgets.model.name},
                                       {"fingerprint", budgets.model.fingerprint},
                                       {"allocator", budgets.allocator},
                                       {"selector", budgets.selector},
                                       {"kv_budget", budget_text(budgets)},
                                       {"n_prompt", n_prompt},
                                       {"layers", layers}};
  return json_text(json) + "\n";
}

std::string as_csv(const Budgets& budgets, const std::vector<int64_t>& rows, const RowsOfHeads& heads,
                   int64_t n_prompt) {
  std::string text = "layer,rows,kept_fraction,k,v,head_rows\n";
  for (size_t il = 0; il < rows.size(); ++il) {
    const std::vector<int64_t> of_heads = heads.empty() ? std::vector<int64_t>() : heads[il];
    text +=
        fmt::format("{},{},{},{},{},{}\n", il, rows[il], static_cast<double>(rows[il]) / static_cast<double>(n_prompt),
                    to_string(budgets.kv_format[il].k), to_string(budgets.kv_format[il].v), fmt::join(of_heads, " "));
  }
  return text;
}

}  // namespace

Status cmd_export(const ExportArgs& args) {
  RKV_ASSIGN_OR_RETURN(const Budgets budgets, read_budgets(args.budget_file));
  if (args.to == "kvpress" && !budgets.head_shares.empty()) {
    return unsupported(
        fmt::format("{}: every KV head keeps rows of its own number (head_curves), expected equal parts, which are all "
                    "that kvpress's PerLayerCompressionPress keeps; --to json and csv have the rows of every head",
                    args.budget_file));
  }
  if (args.to == "kvpress" && budgets.selector_options.head_floor < 1) {
    return unsupported(
        fmt::format("{}: its KV heads share a layer's rows (head_floor {:g}), expected equal parts (1), which are all "
                    "that kvpress's PerLayerCompressionPress keeps; --to json and csv have the rows of whole layers",
                    args.budget_file, budgets.selector_options.head_floor));
  }
  const Result<std::vector<int64_t>> planned = plan_rows(budgets, args.n_prompt);
  if (!planned.ok()) return planned.status().with_context(args.budget_file);
  const std::vector<int64_t>& rows = *planned;
  RKV_ASSIGN_OR_RETURN(const RowsOfHeads heads, plan_head_rows(budgets, rows, args.n_prompt));
  const std::string text = args.to == "kvpress" ? as_kvpress(budgets, rows, args.n_prompt)
                           : args.to == "csv"   ? as_csv(budgets, rows, heads, args.n_prompt)
                                                : as_json(budgets, rows, heads, args.n_prompt);
  if (args.output_file.empty()) {
    print("{}", text);
    return ok_status();
  }
  RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
  return write_file_atomically(args.output_file, text);
}

}  // namespace ripplekv
