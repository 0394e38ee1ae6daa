// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Scores of an evaluation (contract: evaluation.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "eval/suite.h"
#include "report/charts.h"
#include "report/evaluation.h"

namespace ripplekv {
namespace {

bool is_scored(const ResultLine& line) { return line.error.empty() && line.score >= 0; }

std::vector<double> scores_of(const Run& run) {
  std::vector<double> scores;
  for (const ResultLine* line : run.lines) {
    if (is_scored(*line)) scores.push_back(line->score);
  }
  return scores;
}

std::map<std::string, double> task_means(const Run& run) {
  std::map<std::string, std::vector<double>> scores;
  for (const ResultLine* line : run.lines) {
    if (is_scored(*line)) scores[line->task].push_back(line->score);
  }
  std::map<std::string, double> means;
  for (const auto& [task, of] : scores) means[task] = mean_of(of);
  return means;
}

Cell score_cell(double score) {
  return {score <= 1 ? fmt::format("{:.1f}", 100 * score) : shown_number(100 * score), {100 * score}};
}

// The first of them, since a file may name any number; the caption says so.
template <class Value>
void bound(std::set<Value>& values, std::string_view what, std::string& caption) {
  constexpr size_t kMax = 50;
  caption += drawn_note(std::min(values.size(), kMax), values.size(), what);
  while (values.size() > kMax) values.erase(std::prev(values.end()));
}

// Depth and length of a generated needle, from its name "needle:LENGTH:DEPTH:NUMBER".
struct Place {
  int64_t length = 0;
  double depth = 0;
  bool operator<(const Place& other) const {
    return length != other.length ? length < other.length : depth < other.depth;
  }
};
std::optional<Place> place_of(const std::string& sample) {
  std::vector<std::string> parts(1);
  for (const char c : sample) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() != 4) return std::nullopt;
  const Result<int64_t> length = parse_int64(parts[1]);
  const Result<double> depth = parse_double(parts[2]);
  if (!length.ok() || !depth.ok()) return std::nullopt;
  return Place{*length, *depth};
}

}  // namespace

std::vector<Table> score_tables(const Evaluation& evaluation, const std::vector<Run>& runs) {
  std::vector<const Run*> scored;
  std::set<std::string> tasks;
  for (const Run& run : runs) {
    const std::map<std::string, double> means = task_means(run);
    if (means.empty()) continue;
    scored.push_back(&run);
    for (const auto& [task, mean] : means) tasks.insert(task);
  }
  if (scored.empty()) return {};
  const Result<const SuiteInfo*> suite = find_suite(evaluation.setting("suite"));

  const bool apart = modes_apart(evaluation);
  const std::vector<std::string> heads = run_columns(apart, {});
  Table by_task = {
      .title = "Scores by task (0 to 100)", .columns = heads, .groups = {{"", static_cast<int>(heads.size())}}};
  Table by_group = {.title = "Scores by group of tasks (0 to 100)", .columns = heads};
  std::vector<std::string> order;  // of the tasks: the suite's, then what it does not know
  if (suite.ok()) {
    for (const TaskInfo& task : (*suite)->tasks) {
      if (tasks.erase(std::string(task.name)) == 0) continue;
      order.emplace_back(task.name);
      if (by_task.groups.back().first == task.group) {
        ++by_task.groups.back().second;
      } else {
        by_task.groups.emplace_back(task.group, 1);
      }
    }
  }
  for (const std::string& task : tasks) {
    order.push_back(task);
    by_task.groups.emplace_back("", 1);
  }
  by_task.columns.insert(by_task.columns.end(), order.begin(), order.end());
  by_task.columns.insert(by_task.columns.end(), {"mean of samples [95%]", "samples"});
  by_task.groups.emplace_back("", 2);
  bool several_groups = false;
  for (const Run* run : scored) {
    const std::map<std::string, double> means = task_means(*run);
    const std::vector<double> scores = scores_of(*run);
    std::vector<Cell> row = run_cells(run->kept, run->of.policy, run->of.question, apart);
    for (const std::string& task : order) {
      const auto mean = means.find(task);
      row.push_back(mean == means.end() ? text_cell("") : score_cell(mean->second));
    }
    row.push_back(interval_cell(bootstrap_mean(scores), static_cast<int>(scores.size()), 100));
    row.push_back(whole_cell(static_cast<double>(scores.size())));
    by_task.rows.push_back(std::move(row));
    if (!suite.ok()) continue;
    // The columns are those of the first run; a group that another lacks stays empty there.
    const std::vector<GroupScore> groups = group_scores(**suite, means);
    if (by_group.rows.empty()) {
      for (const GroupScore& group : groups) by_group.columns.emplace_back(group.group);
      several_groups = groups.size() > 2;  // one group and the average say the same
    }
    std::vector<Cell> group_row = run_cells(run->kept, run->of.policy, run->of.question, apart);
    for (size_t c = heads.size(); c < by_group.columns.size(); ++c) {
      const auto found = std::find_if(groups.begin(), groups.end(),
                                      [&](const GroupScore& group) { return group.group == by_group.columns[c]; });
      group_row.push_back(found == groups.end() ? text_cell("") : score_cell(found->score));
    }
    by_group.rows.push_back(std::move(group_row));
  }
  std::vector<Table> tables;
  if (several_groups) tables.push_back(std::move(by_group));
  tables.push_back(std::move(by_task));
  return tables;
}

std::optional<Figure> score_figure(const std::vector<Run>& runs, const std::vector<Contender>& contenders,
                                   const std::string& kept_label) {
  XyChart chart = {.title = "Task score against the budget",
                   .caption = "Means over the samples with 95% bootstrap intervals.",
                   .x = {.label = kept_label, .unit = Unit::kPercent},
                   .y = {.label = "score, 0 to 100"}};
  std::set<double> fractions;
  for (const Contender& contender : contenders) {
    Series series = {.name = contender.name};
    for (const Run& run : runs) {
      const std::vector<double> scores = scores_of(run);
      if (!contender.is(run.of.policy, run.of.question) || scores.empty()) continue;
      const Interval mean = bootstrap_mean(scores);
      if (contender.policy == "full") {
        if (std::isfinite(chart.reference)) continue;  // of the first mode; the table has both
        chart.reference = 100 * mean.value;
        chart.reference_name = contender.name + " cache";
        continue;
      }
      fractions.insert(run.kept);
      series.points.push_back({run.kept, 100 * mean.value, 100 * mean.low, 100 * mean.high});
    }
    if (contender.policy != "full") chart.series.push_back(std::move(series));
  }
  chart.x.ticks.assign(fractions.begin(), fractions.end());
  return draw(chart);
}

std::optional<Figure> needle_figure(const Evaluation& evaluation, const std::vector<Run>& runs) {
  if (evaluation.setting("suite") != "needle") return std::nullopt;
  const bool scored = std::any_of(evaluation.lines.begin(), evaluation.lines.end(), is_scored);
  HeatMap map = {.title = scored ? "Needle in a haystack: score" : "Needle in a haystack: KL",
                 .caption = scored ? "Share of the needles found; 100 is all of them."
                                   : "KL to the full cache in nats: answers were not scored (--generate).",
                 .column_label = "tokens",
                 .row_label = "depth"};
  std::set<int64_t> lengths;
  std::set<double> depths;
  for (const ResultLine& line : evaluation.lines) {
    if (const auto place = place_of(line.sample)) {
      lengths.insert(place->length);
      depths.insert(place->depth);
    }
  }
  bound(lengths, "lengths", map.caption);
  bound(depths, "depths", map.caption);
  for (const int64_t length : lengths) map.columns.push_back(shown_whole(static_cast<double>(length)));
  for (const double depth : depths) map.rows.push_back(shown_percent(depth));
  double most = 0;
  for (const Run& run : runs) {
    std::map<Place, std::vector<double>> values;
    for (const ResultLine* line : run.lines) {
      const auto place = place_of(line->sample);
      if (!place || !line->error.empty() || (scored && line->score < 0)) continue;
      if (!scored && !line->compared) continue;
      values[*place].push_back(scored ? line->score : line->kl);
    }
    if (!scored && run.of.policy == "full") continue;  // 0 by definition
    HeatPanel panel = {.title = (run.of.policy == "full" ? "" : shown_percent(run.kept) + " ") + run.of.name};
    for (const double depth : depths) {
      std::vector<double>& row = panel.values.emplace_back();
      for (const int64_t length : lengths) {
        const auto found = values.find({length, depth});
        row.push_back(found == values.end() ? kNoValue : mean_of(found->second));
        if (found != values.end()) most = std::max(most, row.back());
      }
    }
    map.panels.push_back(std::move(panel));
  }
  if (!scored) {
    map.unit = Unit::kNumber;
    map.high = most;
  }
  return draw(map);
}

}  // namespace ripplekv
