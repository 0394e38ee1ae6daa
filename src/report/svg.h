// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the charts share: scales and their ticks, marks as SVG, texts cut to a width, the figure around a drawing.
// Colours are classes of the page's style: k0 to k7 for series, d0 to d9 for depth (first layer to last), q0 to q9 for
// amounts. A chart is drawn twice, for a wide and for a narrow screen; the style shows one. Coordinates are CSS pixels.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"

namespace ripplekv {

constexpr int kWide = 540;
constexpr int kNarrow = 340;
constexpr int kSeriesColours = 8;
constexpr int kRampColours = 10;

enum class Scale { kLinear, kLog };
enum class Unit { kNumber, kPercent };

struct Axis {
  std::string label;
  Scale scale = Scale::kLinear;
  Unit unit = Unit::kNumber;
  std::vector<double> ticks = {};  // empty: round numbers
};

// Values to pixels; what lies outside the range is moved to its end.
class Ruler {
 public:
  Ruler(Scale scale, double low, double high, double from, double to);
  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  Scale scale_;
  double low_, high_, from_, to_;
};

// A range and ticks for values: round numbers around them. Values that are not finite, or not positive on a log scale,
// do not count; with none left {0, 1}.
struct Range {
  double low = 0;
  double high = 1;
};
Range range_of(const std::vector<double>& values, Scale scale, bool with_zero);
std::vector<double> round_ticks(const Range& range, Scale scale, int n_about);
std::string shown_tick(double value, Unit unit);
// Whether a scale has a place for it.
bool drawable(double value, Scale scale);

// Of a text in the page's sans serif, about.
double text_width(std::string_view text, double font_px);
// Valid, visible, one line, not wider than `width`, the end replaced by an ellipsis where it was. Not escaped.
std::string fitted(std::string_view text, double width, double font_px);

// One element of SVG text, escaped. anchor: start, middle, end.
std::string svg_text(double x, double y, std::string_view css_class, std::string_view anchor, std::string_view text);
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view css_class);
std::string svg_rect(double x, double y, double width, double height, std::string_view css_class);
// The mark of series `index`, in its colour; shapes differ as well as colours.
std::string svg_mark(double x, double y, size_t index);
std::string series_class(size_t index);  // "k3", "k1 dash1" from the ninth on
std::string ramp_class(char ramp, double share);

struct TipLine {
  std::string css_class;  // of the swatch; empty: none
  std::string text;
};
// What is shown while the pointer is over `target` or it was tapped: a box near x, within a chart of this size.
std::string svg_tip(std::string_view target, double x, double y, double chart_width, double chart_height,
                    const std::vector<TipLine>& lines);

// " The first 3 of 4,000 layers are drawn." for the end of a caption; empty where all are.
std::string drawn_note(size_t n_drawn, size_t n, std::string_view what);

// Cuts the lists in the groups to `most` values in all, those of the first groups first.
struct Drawn {
  size_t n_drawn = 0;
  size_t n = 0;
};
template <class Group, class Value>
Drawn cut_to(std::vector<Group>& groups, std::vector<Value> Group::*list, size_t most) {
  Drawn drawn;
  for (Group& group : groups) {
    std::vector<Value>& values = group.*list;
    drawn.n += values.size();
    values.resize(std::min(values.size(), most - drawn.n_drawn));
    drawn.n_drawn += values.size();
  }
  return drawn;
}

struct LegendEntry {
  size_t index = 0;
  std::string name;
};

// draw(width) gives the content of an SVG of that width, and its height.
struct Drawing {
  std::string content;
  double height = 0;
};
Figure make_figure(std::string_view title, std::string_view caption, std::string_view legend,
                   const std::function<Drawing(int width)>& draw);
std::string series_legend(const std::vector<LegendEntry>& entries, bool lines);
// "from [ramp] to".
std::string ramp_legend(char ramp, std::string_view from, std::string_view to);

}  // namespace ripplekv
