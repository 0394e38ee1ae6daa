// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/text.h"

namespace ripplekv {
namespace {

using nlohmann::json;

// A failed sample may have been tried again: what was measured counts, else the last line.
using BySample = std::map<std::string, const ResultLine*>;

// In the order of the summary's rows: kept fraction, place of the policy, question.
using Key = std::tuple<double, size_t, QuestionMode>;

std::map<Key, BySample> lines_by_key(const std::vector<ResultLine>& lines, const std::vector<std::string>& policies) {
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < policies.size(); ++i) places.emplace(policies[i], i);
  std::map<Key, BySample> by_key;
  for (const ResultLine& line : lines) {
    const auto place = places.find(line.policy);
    if (place == places.end()) continue;
    const ResultLine*& known = by_key[{line.kept, place->second, line.question}][line.sample];
    if (known == nullptr || line.error.empty() || !known->error.empty()) known = &line;
  }
  return by_key;
}

SummaryRow row_of(const BySample& lines) {
  SummaryRow row;
  std::vector<double> kl;
  std::vector<double> top1;
  std::vector<double> scores;
  std::vector<double> held;
  for (const auto& [sample, line] : lines) {
    if (!line->error.empty()) {
      ++row.n_failed;
      continue;
    }
    ++row.n_sample;
    if (line->compared && (kl.empty() || line->kl > row.kl_worst)) {
      row.kl_worst = line->kl;
      row.worst_sample = sample;
    }
    if (line->compared) kl.push_back(line->kl);
    if (line->compared) top1.push_back(line->top1);
    if (line->score >= 0) scores.push_back(line->score);
    row.rows += static_cast<double>(line->rows);
    if (line->held >= 0) held.push_back(line->held);
    row.bytes += static_cast<double>(line->bytes);
    row.nll += line->nll;
  }
  if (row.n_sample == 0) return row;
  row.n_compared = static_cast<int>(kl.size());
  if (!kl.empty()) {
    row.kl = bootstrap_mean(kl);
    row.kl_median = median_of(kl);
    row.top1 = bootstrap_mean(top1);
  }
  if (!scores.empty()) row.score = mean_of(scores);
  if (!held.empty()) row.held = mean_of(held);
  row.rows /= row.n_sample;
  row.bytes /= row.n_sample;
  row.nll /= row.n_sample;
  return row;
}

void compare(const BySample& lines, const BySample& baseline, SummaryRow& row) {
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& [sample, line] : lines) {
    const auto other = baseline.find(sample);
    if (other == baseline.end() || !line->error.empty() || !other->second->error.empty()) continue;
    if (!line->compared || !other->second->compared) continue;
    x.push_back(line->kl);
    y.push_back(other->second->kl);
  }
  row.n_pair = static_cast<int>(x.size());
  if (x.empty()) return;
  row.kl_ratio = bootstrap_ratio(x, y);
  row.sign_p = sign_test(x, y);
}

// One sample has no interval.
std::string text_of(const Interval& interval, int n_decimal, int n) {
  if (n < 2) return fmt::format("{:.{}f}", interval.value, n_decimal);
  return fmt::format("{1:.{0}f} [{2:.{0}f}, {3:.{0}f}]", n_decimal, interval.value, interval.low, interval.high);
}

nlohmann::ordered_json json_of(const Interval& interval) {
  return {{"value", interval.value}, {"lo", interval.low}, {"hi", interval.high}};
}

}  // namespace

Summary summarise(const std::vector<ResultLine>& lines, const std::vector<std::string>& policies,
                  const std::string& baseline) {
  Summary summary;
  summary.baseline = baseline;
  for (const std::string& policy : policies) {
    if (summary.baseline.empty() && policy != "full") summary.baseline = policy;
  }
  std::vector<std::string> known = policies;
  known.push_back(summary.baseline);  // which need not be listed
  const auto of_baseline = static_cast<size_t>(std::find(known.begin(), known.end(), summary.baseline) - known.begin());
  const std::map<Key, BySample> by_key = lines_by_key(lines, known);
  for (const auto& [key, of_policy] : by_key) {
    const auto& [kept, place, question] = key;
    if (place >= policies.size()) continue;
    SummaryRow row = row_of(of_policy);
    row.policy = policies[place];
    row.question = question;
    row.kept = kept;
    const auto baseline_lines = by_key.find({kept, of_baseline, question});
    if (place != of_baseline && baseline_lines != by_key.end()) compare(of_policy, baseline_lines->second, row);
    summary.rows.push_back(std::move(row));
  }
  return summary;
}

std::string summary_table(const Summary& summary) {
  const bool scored =
      std::any_of(summary.rows.begin(), summary.rows.end(), [](const SummaryRow& row) { return row.score >= 0; });
  const bool apart = std::any_of(summary.rows.begin(), summary.rows.end(),
                                 [](const SummaryRow& row) { return row.question == QuestionMode::kAgnostic; });
  const bool compared = !summary.baseline.empty();
  std::string text = fmt::format(
      "| kept | policy |{} samples | rows | held | bytes | mean KL [95%] | median | worst | top-1 |{}{}\n"
      "| --- | --- |{} --- | --- | --- | --- | --- | --- | --- | --- |{}{}\n",
      apart ? " question |" : "", scored ? " score |" : "",
      compared ? fmt::format(" KL / {} [95%] | sign test |", summary.baseline) : "", apart ? " --- |" : "",
      scored ? " --- |" : "", compared ? " --- | --- |" : "");
  for (const SummaryRow& row : summary.rows) {
    text += fmt::format("| {:g}% | {} |{} ", row.kept * 100, row.policy,
                        apart ? fmt::format(" {} |", to_string(row.question)) : "");
    if (row.n_sample == 0) {
      text += fmt::format("0 ({} failed) | - | - | - | - | - | - | - |{}{}\n", row.n_failed, scored ? " - |" : "",
                          compared ? " | |" : "");
      continue;
    }
    text += fmt::format("{}{} | {:.0f} | {} | {} |", row.n_sample,
                        row.n_failed > 0 ? fmt::format(" ({} failed)", row.n_failed) : "", row.rows,
                        row.held >= 0 ? fmt::format("{:.1f}%", 100 * row.held) : "-",
                        human_bytes(static_cast<int64_t>(row.bytes)));
    text += row.n_compared > 0
                ? fmt::format(" {} | {:.4f} | {:.3f} ({}) | {:.3f} |", text_of(row.kl, 4, row.n_compared),
                              row.kl_median, row.kl_worst, row.worst_sample, row.top1.value)
                : std::string(" - | - | - | - |");
    if (scored) text += row.score >= 0 ? fmt::format(" {:.2f} |", 100 * row.score) : " |";
    if (row.n_pair > 0) {
      // Nothing is so many times a baseline that is exact.
      const bool has_ratio = std::isfinite(row.kl_ratio.value);
      text += has_ratio ? fmt::format(" {} | p = {:.2g} |", text_of(row.kl_ratio, 3, row.n_pair), row.sign_p)
                        : std::string(" - | - |");
    } else if (compared) {
      text += " | |";
    }
    text += '\n';
  }
  return text;
}

nlohmann::ordered_json summary_json(const Summary& summary) {
  nlohmann::ordered_json rows = nlohmann::json::array();
  for (const SummaryRow& row : summary.rows) {
    if (row.n_sample == 0) {
      rows.push_back({{"policy", row.policy},
                      {"question", to_string(row.question)},
                      {"kept", row.kept},
                      {"samples", 0},
                      {"failed", row.n_failed},
                      {"kl", nullptr}});
      continue;
    }
    nlohmann::ordered_json entry = {{"policy", row.policy},   {"question", to_string(row.question)},
                                    {"kept", row.kept},       {"samples", row.n_sample},
                                    {"failed", row.n_failed}, {"rows", row.rows},
                                    {"bytes", row.bytes},     {"held", row.held >= 0 ? json(row.held) : json()},
                                    {"nll", row.nll},         {"compared", row.n_compared}};
    if (row.n_compared > 0) {
      entry["kl"] = json_of(row.kl);
      entry["kl_median"] = row.kl_median;
      entry["kl_worst"] = row.kl_worst;
      entry["worst_sample"] = row.worst_sample;
      entry["top1"] = json_of(row.top1);
    } else {
      entry["kl"] = nullptr;
    }
    if (row.score >= 0) entry["score"] = row.score;
    if (row.n_pair > 0) {
      entry["pairs"] = row.n_pair;
      entry["kl_ratio"] = json_of(row.kl_ratio);
      entry["sign_p"] = row.sign_p;
    }
    rows.push_back(std::move(entry));
  }
  return {{"baseline", summary.baseline}, {"rows", rows}};
}

}  // namespace ripplekv
