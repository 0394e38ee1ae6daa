// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The document as a whole, and its smaller sections: budgets, validation.
#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/utf8.h"
#include "report/charts.h"
#include "ripplekv/engine.h"

namespace ripplekv {
namespace {

std::string formats_of(const Budgets& budgets) {
  std::set<std::string> names;
  for (const KvFormat& format : budgets.kv_format) {
    names.insert(fmt::format("{}/{}", to_string(format.k), to_string(format.v)));
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The model that the inputs are of; several are all named.
std::string title_of(const ReportInputs& inputs) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (inputs.profile) add(inputs.profile->model.name);
  for (const NamedBudgets& of : inputs.budgets) add(of.budgets.model.name);
  for (const Evaluation& of : inputs.evaluations) add(of.setting("model"));
  if (inputs.validation) add(inputs.validation->model);
  std::string title;
  for (const std::string& name : names) title += (title.empty() ? "" : ", ") + name;
  return title.empty() ? "benchmarks" : title;
}

// What every KV head keeps, where heads have rows of their own; layers with equal parts show these.
Status add_heads(const NamedBudgets& of, const std::vector<int64_t>& rows, int64_t n_prompt, Section& section) {
  const Budgets& budgets = of.budgets;
  RKV_ASSIGN_OR_RETURN(const auto head_rows, plan_head_rows(budgets, rows, n_prompt));
  if (head_rows.empty()) return ok_status();
  const auto n_head = static_cast<size_t>(budgets.model.layer.n_head_kv);
  HeatMap map = {.title = fmt::format("Rows kept by each KV head ({})", of.name),
                 .caption = "As a share of the prompt, in percent.",
                 .column_label = "layer",
                 .row_label = "head",
                 .panels = {{.title = fmt::format("{} {}", budgets.allocator, budget_text(budgets))}}};
  Table table = {.title = fmt::format("Rows of each KV head ({})", of.name), .columns = {"layer"}, .folded = true};
  for (size_t head = 0; head < n_head; ++head) {
    map.rows.push_back(std::to_string(head));
    table.columns.push_back(fmt::format("head {}", head));
  }
  map.panels[0].values.resize(n_head);
  for (size_t il = 0; il < rows.size(); ++il) {
    std::vector<int64_t> of_heads(n_head, rows[il]);
    if (!head_rows[il].empty()) of_heads = head_rows[il];
    map.columns.push_back(std::to_string(il));
    std::vector<Cell>& cells = table.rows.emplace_back(std::vector{whole_cell(static_cast<double>(il))});
    for (size_t head = 0; head < n_head; ++head) {
      const auto n = static_cast<double>(of_heads[head]);
      map.panels[0].values[head].push_back(n / static_cast<double>(n_prompt));
      cells.push_back(whole_cell(n));
    }
  }
  if (const auto figure = draw(map)) section.figures.push_back(*figure);
  section.tables.push_back(std::move(table));
  return ok_status();
}

}  // namespace

Result<Section> budgets_section(const ReportInputs& inputs) {
  Section section = {.title = "Rows for each layer",
                     .lede = fmt::format("What the budgets files give each layer of a prompt of {} tokens.",
                                         shown_whole(static_cast<double>(inputs.n_prompt)))};
  XyChart chart = {.title = "Rows kept in each layer",
                   .caption = "As a share of the prompt.",
                   .x = {.label = "layer"},
                   .y = {.label = "rows kept", .unit = Unit::kPercent},
                   .mark = Mark::kSteps,
                   .x_name = "layer "};
  Table files = {.title = "Budgets files",
                 .columns = {"file", "model", "allocator", "budget", "selector", "K/V formats", "rows in all",
                             "rows kept", "least", "most", "made from the profile above"}};
  Table layers = {.title = "Rows of each layer", .columns = {"layer"}, .folded = true};
  const std::string hash = inputs.profile ? hash_of(*inputs.profile) : "";
  std::vector<std::vector<int64_t>> rows_of_files;
  size_t n_layer = 0;
  for (const NamedBudgets& of : inputs.budgets) n_layer = std::max(n_layer, of.budgets.kv_format.size());
  for (size_t il = 0; il < n_layer; ++il) layers.rows.push_back({whole_cell(static_cast<double>(il))});
  for (const NamedBudgets& of : inputs.budgets) {
    const Budgets& budgets = of.budgets;
    const std::string from_profile = hash.empty() || budgets.profile_hash.empty() ? "n/a"
                                     : budgets.profile_hash == hash               ? "yes"
                                                                                  : "no";
    std::vector<Cell> row = {text_cell(of.name),           text_cell(budgets.model.name),
                             text_cell(budgets.allocator), text_cell(budget_text(budgets)),
                             text_cell(budgets.selector),  text_cell(formats_of(budgets))};
    const Result<std::vector<int64_t>> rows = plan_rows(budgets, inputs.n_prompt);
    if (!rows.ok()) return rows.status().with_context(of.name);
    const std::vector<int> compressible = budgets.model.compressible_layers();
    Series& series = chart.series.emplace_back();
    series.name = fmt::format("{} {} ({})", budgets.allocator, budget_text(budgets), of.name);
    layers.columns.push_back(of.name);
    double sum = 0;
    double least = HUGE_VAL;
    double most = 0;
    for (size_t il = 0; il < n_layer; ++il) {
      const bool there = il < rows->size();
      layers.rows[il].push_back(there ? whole_cell(static_cast<double>((*rows)[il])) : text_cell(""));
      if (!std::binary_search(compressible.begin(), compressible.end(), static_cast<int>(il))) continue;
      const auto n = static_cast<double>((*rows)[il]);
      sum += n;
      least = std::min(least, n);
      most = std::max(most, n);
      series.points.push_back({static_cast<double>(il), n / static_cast<double>(inputs.n_prompt)});
    }
    const double full = static_cast<double>(inputs.n_prompt) * static_cast<double>(compressible.size());
    row.insert(row.end(), {whole_cell(sum), percent_cell(sum / full), whole_cell(least), whole_cell(most),
                           text_cell(from_profile)});
    files.rows.push_back(std::move(row));
    rows_of_files.push_back(*rows);
  }
  if (const auto figure = draw(chart)) section.figures.push_back(*figure);
  section.tables.push_back(std::move(files));
  if (layers.columns.size() > 1) section.tables.push_back(std::move(layers));
  for (size_t i = 0; i < inputs.budgets.size(); ++i) {
    RKV_RETURN_IF_ERROR(add_heads(inputs.budgets[i], rows_of_files[i], inputs.n_prompt, section));
  }
  return section;
}

Section validation_section(const Validation& validation) {
  Section section = {.title = "How well sensitivities foretell damage",
                     .lede =
                         "Spearman's rank correlation over the layers between a cheap signal and the damage of "
                         "really compressing each layer alone. 1: the same order; 0: no relation."};
  if (!validation.model.empty()) section.facts.push_back({"Model", validation.model});
  if (validation.n_sample > 0) section.facts.push_back({"Samples", std::to_string(validation.n_sample)});
  Table table = {.title = "Spearman's rho with damage", .columns = {"signal", "kept", "rho [95%]"}, .folded = true};
  RowChart chart = {.title = "Spearman's rho with damage",
                    .caption = "Bars through the ends: 95% bootstrap intervals.",
                    .x = {.label = "rho"}};
  std::map<std::string, size_t> groups;  // of a signal: where in the chart
  for (const ValidationRow& row : validation.rows) {
    table.rows.push_back(
        {text_cell(row.signal), percent_cell(row.kept), interval_cell({row.rho, row.low, row.high}, /*n=*/2)});
    const auto [place, added] = groups.emplace(row.signal, chart.groups.size());
    if (added) chart.groups.push_back({row.signal, {}});
    std::vector<RowItem>& items = chart.groups[place->second].items;
    items.push_back({.label = shown_percent(row.kept) + " kept",
                     .value = row.rho,
                     .low = row.low,
                     .high = row.high,
                     .colour = items.size()});
  }
  if (const auto figure = draw(chart)) section.figures.push_back(*figure);
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

Result<Report> make_report(const ReportInputs& inputs) {
  Report report;
  report.title = title_of(inputs);
  const auto has_policy = [&](const Evaluation& of) {
    return std::any_of(of.lines.begin(), of.lines.end(),
                       [&](const ResultLine& line) { return line.policy == inputs.baseline; });
  };
  if (!inputs.baseline.empty() && std::none_of(inputs.evaluations.begin(), inputs.evaluations.end(), has_policy)) {
    return invalid_argument(
        fmt::format("--baseline: got '{}', expected a policy of the results", one_line(inputs.baseline, 100)));
  }
  for (const Evaluation& of : inputs.evaluations) {
    const std::string baseline = has_policy(of) ? inputs.baseline : "";
    for (Fact& fact : evaluation_highlights(of, baseline)) {
      if (inputs.evaluations.size() > 1) fact.name = of.name + ", " + fact.name;
      report.facts.push_back(std::move(fact));
    }
  }
  if (inputs.profile && inputs.profile->samples.size() > 1) {
    report.facts.push_back({"Split-half reliability of the profile",
                            fmt::format("{:.2f}", reliability_of(*inputs.profile)),
                            fmt::format("over {} samples", inputs.profile->samples.size())});
  }
  if (inputs.profile) report.sections.push_back(profile_section(*inputs.profile));
  if (!inputs.budgets.empty()) {
    RKV_ASSIGN_OR_RETURN(Section section, budgets_section(inputs));
    report.sections.push_back(std::move(section));
  }
  for (const Evaluation& of : inputs.evaluations) {
    if (of.lines.empty()) continue;
    report.sections.push_back(evaluation_section(of, has_policy(of) ? inputs.baseline : ""));
    if (inputs.evaluations.size() > 1) report.sections.back().title += " (" + of.name + ")";
  }
  if (inputs.validation && !inputs.validation->rows.empty()) {
    report.sections.push_back(validation_section(*inputs.validation));
  }
  if (!inputs.bench.empty()) report.sections.push_back(bench_section(inputs.bench));
  return report;
}

}  // namespace ripplekv
