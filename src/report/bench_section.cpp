// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What benchmarks say: for each kind of work its figure in its own unit, and the ratio to a peer with the side that is
// better.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "report/charts.h"
#include "report/report.h"

namespace ripplekv {
namespace {

constexpr double kBytesMax = 9e18;  // of an int64_t

bool more_is_better(BenchUnit unit) { return unit == BenchUnit::kTokensPerSecond; }

const char* name_of(BenchUnit unit) {
  return unit == BenchUnit::kTokensPerSecond ? "tokens/s" : unit == BenchUnit::kSeconds ? "seconds" : "bytes";
}

std::string shown_figure(BenchUnit unit, double figure) {
  if (!std::isfinite(figure) || figure > kBytesMax) return shown_number(figure);
  if (unit == BenchUnit::kBytes) return human_bytes(static_cast<int64_t>(figure));
  if (unit == BenchUnit::kSeconds) return shown_number(figure) + " s";
  return shown_number(figure, 4);
}

Cell figure_cell(BenchUnit unit, double figure) { return {shown_figure(unit, figure), {figure}}; }

std::string title_of(BenchUnit unit, const std::string& work) {
  if (work == "first_token") return "Time to the first token, loading included";
  if (work == "memory") return "Memory above the weights";
  const char* what = unit == BenchUnit::kTokensPerSecond ? "Speed" : unit == BenchUnit::kSeconds ? "Time" : "Memory";
  return fmt::format("{} of {}", what, work);
}

std::string cache_of(const BenchRow& row) {
  std::string name = row.policy;
  if (!row.budget.empty() && row.budget != row.policy) name += (name.empty() ? "" : " ") + row.budget;
  return name;
}

std::string peer_of(const BenchRow& row) {
  return row.peer.empty() || row.peer_setting.empty() ? row.peer : fmt::format("{} ({})", row.peer, row.peer_setting);
}

// Ratios where the work has any, else the figures alone.
RowChart empty_chart(BenchUnit unit, const std::string& work, bool ratios) {
  RowChart chart = {.title = title_of(unit, work)};
  if (!ratios) {
    chart.x.label = name_of(unit);
    chart.caption = more_is_better(unit) ? "More is better." : "Less is better.";
    return chart;
  }
  chart.x = {.label = fmt::format("ratio of {} (log scale)", name_of(unit)), .scale = Scale::kLog};
  chart.reference = 1;
  chart.caption = fmt::format("Ours over the peer's {}; the line is the peer. {} it, {} 1, is better.", name_of(unit),
                              more_is_better(unit) ? "Right of" : "Left of", more_is_better(unit) ? "over" : "under");
  return chart;
}

RowItem item_of(const BenchRow& row, bool ratio, bool several_formats) {
  RowItem item = {.label = cache_of(row)};
  if (several_formats && !row.formats.empty()) item.label += " " + row.formats;
  item.value = ratio ? row.ratio : row.figure;
  item.colour = !ratio || (more_is_better(row.unit) ? row.ratio >= 1 : row.ratio <= 1) ? 0 : 1;
  item.shown = ratio ? shown_number(row.ratio) + "\xC3\x97" : shown_figure(row.unit, row.figure);
  return item;
}

// Of the first rows: a chart for each kind of work, a group for each context and peer.
std::vector<RowChart> charts_of(const std::vector<BenchRow>& rows, size_t n_row) {
  using Work = std::pair<std::string, BenchUnit>;
  std::map<Work, bool> ratios;
  bool several_formats = false;
  for (size_t i = 0; i < n_row; ++i) {
    bool& any = ratios[{rows[i].work, rows[i].unit}];
    any = any || std::isfinite(rows[i].ratio);
    several_formats = several_formats || rows[i].formats != rows[0].formats;
  }
  std::vector<RowChart> charts;
  std::map<Work, size_t> chart_at;
  std::map<std::pair<size_t, std::string>, size_t> group_at;
  for (size_t i = 0; i < n_row; ++i) {
    const BenchRow& row = rows[i];
    const Work work = {row.work, row.unit};
    const bool ratio = ratios[work];
    if (!std::isfinite(ratio ? row.ratio : row.figure)) continue;
    const auto [place, added] = chart_at.emplace(work, charts.size());
    if (added) charts.push_back(empty_chart(row.unit, row.work, ratio));
    RowChart& chart = charts[place->second];
    std::string name = fmt::format("context of {} tokens", shown_whole(static_cast<double>(row.context)));
    if (ratio && !row.peer.empty()) name += ", against " + peer_of(row);
    const auto [at, first] = group_at.emplace(std::pair{place->second, name}, chart.groups.size());
    if (first) chart.groups.push_back({name, {}});
    chart.groups[at->second].items.push_back(item_of(row, ratio, several_formats));
  }
  return charts;
}

}  // namespace

Section bench_section(const std::vector<BenchRow>& rows) {
  Section section = {.title = "Speed and memory",
                     .lede =
                         "Each kind of work in its own unit, and beside another program or another cache on the same "
                         "machine and file. A ratio is ours over the peer's: of tokens per second over 1 is better, "
                         "of seconds and of bytes under 1 is better."};
  // One table for each unit, so that a column of the CSV has one.
  for (const BenchUnit unit : {BenchUnit::kTokensPerSecond, BenchUnit::kSeconds, BenchUnit::kBytes}) {
    Table table;
    const std::string name = name_of(unit);
    table.title = fmt::format("Benchmarks in {}: {} is better", name, more_is_better(unit) ? "more" : "less");
    table.columns = {"work", "context", "policy", "budget", "kv format", name, "peer", "peer's " + name, "ratio"};
    for (const BenchRow& row : rows) {
      if (row.unit != unit) continue;
      table.rows.push_back({text_cell(row.work), whole_cell(static_cast<double>(row.context)), text_cell(row.policy),
                            text_cell(row.budget), text_cell(row.formats), figure_cell(unit, row.figure),
                            text_cell(peer_of(row)), figure_cell(unit, row.peer_figure), number_cell(row.ratio)});
    }
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
  }
  const size_t n_drawn = std::min(rows.size(), kRowItemsMax);
  if (n_drawn < rows.size()) {
    section.warnings.push_back(fmt::format("The charts are of the first {} of {} records.",
                                           shown_whole(static_cast<double>(n_drawn)),
                                           shown_whole(static_cast<double>(rows.size()))));
  }
  for (const RowChart& chart : charts_of(rows, n_drawn)) {
    if (const auto figure = draw(chart)) section.figures.push_back(*figure);
  }
  return section;
}

}  // namespace ripplekv
