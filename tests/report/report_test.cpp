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
      {"Speed and memory", [](auto& to, const auto& from) { to.bench = from.bench; }}};
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
  nothing_measured.bench = {{.work = "decode", .policy = "p", .context = 1}};
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

  // Heads with rows of their own are a map; layer 1 has equal parts.
  EXPECT_EQ(section->figures.size(), 1U);
  Budgets& by_heads = inputs.budgets[1].budgets;
  by_heads.model.layer = {.head_dim = 64, .n_head_kv = 2};
  by_heads.head_shares = {{0.25, 0.75}, {}, {0.5, 0.5}, {0.6, 0.4}};
  const auto with_heads = budgets_section(inputs);
  ASSERT_TRUE(with_heads.ok()) << with_heads.status().message();
  EXPECT_EQ(with_heads->figures.size(), 2U);
  const Table& heads = table_of(*with_heads, "Rows of each KV head (b.json)");
  EXPECT_EQ(texts(heads.rows[0]), (std::vector<std::string>{"0", "100", "300"}));
  EXPECT_EQ(texts(heads.rows[1]), (std::vector<std::string>{"1", "200", "200"}));
  EXPECT_EQ(texts(heads.rows[3]), (std::vector<std::string>{"3", "960", "640"}));

  // Bytes are rows with the shape of the model's rows; artefacts without it are refused by name.
  Budgets& of_bytes = inputs.budgets[0].budgets;
  of_bytes.model.layer = {.head_dim = 64, .n_head_kv = 2};
  of_bytes.budget = {KvBudget::Kind::kBytes, 1600.0 * static_cast<double>(bytes_per_row(of_bytes.model.layer, {}))};
  const auto bytes = budgets_section(inputs);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(texts(table_of(*bytes, "Rows of each layer").rows[3]), (std::vector<std::string>{"3", "800", "800"}));
  of_bytes.model.layer = {};
  EXPECT_NE(budgets_section(inputs).status().message().find("a.json: budgets that count bytes"), std::string::npos);
  of_bytes = test::small_budgets().budgets;

  inputs.n_prompt = 100;  // 25 rows a layer: fewer than the window and eight
  const auto small = budgets_section(inputs);
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.status().message().find("a.json: "), std::string::npos) << small.status().message();
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
  const Table& speeds = table_of(speed, "Benchmarks in tokens/s: more is better");
  EXPECT_EQ(speeds.rows.size(), 3U) << "also what was not measured";
  EXPECT_EQ(texts(speeds.rows[2])[5], "n/a");
  const Section validation = validation_section(test::small_validation());
  ASSERT_EQ(validation.figures.size(), 1U);
  EXPECT_NE(validation.figures[0].markup.find("20% kept: n/a"), std::string::npos);
}

const Figure* figure_of(const Section& section, const std::string& title) {
  for (const Figure& figure : section.figures) {
    if (figure.markup.find("<b>" + title + "</b>") != std::string::npos) return &figure;
  }
  return nullptr;
}

TEST(Report, EachWorkHasItsUnitAndItsBetterSide) {
  BenchRow first = test::small_bench()[0];
  first.work = "first_token";
  first.unit = BenchUnit::kSeconds;
  first.figure = 0.5;
  first.peer_figure = 1;
  first.ratio = 0.5;
  BenchRow memory = first;
  memory.work = "memory";
  memory.unit = BenchUnit::kBytes;
  memory.figure = 3 << 20;
  memory.peer_figure = 2 << 20;
  memory.ratio = 1.5;
  BenchRow other = memory;
  other.formats = "q8_0";
  other.peer = "ripplekv";
  other.peer_setting = "full cache";
  const Section section = bench_section({first, memory, other, test::small_bench()[0]});
  const Table& bytes = table_of(section, "Benchmarks in bytes: less is better");
  EXPECT_EQ(texts(bytes.rows[0]), (std::vector<std::string>{"memory", "8,192", "snapkv", "10%", "", "3.0 MiB",
                                                            "llama.cpp", "2.0 MiB", "1.50"}));
  EXPECT_EQ(bytes.rows[0][5].numbers[0], 3 << 20);
  EXPECT_EQ(texts(bytes.rows[1])[6], "ripplekv (full cache)");
  EXPECT_EQ(texts(table_of(section, "Benchmarks in seconds: less is better").rows[0])[5], "0.500 s");
  EXPECT_EQ(table_of(section, "Benchmarks in tokens/s: more is better").rows.size(), 1U);

  const Figure* time = figure_of(section, "Time to the first token, loading included");
  const Figure* space = figure_of(section, "Memory above the weights");
  const Figure* speed = figure_of(section, "Speed of decode");
  ASSERT_TRUE(time != nullptr && space != nullptr && speed != nullptr);
  EXPECT_NE(time->markup.find("Left of it, under 1, is better"), std::string::npos) << time->markup;
  EXPECT_NE(speed->markup.find("Right of it, over 1, is better"), std::string::npos) << speed->markup;
  EXPECT_NE(time->markup.find("fill k0"), std::string::npos) << "0.5 of the peer's seconds is the better side";
  EXPECT_EQ(space->markup.find("fill k0"), std::string::npos) << "1.5 of the peer's bytes is the worse";
  EXPECT_NE(space->markup.find("snapkv 10% q8_0"), std::string::npos) << "formats tell rows apart";

  for (BenchRow* alone : {&first, &memory}) alone->ratio = alone->peer_figure = kNoValue;
  const Section without = bench_section({first, memory});
  ASSERT_EQ(without.figures.size(), 2U) << "figures without a peer";
  EXPECT_NE(without.figures[1].markup.find("snapkv 10%: 3.0 MiB"), std::string::npos) << without.figures[1].markup;
}

TEST(Report, QuestionModesStayApart) {
  const Evaluation both = test::both_modes();
  const Section section = evaluation_section(both, "");
  for (const char* title : {"Fidelity", "Against a", "Worst", "Scores by task", "Scores by group"}) {
    const Table& table = table_of(section, title);
    ASSERT_EQ(table.columns[2], "question") << title;
    std::vector<std::vector<std::string>> heads;  // those of the worst samples stand three times
    for (const auto& row : table.rows) heads.push_back(texts({row.begin(), row.begin() + (title[0] == 'W' ? 4 : 3)}));
    std::sort(heads.begin(), heads.end());
    EXPECT_EQ(std::adjacent_find(heads.begin(), heads.end()), heads.end()) << title << ": rows look alike";
  }
  EXPECT_EQ(table_of(section, "Fidelity").rows.size(), 2U * 5);
  const Table& paired = table_of(section, "Against a");
  ASSERT_EQ(paired.rows.size(), 4U);
  EXPECT_EQ(texts(paired.rows[0])[2], "aware");
  EXPECT_NEAR(paired.rows[0][4].numbers[0], 0.5, 1e-12);
  EXPECT_EQ(texts(paired.rows[1])[2], "agnostic");
  EXPECT_NEAR(paired.rows[1][4].numbers[0], 2, 1e-12) << "against the agnostic baseline";
  EXPECT_NEAR(table_of(section, "Worst").rows[0][5].numbers[0], 0.7, 1e-12) << "of the aware lines alone";
  for (const Figure& figure : section.figures) {
    EXPECT_NE(figure.markup.find("b, aware"), std::string::npos) << figure.markup;
    EXPECT_NE(figure.markup.find("b, agnostic"), std::string::npos) << figure.markup;
  }

  const std::vector<Fact> facts = evaluation_highlights(both, "");
  ASSERT_EQ(facts.size(), 4U) << "two fractions in two modes";
  EXPECT_EQ(facts[0].name, "10% of the rows kept, question-aware, lowest KL: b");
  EXPECT_EQ(facts[1].name, "10% of the rows kept, question-agnostic, lowest KL: a");

  const Section aware = evaluation_section(test::small_evaluation(), "");
  EXPECT_EQ(table_of(aware, "Fidelity").columns[2], "samples") << "nothing to tell apart";
  EXPECT_EQ(evaluation_highlights(test::small_evaluation(), "")[0].name, "10% of the rows kept, lowest KL: b");
}

// A mean over the easy half of the samples wins nothing.
TEST(Report, WhoFailsOnSomeSamplesIsNotTheBest) {
  Evaluation failing = test::small_evaluation();
  for (ResultLine& line : failing.lines) {
    if (line.policy == "b" && line.sample.ends_with(":1")) line.error = "too few rows";
  }
  EXPECT_EQ(evaluation_highlights(failing, "")[0].name, "10% of the rows kept, lowest KL: a");
  Evaluation missing = test::small_evaluation();
  std::erase_if(missing.lines,
                [](const ResultLine& line) { return line.policy == "b" && line.sample.ends_with(":1"); });
  EXPECT_EQ(evaluation_highlights(missing, "")[0].name, "10% of the rows kept, lowest KL: a");
}

// Samples that end at once have a score and no KL; one sample has no interval.
TEST(Report, WhatIsNotComparedHasNoKl) {
  Evaluation of = test::small_evaluation();
  for (ResultLine& line : of.lines) line.compared = line.sample == "lcc:0";
  const Section section = evaluation_section(of, "");
  const Table& fidelity = table_of(section, "Fidelity");
  EXPECT_EQ(texts(fidelity.rows[0])[6].find('['), std::string::npos) << texts(fidelity.rows[0])[6];
  EXPECT_EQ(texts(fidelity.rows[0])[2], "6");
  for (ResultLine& line : of.lines) line.compared = false;
  EXPECT_EQ(texts(table_of(evaluation_section(of, ""), "Fidelity").rows[0])[6], "n/a");
  EXPECT_TRUE(evaluation_highlights(of, "").empty());
}

TEST(Report, WhatIsDrawnIsBoundedAndSaysSo) {
  constexpr int kMany = 20000;
  ReportInputs inputs;
  for (int i = 0; i < kMany; ++i) {
    inputs.bench.push_back(test::small_bench("p" + std::to_string(i))[0]);
    inputs.bench.back().work = "work" + std::to_string(i % 1000);
  }
  inputs.validation.emplace();
  for (int i = 0; i < kMany; ++i) inputs.validation->rows.push_back({"s" + std::to_string(i), 0.1, 0.5, 0.4, 0.6});
  const Report report = report_of(inputs);
  const std::string page = report_html(report);
  for (const char* note :
       {"The charts are of the first 500 of 20,000 records.", "The first 500 of 20,000 values are drawn.",
        "The first 1,000 of 20,000 rows are shown; the .csv has all."}) {
    EXPECT_NE(page.find(note), std::string::npos) << note;
  }
  // 500 charts of one bar with their frames, 500 bars, 2,000 rows of tables: each below 5 kB.
  EXPECT_LT(page.size(), 3000U * 5000);
  EXPECT_NE(report_markdown(report).find("The first 1,000 of 20,000 rows"), std::string::npos);
  EXPECT_EQ(report_markdown(report).find("p19999"), std::string::npos);
  EXPECT_NE(report_csv(report).find("p19999"), std::string::npos);
  EXPECT_EQ(report_html(report_of(all_inputs())).find("The first "), std::string::npos);

  Evaluation needles = test::small_needles();
  for (int i = 0; i < 200; ++i) {
    ResultLine line = needles.lines[0];
    line.sample = "needle:" + std::to_string(10 + i) + ":0." + std::to_string(10 + i) + ":0";
    needles.lines.push_back(line);
  }
  const std::string map = figure_of(evaluation_section(needles, ""), "Needle in a haystack: score")->markup;
  EXPECT_NE(map.find("The first 50 of 202 lengths are drawn."), std::string::npos);
  EXPECT_EQ(count_of(map, "<rect class=\"cell "), 2U * 50 * 50);
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
