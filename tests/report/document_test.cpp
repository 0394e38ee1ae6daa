// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Numbers as they are shown, and the Markdown and CSV of a document: whole, escaped, safe to open in a spreadsheet.
#include "report/document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ripplekv {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Document, Numbers) {
  EXPECT_EQ(shown_number(0), "0");
  EXPECT_EQ(shown_number(0.123456), "0.123");
  EXPECT_EQ(shown_number(-1.5, 2), "-1.5");
  EXPECT_EQ(shown_number(1234.5), "1234");
  EXPECT_EQ(shown_number(0.000012345), "1.23e-05");
  for (const double odd : {kNan, HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(shown_number(odd), "n/a");
    EXPECT_EQ(shown_whole(odd), "n/a");
    EXPECT_EQ(shown_percent(odd), "n/a");
  }
  EXPECT_EQ(shown_whole(1234567), "1,234,567");
  EXPECT_EQ(shown_whole(-999.6), "-1,000");
  EXPECT_EQ(shown_whole(-0.2), "0");
  EXPECT_EQ(shown_percent(0.125), "12.5%");
  EXPECT_EQ(error_cell(2, 0).text, "2.00") << "one sample has no error";
  EXPECT_EQ(error_cell(2, 0.5).text, "2.00 \xC2\xB1 0.50");
  EXPECT_EQ(interval_cell({1, 0.5, 2}, 2, 100).text, "100 [50.0, 200]");
}

Report small_report(const std::string& text) {
  Report report = {.title = text, .facts = {{text, text, text}}};
  Section section = {.title = text, .lede = text, .facts = {{text, text}}, .warnings = {text}};
  section.tables.push_back({.title = text,
                            .columns = {text, "number"},
                            .rows = {{text_cell(text), interval_cell({0.123456789, 0.1, kNan}, 2)},
                                     {text_cell("plain"), error_cell(1, 0.25)}},
                            .groups = {{text, 2}}});
  report.sections.push_back(section);
  return report;
}

TEST(Document, CsvHasEveryNumberUnrounded) {
  EXPECT_EQ(report_csv(small_report("s")),
            "section,table,row,column,value\n"
            "\"s\",\"s\",0,\"s\",\"s\"\n"
            "\"s\",\"s\",0,\"number\",0.123456789\n"
            "\"s\",\"s\",0,\"number low\",0.1\n"
            "\"s\",\"s\",0,\"number high\",\n"
            "\"s\",\"s\",1,\"s\",\"plain\"\n"
            "\"s\",\"s\",1,\"number\",1\n"
            "\"s\",\"s\",1,\"number standard error\",0.25\n");
}

TEST(Document, CsvQuotesAndDisarmsFormulas) {
  const std::string csv = report_csv(small_report("=1+\"x\",\ny"));
  EXPECT_NE(csv.find("\"'=1+\"\"x\"\",\ny\""), std::string::npos) << csv;
  for (const char* formula : {"=a", "+a", "-a", "@a", "\ta"}) {
    EXPECT_NE(report_csv(small_report(formula)).find("\"'" + std::string(formula) + "\""), std::string::npos);
  }
}

TEST(Document, MarkdownIsATable) {
  const std::string markdown = report_markdown(small_report("s"));
  EXPECT_NE(markdown.find("# s\n\n- s: s (s)\n\n## s\n\ns\n\n**s**\n\n- s: s\n\n### s\n\n"), std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("| s | number |\n| --- | --- |\n| s | 0.123 [0.100, n/a] |\n"), std::string::npos)
      << markdown;
}

TEST(Document, MarkdownTextsStayInTheirCell) {
  const std::string markdown = report_markdown(small_report("a|b\nc<script>*x*`"));
  EXPECT_EQ(markdown.find("<script"), std::string::npos);
  EXPECT_NE(markdown.find("| a\\|b c&lt;script&gt;\\*x\\*\\` | 0.123"), std::string::npos) << markdown;
}

}  // namespace
}  // namespace ripplekv
