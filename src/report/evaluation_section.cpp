// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What an evaluation says: fidelity against rows and bytes, comparisons on the same samples, worst samples, failures.
// The numbers are eval/summary.h's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/utf8.h"
#include "eval/summary.h"
#include "report/charts.h"
#include "report/evaluation.h"
#include "report/report.h"

namespace ripplekv {
namespace {

constexpr size_t kWorstOfEach = 3;
constexpr size_t kAnswerBytesMax = 160;
constexpr double kMiB = 1024 * 1024;

std::string kept_label(const Evaluation& evaluation) {
  return evaluation.setting("match") == "bytes" ? "bytes kept, of the full f16 cache" : "rows kept";
}

Cell bytes_cell(double bytes) { return {human_bytes(static_cast<int64_t>(bytes)), {bytes}}; }

std::vector<Fact> facts_of(const Evaluation& evaluation) {
  static const std::map<std::string, std::string> kNames = {{"model", "Model"},
                                                            {"weights", "Weights"},
                                                            {"suite", "Suite"},
                                                            {"data", "Data"},
                                                            {"seed", "Seed"},
                                                            {"max_tokens", "Most prompt tokens"},
                                                            {"answer_tokens", "Answer tokens"},
                                                            {"generate", "Answers scored"},
                                                            {"match", "Compared at equal"},
                                                            {"full_k", "Full cache, K"},
                                                            {"full_v", "Full cache, V"}};
  static const std::set<std::string> kHidden = {"format", "version", "fingerprint"};
  std::vector<Fact> facts = {{"File", evaluation.name}};
  for (const auto& [key, value] : evaluation.settings) {
    if (kHidden.contains(key) || value.empty() || (key == "max_tokens" && value == "0")) continue;
    const auto name = kNames.find(key);
    const std::string shown = value == "true" ? "yes" : value == "false" ? "no" : value;
    facts.push_back({name == kNames.end() ? key : name->second, shown});
  }
  std::set<std::string> samples;
  std::set<std::string> tasks;
  for (const ResultLine& line : evaluation.lines) {
    samples.insert(line.sample);
    tasks.insert(line.task);
  }
  facts.push_back(
      {"Samples", fmt::format("{} of {} task{}", samples.size(), tasks.size(), tasks.size() == 1 ? "" : "s")});
  return facts;
}

Table fidelity_table(const Summary& summary, bool apart) {
  const bool scored =
      std::any_of(summary.rows.begin(), summary.rows.end(), [](const auto& row) { return row.score >= 0; });
  Table table = {.title = "Fidelity and size",
                 .columns = run_columns(apart, {"samples", "failed", "rows", "bytes", "mean KL [95%]", "median KL",
                                                "worst KL", "worst sample", "top-1 [95%]", "NLL"})};
  if (scored) table.columns.emplace_back("score");
  for (const SummaryRow& row : summary.rows) {
    std::vector<Cell> cells = run_cells(row.kept, row.policy, row.question, apart);
    cells.insert(cells.end(), {whole_cell(row.n_sample), whole_cell(row.n_failed)});
    if (row.n_sample == 0) {
      cells.resize(table.columns.size(), text_cell(""));
    } else {
      const int n = row.n_compared;
      const auto of_compared = [&](const Cell& cell) { return n > 0 ? cell : text_cell("n/a"); };
      cells.insert(cells.end(),
                   {whole_cell(row.rows), bytes_cell(row.bytes), of_compared(interval_cell(row.kl, n)),
                    of_compared(number_cell(row.kl_median)), of_compared(number_cell(row.kl_worst)),
                    text_cell(row.worst_sample), of_compared(interval_cell(row.top1, n)), number_cell(row.nll)});
      if (scored) cells.push_back(row.score >= 0 ? number_cell(100 * row.score) : text_cell(""));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table paired_table(const Summary& summary, bool apart) {
  Table table = {.title = "Against " + summary.baseline + " on the same samples",
                 .columns = run_columns(apart, {"pairs", "mean KL / baseline's [95%]", "sign test p"}),
                 .folded = true};
  for (const SummaryRow& row : summary.rows) {
    if (row.n_pair == 0 || row.policy == "full") continue;
    std::vector<Cell> cells = run_cells(row.kept, row.policy, row.question, apart);
    cells.insert(cells.end(),
                 {whole_cell(row.n_pair), interval_cell(row.kl_ratio, row.n_pair), number_cell(row.sign_p, 2)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// Has a KL of its own to show.
bool is_compressed(const SummaryRow& row) { return row.policy != "full" && row.n_compared > 0; }

std::optional<Figure> kl_figure(const Summary& summary, const std::vector<Contender>& contenders,
                                const std::string& label) {
  std::set<double> fractions;
  for (const SummaryRow& row : summary.rows) {
    if (is_compressed(row)) fractions.insert(row.kept);
  }
  const std::string title = "KL to the full cache";
  const std::string caption = "Lower is better. Means over the samples with 95% bootstrap intervals.";
  if (fractions.size() < 2) {
    RowChart chart = {.title = title, .caption = caption, .x = {.label = "KL, nats"}};
    for (const double kept : fractions) {
      RowGroup& group = chart.groups.emplace_back();
      group.name = fmt::format("{} ({})", shown_percent(kept), label);
      for (size_t c = 0; c < contenders.size(); ++c) {
        for (const SummaryRow& row : summary.rows) {
          if (!contenders[c].is(row.policy, row.question) || row.kept != kept || !is_compressed(row)) continue;
          group.items.push_back({contenders[c].name, row.kl.value, row.kl.low, row.kl.high, c});
        }
      }
    }
    return draw(chart);
  }
  XyChart chart = {.title = title,
                   .caption = caption,
                   .x = {.label = label, .unit = Unit::kPercent, .ticks = {fractions.begin(), fractions.end()}},
                   .y = {.label = "KL, nats (log scale)", .scale = Scale::kLog}};
  for (const Contender& contender : contenders) {
    Series& series = chart.series.emplace_back();
    series.name = contender.name;
    for (const SummaryRow& row : summary.rows) {
      if (!contender.is(row.policy, row.question) || !is_compressed(row)) continue;
      series.points.push_back({row.kept, row.kl.value, row.kl.low, row.kl.high});
    }
  }
  return draw(chart);
}

std::optional<Figure> bytes_figure(const Summary& summary, const std::vector<Contender>& contenders) {
  XyChart chart = {.title = "KL against memory",
                   .caption = "Mean bytes of K, V and index held after the prompt.",
                   .x = {.label = "MiB (log scale)", .scale = Scale::kLog},
                   .y = {.label = "KL, nats (log scale)", .scale = Scale::kLog},
                   .tips_by_x = false};
  for (const Contender& contender : contenders) {
    Series& series = chart.series.emplace_back();
    series.name = contender.name;
    for (const SummaryRow& row : summary.rows) {
      if (!contender.is(row.policy, row.question) || !is_compressed(row)) continue;
      series.points.push_back(
          {.x = row.bytes / kMiB,
           .y = row.kl.value,
           .low = row.kl.low,
           .high = row.kl.high,
           .name = fmt::format("{} at {}: KL {}, {}", contender.name, shown_percent(row.kept),
                               shown_number(row.kl.value), human_bytes(static_cast<int64_t>(row.bytes)))});
    }
  }
  return draw(chart);
}

std::optional<Figure> paired_figure(const Summary& summary, const std::vector<Contender>& contenders) {
  RowChart chart = {.title = "KL beside " + summary.baseline,
                    .caption =
                        "Mean KL over the baseline's on the same samples, with 95% paired bootstrap intervals "
                        "and the sign test's p. Left of the line is better.",
                    .x = {.label = "ratio (log scale)", .scale = Scale::kLog},
                    .bars = false,
                    .reference = 1};
  for (const SummaryRow& row : summary.rows) {
    if (row.n_pair == 0 || !is_compressed(row)) continue;
    const std::string name = shown_percent(row.kept) + " kept";
    if (chart.groups.empty() || chart.groups.back().name != name) chart.groups.push_back({name, {}});
    const auto contender = std::find_if(contenders.begin(), contenders.end(),
                                        [&](const Contender& of) { return of.is(row.policy, row.question); });
    chart.groups.back().items.push_back(
        {.label = contender->name,
         .value = row.kl_ratio.value,
         .low = row.kl_ratio.low,
         .high = row.kl_ratio.high,
         .colour = static_cast<size_t>(contender - contenders.begin()),
         .shown = fmt::format("{}\xC3\x97, p {}", shown_number(row.kl_ratio.value, 2), shown_number(row.sign_p, 1))});
  }
  return draw(chart);
}

Table worst_table(const std::vector<Run>& runs, bool apart) {
  Table table = {.title = fmt::format("Worst samples: the {} of each policy with the largest KL", kWorstOfEach),
                 .columns = run_columns(apart, {"sample", "prompt tokens", "KL", "worst token's KL", "top-1"}),
                 .folded = true};
  bool scored = false;
  bool answered = false;
  for (const Run& run : runs) {
    for (const ResultLine* line : run.lines) {
      scored = scored || line->score >= 0;
      answered = answered || !line->answer.empty();
    }
  }
  if (scored) table.columns.emplace_back("score");
  if (answered) table.columns.emplace_back("answer");
  for (const Run& run : runs) {
    if (run.of.policy == "full") continue;
    std::vector<const ResultLine*> lines;
    for (const ResultLine* line : run.lines) {
      if (line->error.empty() && line->compared) lines.push_back(line);
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto* a, const auto* b) { return a->kl > b->kl; });
    for (size_t i = 0; i < std::min(lines.size(), kWorstOfEach); ++i) {
      const ResultLine& line = *lines[i];
      std::vector<Cell> row = run_cells(run.kept, run.of.policy, run.of.question, apart);
      row.insert(row.end(), {text_cell(line.sample), whole_cell(static_cast<double>(line.n_prompt)),
                             number_cell(line.kl), number_cell(line.kl_max), percent_cell(line.top1)});
      if (scored) row.push_back(line.score >= 0 ? number_cell(100 * line.score) : text_cell(""));
      if (answered) row.push_back(text_cell(one_line(line.answer, kAnswerBytesMax)));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table failed_table(const std::vector<Run>& runs, bool apart) {
  Table table = {.title = "Failed samples", .columns = run_columns(apart, {"sample", "why"}), .folded = true};
  for (const Run& run : runs) {
    for (const ResultLine* line : run.lines) {
      if (line->error.empty()) continue;
      std::vector<Cell> row = run_cells(run.kept, run.of.policy, run.of.question, apart);
      row.insert(row.end(), {text_cell(line->sample), text_cell(line->error)});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace

std::vector<std::string> policies_of(const Evaluation& evaluation) {
  std::vector<std::string> policies;
  std::set<std::string> seen;
  for (const ResultLine& line : evaluation.lines) {
    if (seen.insert(line.policy).second) policies.push_back(line.policy);
  }
  return policies;
}

bool modes_apart(const Evaluation& evaluation) {
  return std::any_of(evaluation.lines.begin(), evaluation.lines.end(),
                     [](const ResultLine& line) { return line.question == QuestionMode::kAgnostic; });
}

std::vector<Contender> contenders_of(const Evaluation& evaluation) {
  std::set<std::pair<std::string, QuestionMode>> there;
  for (const ResultLine& line : evaluation.lines) there.emplace(line.policy, line.question);
  const bool apart = modes_apart(evaluation);
  std::vector<Contender> contenders;
  for (const std::string& policy : policies_of(evaluation)) {
    for (const QuestionMode question : {QuestionMode::kAware, QuestionMode::kAgnostic}) {
      if (!there.contains({policy, question})) continue;
      contenders.push_back({policy, question, apart ? fmt::format("{}, {}", policy, to_string(question)) : policy});
    }
  }
  return contenders;
}

std::vector<std::string> run_columns(bool apart, const std::vector<std::string>& more) {
  std::vector<std::string> columns = {"kept", "policy"};
  if (apart) columns.emplace_back("question");
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

std::vector<Cell> run_cells(double kept, const std::string& policy, QuestionMode question, bool apart) {
  std::vector<Cell> cells = {percent_cell(kept), text_cell(policy)};
  if (apart) cells.push_back(text_cell(std::string(to_string(question))));
  return cells;
}

std::vector<Run> runs_of(const Evaluation& evaluation) {
  std::map<std::tuple<double, std::string, QuestionMode>, std::map<std::string, const ResultLine*>> lines;
  for (const ResultLine& line : evaluation.lines) lines[{line.kept, line.policy, line.question}][line.sample] = &line;
  std::set<double> fractions;
  for (const auto& [key, of] : lines) fractions.insert(std::get<double>(key));
  const std::vector<Contender> contenders = contenders_of(evaluation);
  std::vector<Run> runs;
  for (const double kept : fractions) {
    for (const Contender& contender : contenders) {
      const auto found = lines.find({kept, contender.policy, contender.question});
      if (found == lines.end()) continue;
      Run& run = runs.emplace_back(Run{contender, kept, {}});
      for (const auto& [sample, line] : found->second) run.lines.push_back(line);
    }
  }
  return runs;
}

std::vector<Fact> evaluation_highlights(const Evaluation& evaluation, const std::string& baseline) {
  const Summary summary = summarise(evaluation.lines, policies_of(evaluation), baseline);
  // Means are compared over the same samples: a policy that failed on some, which may be the hard ones, is left out.
  std::map<std::pair<double, QuestionMode>, int> most;
  for (const SummaryRow& row : summary.rows) {
    int& n = most[{row.kept, row.question}];
    n = std::max(n, row.n_sample + row.n_failed);
  }
  std::map<std::pair<double, QuestionMode>, const SummaryRow*> best;
  for (const SummaryRow& row : summary.rows) {
    if (!is_compressed(row) || row.n_sample < most[{row.kept, row.question}]) continue;
    const SummaryRow*& of = best[{row.kept, row.question}];
    if (of == nullptr || row.kl.value < of->kl.value) of = &row;
  }
  std::vector<Fact> facts;
  const bool apart = modes_apart(evaluation);
  for (const auto& [key, row] : best) {
    Fact& fact = facts.emplace_back();
    fact.name = fmt::format("{} of the {}{}, lowest KL: {}", shown_percent(row->kept),
                            evaluation.setting("match") == "bytes" ? "bytes as budget" : "rows kept",
                            apart ? fmt::format(", question-{}", to_string(row->question)) : "", row->policy);
    fact.value = shown_number(row->kl.value) + " nats";
    if (row->n_pair > 0 && std::isfinite(row->kl_ratio.value)) {
      fact.note = fmt::format("{}\xC3\x97 {}'s{} on {}", shown_number(row->kl_ratio.value, 2), summary.baseline,
                              row->n_pair < 2 ? ""
                                              : fmt::format(" [{}, {}]", shown_number(row->kl_ratio.low, 2),
                                                            shown_number(row->kl_ratio.high, 2)),
                              counted(row->n_pair, "sample"));
    }
  }
  return facts;
}

Section evaluation_section(const Evaluation& evaluation, const std::string& baseline) {
  const std::vector<Contender> contenders = contenders_of(evaluation);
  const std::vector<Run> runs = runs_of(evaluation);
  const bool apart = modes_apart(evaluation);
  const Summary summary = summarise(evaluation.lines, policies_of(evaluation), baseline);
  const std::string suite = evaluation.setting("suite");
  Section section = {.title = suite.empty() ? "Evaluation" : "Policies compared: " + suite,
                     .lede =
                         "Every prompt is prefilled once; each policy's cache is forked from it. KL is between the "
                         "next-token distributions of the full and the compressed cache, over the full cache's "
                         "own answer.",
                     .facts = facts_of(evaluation)};
  if (apart) {
    section.lede +=
        " Aware: the cache was compressed with the question in it. Agnostic: the document alone was compressed, and "
        "the question's rows are held on top. Policies are compared within a mode.";
  }
  std::vector<Contender> compressed = contenders;
  std::erase_if(compressed, [](const Contender& of) { return of.policy == "full"; });
  const auto add = [&section](const std::optional<Figure>& figure) {
    if (figure) section.figures.push_back(*figure);
  };
  add(kl_figure(summary, compressed, kept_label(evaluation)));
  add(bytes_figure(summary, compressed));
  add(paired_figure(summary, compressed));
  add(score_figure(runs, contenders, kept_label(evaluation)));
  add(needle_figure(evaluation, runs));
  section.tables = score_tables(evaluation, runs);
  section.tables.push_back(fidelity_table(summary, apart));
  for (Table table : {paired_table(summary, apart), worst_table(runs, apart), failed_table(runs, apart)}) {
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
  }
  int n_failed = 0;
  for (const SummaryRow& row : summary.rows) n_failed += row.n_failed;
  if (n_failed > 0) section.warnings.push_back(fmt::format("{} measurements failed and count nowhere.", n_failed));
  return section;
}

}  // namespace ripplekv
