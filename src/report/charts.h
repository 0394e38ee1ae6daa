// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The report's three kinds of chart as figures: values over x, values in rows beneath each other, values on a grid.
// Values that are not finite (or not positive on a log scale) are left out; a chart without any mark is no figure
// (nullopt). Names are raw texts. What is drawn, and why, is the sections' business. A chart draws its first values up
// to a bound, and its caption says what it left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/svg.h"

namespace ripplekv {

// Bounds of what one chart draws: a value is about a kilobyte of markup, and nobody tells more of them apart.
constexpr size_t kRowItemsMax = 500;
constexpr size_t kPointsMax = 5000;  // also of the cells of a heat map

struct Point {
  double x = 0;
  double y = 0;
  double low = kNoValue;  // of an interval, drawn as a bar through the point
  double high = kNoValue;
  std::string name = "";  // what a tip says of it; empty: the series' name and the value
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

enum class Mark { kBars, kLines, kSteps, kPoints };

struct XyChart {
  std::string title;
  std::string caption;
  Axis x, y;
  Mark mark = Mark::kLines;
  std::vector<Series> series;
  bool by_depth = false;        // series are layers: coloured from first to last, named where the pointer is
  bool tips_by_x = true;        // one tip for all points at an x, else one for each point
  std::string x_name = "";      // of an x in tips: "layer"
  double reference = kNoValue;  // a dashed line across at this y
  std::string reference_name = "";
  bool diagonal = false;  // a dashed line where x equals y
};
std::optional<Figure> draw(const XyChart& chart);

struct RowItem {
  std::string label;
  double value = 0;
  double low = kNoValue;
  double high = kNoValue;
  size_t colour = 0;
  std::string shown = "";  // beside it; empty: the value
};

struct RowGroup {
  std::string name;
  std::vector<RowItem> items;
};

struct RowChart {
  std::string title;
  std::string caption;
  Axis x;
  bool bars = true;  // from the reference to the value, else points
  double reference = 0;
  std::vector<RowGroup> groups;
};
std::optional<Figure> draw(const RowChart& chart);

struct HeatPanel {
  std::string title;
  std::vector<std::vector<double>> values;  // [row][column]
};

struct HeatMap {
  std::string title;
  std::string caption;
  std::string column_label, row_label;
  std::vector<std::string> columns, rows;
  std::vector<HeatPanel> panels;  // all of rows.size() x columns.size()
  double low = 0;                 // the ends of the colours
  double high = 1;
  Unit unit = Unit::kPercent;
};
std::optional<Figure> draw(const HeatMap& map);

}  // namespace ripplekv
