// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Charts as markup: one mark for each value that can be drawn, none for others, no figure without a mark; scales and
// ticks; names escaped. Each chart is drawn twice (wide and narrow), so marks count double.
#include "report/charts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "report/samples.h"

namespace ripplekv {
namespace {

using test::count_of;

TEST(Svg, RulerKeepsOrderAndClamps) {
  const Ruler log(Scale::kLog, 0.01, 1, 0, 100);
  EXPECT_NEAR(log(0.01), 0, 1e-9);
  EXPECT_NEAR(log(0.1), 50, 1e-9);
  EXPECT_NEAR(log(1), 100, 1e-9);
  EXPECT_NEAR(log(1e-9), 0, 1e-9);
  EXPECT_NEAR(log(1e9), 100, 1e-9);
  const Ruler down(Scale::kLinear, 0, 2, 100, 0);  // as y does
  EXPECT_NEAR(down(0.5), 75, 1e-9);
}

TEST(Svg, RangesOfAnything) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values;
    for (int k = 0; k < i % 4; ++k)
      values.push_back((random.uniform() - 0.5) * std::pow(10, random.uniform() * 40 - 20));
    if (i % 3 == 0) values.push_back(std::nan(""));
    if (i % 5 == 0) values.push_back(HUGE_VAL);
    for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
      const Range range = range_of(values, scale, i % 2 == 0);
      ASSERT_TRUE(std::isfinite(range.low) && std::isfinite(range.high));
      ASSERT_LT(range.low, range.high);
      const std::vector<double> ticks = round_ticks(range, scale, 5);
      ASSERT_LE(ticks.size(), 60U);
      for (const double tick : ticks) ASSERT_TRUE(tick >= range.low * (1 - 1e-9) - 1e-9 * std::abs(range.high)) << tick;
    }
  }
  EXPECT_EQ(round_ticks({0, 10}, Scale::kLinear, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks({0.5, 30}, Scale::kLog, 5), (std::vector<double>{0.5, 1, 2, 5, 10, 20}));
  for (const double tick : round_ticks({-1, 1}, Scale::kLinear, 4)) EXPECT_NE(shown_tick(tick, Unit::kNumber), "-0");
}

TEST(Svg, TextsAreCutToTheirWidth) {
  const std::string name(200, 'x');
  EXPECT_EQ(fitted("short", 100, 12), "short");
  EXPECT_LE(text_width(fitted(name, 100, 12), 12), 100);
  EXPECT_TRUE(fitted(name, 100, 12).ends_with("x\xE2\x80\xA6"));
  EXPECT_EQ(fitted("two\nlines", 100, 12), "two lines");
}

XyChart lines_of(std::vector<double> y, Scale scale = Scale::kLinear) {
  XyChart chart = {.title = "T", .y = {.label = "y", .scale = scale}, .series = {{.name = "s"}}};
  for (size_t i = 0; i < y.size(); ++i) chart.series[0].points.push_back({static_cast<double>(i), y[i]});
  return chart;
}

TEST(XyChart, OneMarkForEachValue) {
  const auto figure = draw(lines_of({1, std::nan(""), 3, HUGE_VAL, 0}));
  ASSERT_TRUE(figure.has_value());
  EXPECT_EQ(count_of(figure->markup, "<circle class=\"pt"), 2U * 3);
  EXPECT_EQ(count_of(figure->markup, "class=\"hit\""), 2U * 3);
  EXPECT_EQ(count_of(figure->markup, "nan"), 0U);
  EXPECT_EQ(count_of(figure->markup, "inf"), 0U);
  EXPECT_EQ(count_of(figure->markup, "role=\"img\" aria-label=\"T."), 2U);
  // The line is broken where there is no value: a start, a piece of its own for 3, and one for 0.
  EXPECT_NE(figure->markup.find("<path class=\"ln k0\" d=\"M"), std::string::npos);
}

TEST(XyChart, LogScalesLeaveOutWhatTheyCannotShow) {
  const auto figure = draw(lines_of({0, -1, 0.1, 0.01}, Scale::kLog));
  ASSERT_TRUE(figure.has_value());
  EXPECT_EQ(count_of(figure->markup, "<circle class=\"pt"), 2U * 2);
  EXPECT_FALSE(draw(lines_of({0, 0, -2}, Scale::kLog)).has_value());
}

TEST(XyChart, ExtremesStayFinite) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    for (const std::vector<double>& values : std::vector<std::vector<double>>{
             {1e308, -1e308, 1}, {1e300, -1e300}, {1e-320, 1e-300, 2}, {1e-280, 1e290}, {5e-324}, {-0.0, 0.0}}) {
      const auto figure = draw(lines_of(values, scale));
      if (!figure) continue;
      EXPECT_EQ(count_of(figure->markup, "nan"), 0U) << values[0];
      EXPECT_EQ(count_of(figure->markup, "inf"), 0U) << values[0];
      EXPECT_EQ(count_of(figure->markup, ">-0<"), 0U) << values[0];
    }
  }
}

TEST(XyChart, NoMarkNoFigure) {
  EXPECT_FALSE(draw(lines_of({})).has_value());
  EXPECT_FALSE(draw(lines_of({std::nan(""), HUGE_VAL})).has_value());
  EXPECT_FALSE(draw(XyChart()).has_value());
}

TEST(XyChart, EveryKindOfMark) {
  for (const Mark mark : {Mark::kBars, Mark::kLines, Mark::kSteps, Mark::kPoints}) {
    XyChart chart = lines_of({1, 2, 3});
    chart.mark = mark;
    chart.series.push_back(chart.series[0]);
    chart.series[1].name = "<other>";
    chart.series[0].points[1].low = 1.5;
    chart.series[0].points[1].high = 2.5;
    for (const bool by_x : {true, false}) {
      chart.tips_by_x = by_x;
      const auto figure = draw(chart);
      ASSERT_TRUE(figure.has_value());
      EXPECT_EQ(figure->markup.find("<other>"), std::string::npos);
      EXPECT_NE(figure->markup.find("&lt;other&gt;"), std::string::npos);
      EXPECT_NE(figure->markup.find("2.00 [1.50, 2.50]"), std::string::npos) << "a tip has the interval";
      EXPECT_EQ(count_of(figure->markup, "class=\"hit\""), by_x ? 2U * 3 : 2U * 6);
    }
  }
}

TEST(RowChart, RowsWithAndWithoutValues) {
  RowChart chart = {.title = "T", .groups = {{"g", {{"a", 0.5, 0.25, 0.75}, {"<b>", std::nan("")}, {"c", -0.5}}}}};
  const auto figure = draw(chart);
  ASSERT_TRUE(figure.has_value());
  EXPECT_EQ(count_of(figure->markup, "<rect class=\"fill k0\"") - count_of(figure->markup, "height=\"9.0\""), 2U * 2);
  EXPECT_EQ(count_of(figure->markup, "class=\"err\""), 2U);
  EXPECT_NE(figure->markup.find("&lt;b&gt;: n/a"), std::string::npos);
  chart.groups[0].items = {{"b", std::nan("")}};
  EXPECT_FALSE(draw(chart).has_value());
  // A ratio of 0 or of infinity has no place on a log scale.
  chart.x.scale = Scale::kLog;
  chart.reference = 1;
  chart.groups[0].items = {{"b", 0.0}, {"c", HUGE_VAL}};
  EXPECT_FALSE(draw(chart).has_value());
}

TEST(HeatMap, CellsAndHoles) {
  HeatMap map = {
      .title = "T", .column_label = "tokens", .row_label = "depth", .columns = {"1k", "<2k>"}, .rows = {"0%"}};
  map.panels = {{"p", {{0.25, std::nan("")}}}, {"empty", {{std::nan(""), std::nan("")}}}};
  const auto figure = draw(map);
  ASSERT_TRUE(figure.has_value());
  EXPECT_EQ(count_of(figure->markup, "<rect class=\"cell q2\""), 2U);
  EXPECT_EQ(count_of(figure->markup, "<rect class=\"cell none\""), 2U);
  EXPECT_NE(figure->markup.find("tokens 1k, depth 0%: 25"), std::string::npos);
  EXPECT_NE(figure->markup.find("&lt;2k&gt;, depth 0%: not measured"), std::string::npos);
  EXPECT_EQ(figure->markup.find("empty"), std::string::npos) << "a panel without values";
  map.panels.erase(map.panels.begin());
  EXPECT_FALSE(draw(map).has_value());
}

TEST(Charts, AreBoundedAndSayWhatIsLeftOut) {
  XyChart xy = {.title = "t", .mark = Mark::kPoints, .tips_by_x = false};
  for (int i = 0; i < 3; ++i) {
    Series& series = xy.series.emplace_back();
    series.name = "series" + std::to_string(i);
    for (int k = 0; k < 3000; ++k) series.points.push_back({1.0 * k, 1.0 * k});
  }
  const std::string points = draw(xy)->markup;
  EXPECT_NE(points.find("The first 5,000 of 9,000 values are drawn."), std::string::npos);
  EXPECT_NE(points.find("series1"), std::string::npos);
  EXPECT_EQ(points.find("series2"), std::string::npos);
  xy.series.resize(1);
  EXPECT_EQ(draw(xy)->markup.find("are drawn."), std::string::npos);

  HeatMap map = {.title = "t", .columns = std::vector<std::string>(100, "c"), .rows = {"r"}};
  for (int i = 0; i < 60; ++i) map.panels.push_back({"p", {std::vector<double>(100, 0.5)}});
  EXPECT_NE(draw(map)->markup.find("The first 50 of 60 maps are drawn."), std::string::npos);
}

}  // namespace
}  // namespace ripplekv
