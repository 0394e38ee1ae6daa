// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From inputs to a document and its page: what is missing is left out, numbers are those of the inputs, hostile texts
// stay texts. How a browser shows it: browser_test.cpp.
#include "report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/utf8.h"
#include "report/samples.h"

namespace ripplekv {
namespace {

using test::all_inputs;
using test::count_of;

Report report_of(const ReportInputs& inputs) {
  const auto report = make_report(inputs);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *report : Report();
}

const Table& table_of(const Section& section, const std::string& title) {
  for (const Table& table : section.tables) {
    if (table.title.starts_with(title)) return table;
  }
  ADD_FAILURE() << "no table " << title;
  static const Table kNone;
  return kNone;
}

// Texts of a row.
std::vector<std::string> texts(const std::vector<Cell>& row) {
  std::vector<std::string> out;
  for (const Cell& cell : row) out.push_back(cell.text);
  return out;
}

TEST(Report, WhatIsMissingIsLeftOut) {
  const std::vector<std::pair<std::string, std::function<void(ReportInputs&, const ReportInputs&)>>> parts = {
      {"Which layers matter", [](auto& to, const auto& from) { to.profile = from.profile; }},
      {"Rows for each layer", [](auto& to, const auto& from) { to.budgets = from.budgets; }},
      {"Policies compared: longbench", [](auto& to, const auto& from) { to.evaluations = {from.evaluations[0]}; }},
      {"Policies compared: needle", [](auto& to, const auto& from) { to.evaluations = {from.evaluations[1]}; }},
      {"How well sensitivities foretell damage", [](auto& to, const auto& from) { to.validation = from.validation; }},
      {"Speed", [](auto& to, const auto& from) { to.bench = from.bench; }}};
  for (const auto& [title, give] : parts) {
    ReportInputs inputs;
    give(inputs, all_inputs());
    const Report report = report_of(inputs);
    ASSERT_EQ(report.sections.size(), 1U);
    EXPECT_EQ(report.sections[0].title, title);
    EXPECT_FALSE(report.sections[0].figures.empty()) << title;
    EXPECT_FALSE(report.sections[0].tables.empty()) << title;
    const std::string page = report_html(report);
    EXPECT_EQ(count_of(page, "<section"), 1U);
    EXPECT_EQ(count_of(page, "<figure>"), report.sections[0].figures.size());
  }
  EXPECT_EQ(report_of(all_inputs()).sections.size(), parts.size());
  EXPECT_TRUE(report_of(ReportInputs()).sections.empty());
}

TEST(Report, NoEmptyFigures) {
  ReportInputs inputs;
  inputs.profile = test::small_profile();
  inputs.profile->settings.curve_fractions.clear();
  for (ProfileSample& sample : inputs.profile->samples) sample.damage.clear();
  EXPECT_EQ(report_of(inputs).sections[0].figures.size(), 2U) << "sensitivity and halves, no damage";
  inputs.profile->samples.pop_back();
  EXPECT_EQ(report_of(inputs).sections[0].figures.size(), 1U) << "one sample has no halves";
  EXPECT_EQ(report_of(inputs).sections[0].warnings.size(), 2U) << "unfinished, and noise unknown";
  inputs.profile->samples.clear();
  EXPECT_TRUE(report_of(inputs).sections[0].figures.empty());

  ReportInputs failed;
  failed.evaluations = {test::small_needles()};
  for (ResultLine& line : failed.evaluations[0].lines) line.error = "no memory";
  const Report report = report_of(failed);
  EXPECT_TRUE(report.sections[0].figures.empty());
  EXPECT_EQ(table_of(report.sections[0], "Failed").rows.size(), 4U);
  EXPECT_EQ(report.sections[0].warnings.size(), 1U);
  failed.evaluations[0].lines.clear();
  EXPECT_TRUE(report_of(failed).sections.empty());

  ReportInputs nothing_measured;
  nothing_measured.bench = {{"decode", "p", "", "", 1, kNoValue, kNoValue, kNoValue}};
  EXPECT_TRUE(report_of(nothing_measured).sections[0].figures.empty());
}

TEST(Report, ProfileNumbers) {
  const Section section = profile_section(test::small_profile());
  EXPECT_EQ(section.figures.size(), 4U);
  const Table& table = table_of(section, "Layers");
  ASSERT_EQ(table.rows.size(), 4U);
  // Means of 0.02 and 0.06; standard error |a - b| / 2.
  EXPECT_NEAR(table.rows[1][1].numbers[0], 0.04, 1e-12);
  EXPECT_NEAR(table.rows[1][1].numbers[1], 0.02, 1e-12);
  EXPECT_NEAR(table.rows[0][3].numbers[0], 0.2, 1e-12) << "damage at 10%";
  EXPECT_NEAR(table.rows[3][4].numbers[0], 0.2, 1e-12) << "damage at 20%";

  Profile sliding = test::small_profile();
  sliding.model.sliding_layers = {1};
  sliding.model.sliding_window = 16;
  const Section without = profile_section(sliding);
  EXPECT_EQ(texts(table_of(without, "Layers").rows[1])[0], "2") << "layers with a window are not measured";
}

TEST(Report, BudgetRows) {
  ReportInputs inputs;
  inputs.profile = test::small_profile();
  inputs.budgets = {test::small_budgets(), test::small_budgets("b.json")};
  inputs.budgets[0].budgets.profile_hash = hash_of(*inputs.profile);
  inputs.budgets[1].budgets.profile_hash = test::kFingerprint;
  inputs.n_prompt = 1600;  // B = 1600: weights of 1, 1, 2 and 4 of 8
  const auto section = budgets_section(inputs);
  ASSERT_TRUE(section.ok()) << section.status().message();
  const Table& layers = table_of(*section, "Rows of each layer");
  EXPECT_EQ(texts(layers.rows[0]), (std::vector<std::string>{"0", "200", "200"}));
  EXPECT_EQ(texts(layers.rows[3]), (std::vector<std::string>{"3", "800", "800"}));
  const Table& files = table_of(*section, "Budgets files");
  EXPECT_EQ(texts(files.rows[0])[6], "1,600");
  EXPECT_EQ(texts(files.rows[0])[7], "25%");
  EXPECT_EQ(texts(files.rows[0]).back(), "yes");
  EXPECT_EQ(texts(files.rows[1]).back(), "no");

  inputs.budgets[0].budgets.budget = {KvBudget::Kind::kBytes, 1 << 20};
  const auto bytes = budgets_section(inputs);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->warnings.size(), 1U);
  EXPECT_EQ(table_of(*bytes, "Rows of each layer").columns, (std::vector<std::string>{"layer", "b.json"}));

  inputs.n_prompt = 100;  // 25 rows a layer: fewer than the window and eight
  const auto small = budgets_section(inputs);
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.status().message().find("b.json: "), std::string::npos) << small.status().message();
}

TEST(Report, ScoresAsInThePaper) {
  const Section section = evaluation_section(test::small_evaluation(), "");
  const Table& groups = table_of(section, "Scores by group");
  EXPECT_EQ(groups.columns, (std::vector<std::string>{"kept", "policy", "single-document QA", "code", "average"}));
  ASSERT_EQ(groups.rows.size(), 5U);
  EXPECT_EQ(texts(groups.rows[1]), (std::vector<std::string>{"10%", "b", "75.0", "50.0", "62.5"}));
  EXPECT_EQ(texts(groups.rows[4]), (std::vector<std::string>{"100%", "full", "80.0", "80.0", "80.0"}));
  const Table& tasks = table_of(section, "Scores by task");
  EXPECT_EQ(tasks.columns, (std::vector<std::string>{"kept", "policy", "narrativeqa", "qasper", "lcc",
                                                     "mean of samples [95%]", "samples"}));
  EXPECT_EQ(tasks.groups,
            (std::vector<std::pair<std::string, int>>{{"", 2}, {"single-document QA", 2}, {"code", 1}, {"", 2}}));
  int n = 0;
  for (const auto& [name, columns] : tasks.groups) n += columns;
  EXPECT_EQ(static_cast<size_t>(n), tasks.columns.size());
}

TEST(Report, PairedDifferencesAndWorstSamples) {
  const Section section = evaluation_section(test::small_evaluation(), "");
  const Table& paired = table_of(section, "Against a on the same samples");
  ASSERT_EQ(paired.rows.size(), 2U) << "b at 10% and 20%; full is no compression";
  EXPECT_EQ(texts(paired.rows[0]), (std::vector<std::string>{"10%", "b", "6", "0.500 [0.500, 0.500]", "0.031"}))
      << "six of six pairs lower: 2 / 2^6";
  const Table& worst = table_of(section, "Worst samples");
  ASSERT_EQ(worst.rows.size(), 2U * 2 * 3);
  EXPECT_EQ(texts(worst.rows[0])[2], "lcc:1");
  EXPECT_NEAR(worst.rows[0][4].numbers[0], 0.7, 1e-12);
  EXPECT_EQ(texts(worst.rows[3]).back(), "answer of b");
  const Section other = evaluation_section(test::small_evaluation(), "b");
  EXPECT_EQ(table_of(other, "Against b").rows[0][3].numbers[0], 2);
  EXPECT_EQ(section.figures.size(), 4U) << "KL by rows and by bytes, ratios, scores";
}

TEST(Report, NeedleMap) {
  for (const bool scored : {true, false}) {
    const Section section = evaluation_section(test::small_needles(scored), "");
    const auto map = std::find_if(section.figures.begin(), section.figures.end(), [](const Figure& figure) {
      return figure.markup.find("Needle in a haystack") != std::string::npos;
    });
    ASSERT_NE(map, section.figures.end());
    EXPECT_EQ(count_of(map->markup, "<rect class=\"cell q"), 2U * 4);
    EXPECT_EQ(count_of(map->markup, "tokens 2,048, depth 50%: " + std::string(scored ? "0<" : "2.0<")), 2U);
    EXPECT_EQ(count_of(map->markup, "tokens 1,024, depth 50%: " + std::string(scored ? "100<" : "0.010<")), 2U);
  }
  Evaluation strange = test::small_needles();
  for (ResultLine& line : strange.lines) line.sample = "needle:a:b:c";
  for (const Figure& figure : evaluation_section(strange, "").figures) {
    EXPECT_EQ(figure.markup.find("haystack"), std::string::npos);
  }
}

TEST(Report, SpeedAndValidation) {
  const Section speed = bench_section(test::small_bench());
  EXPECT_EQ(speed.figures.size(), 2U) << "decode and prefill";
  EXPECT_EQ(table_of(speed, "Speed").rows.size(), 3U) << "also what was not measured";
  EXPECT_EQ(texts(table_of(speed, "Speed").rows[2])[4], "n/a");
  const Section validation = validation_section(test::small_validation());
  ASSERT_EQ(validation.figures.size(), 1U);
  EXPECT_NE(validation.figures[0].markup.find("20% kept: n/a"), std::string::npos);
}

TEST(Report, UnknownBaseline) {
  ReportInputs inputs;
  inputs.evaluations = {test::small_evaluation(), test::small_needles()};
  inputs.baseline = "b";  // the needles have none, and take their first
  EXPECT_TRUE(make_report(inputs).ok());
  inputs.baseline = "c";
  const auto report = make_report(inputs);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("--baseline: got 'c'"), std::string::npos);
}

TEST(Report, SeveralEvaluationsHaveTitlesOfTheirOwn) {
  const Report report = report_of(all_inputs());
  std::vector<std::string> titles;
  for (const Section& section : report.sections) titles.push_back(section.title);
  std::sort(titles.begin(), titles.end());
  EXPECT_EQ(std::adjacent_find(titles.begin(), titles.end()), titles.end());
}

// Text of a page between tags, and tags alone.
std::string tags_of(const std::string& page) {
  std::string tags;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find_first_of(" >", at);
    tags += page.substr(at, end - at) + "\n";
  }
  return tags;
}

TEST(Report, HostileTextsChangeNoMarkup) {
  const std::string harmless = tags_of(report_html(report_of(all_inputs("x"))));
  for (const std::string& text :
       {std::string("<script>alert(1)</script>"), std::string("</title></style></svg><img src=x onerror=alert(1)>"),
        std::string("\" onmouseover=\"alert(1)"), std::string("' onload='x"), std::string("<!--"), std::string("]]>"),
        std::string("&lt;b&gt;"), std::string("\xFF\xFE\xE2\x80\xAE"), std::string("{}{0}%s\n\t")}) {
    ReportInputs inputs = all_inputs(text);
    const Report report = report_of(inputs);
    const std::string page = report_html(report);
    EXPECT_EQ(tags_of(page), harmless) << text;
    EXPECT_TRUE(valid_utf8(page)) << text;
    EXPECT_TRUE(valid_utf8(report_csv(report))) << text;
    EXPECT_TRUE(valid_utf8(report_markdown(report))) << text;
    // An attribute can only be left by its quote.
    EXPECT_EQ(count_of(page, "onmouseover=\""), 0U);
    EXPECT_EQ(count_of(page, "onload='"), 0U);
  }
}

TEST(Report, PageLoadsNothingAndRunsNothing) {
  const std::string page = report_html(report_of(all_inputs()));
  for (const char* loads : {"http:", "https:", " src=", "url(", "@import", "<script", "<link", "<img", "<iframe",
                            "javascript:", " onclick", "xlink"}) {
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  }
  EXPECT_NE(page.find("Content-Security-Policy\"\n content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri"),
            std::string::npos);
  EXPECT_EQ(count_of(page, "aria-label=\""),
            count_of(page, "role=\"img\"") + count_of(page, "<table>") + count_of(page, "<nav"));
}

}  // namespace
}  // namespace ripplekv
