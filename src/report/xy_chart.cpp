// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// XyChart as a figure (contract: charts.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/charts.h"

namespace ripplekv {
namespace {

constexpr double kFont = 11;

class XyDrawing {
 public:
  XyDrawing(const XyChart& chart, int width)
      : chart_(chart),
        width_(width),
        height_((width == kNarrow ? 240 : 290) + (chart.series.size() > 6 ? 60 : 0)),
        x_(ruler_x()),
        y_(ruler_y()) {}

  Drawing draw() {
    axes();
    if (chart_.diagonal) {
      const double low = std::max(x_.low(), y_.low());
      const double high = std::min(x_.high(), y_.high());
      if (low < high) out_ += svg_line(x_(low), y_(low), x_(high), y_(high), "ref");
    }
    if (drawable(chart_.reference, chart_.y.scale)) {
      out_ += svg_line(left_, y_(chart_.reference), right(), y_(chart_.reference), "ref");
    }
    for (size_t s = 0; s < chart_.series.size(); ++s) draw_series(s);
    if (drawable(chart_.reference, chart_.y.scale)) {  // readable over what crosses it
      out_ += svg_text(right(), y_(chart_.reference) - 4, "tick halo", "end",
                       fitted(chart_.reference_name, plot_width(), kFont));
    }
    if (!chart_.by_depth) tips();
    return {std::move(out_), static_cast<double>(height_)};
  }

 private:
  double right() const { return width_ - 10; }
  double bottom() const { return height_ - 44; }
  double plot_width() const { return right() - left_; }
  static constexpr double kTop = 22;

  bool seen(const Point& point) const { return drawable(point.x, chart_.x.scale) && drawable(point.y, chart_.y.scale); }

  std::vector<double> all_x() const {
    std::vector<double> values;
    for (const Series& series : chart_.series) {
      for (const Point& point : series.points) {
        if (seen(point)) values.push_back(point.x);
      }
    }
    return values;
  }

  Ruler ruler_x() {
    const Range y = range_y();
    y_ticks_ = chart_.y.ticks.empty() ? round_ticks(y, chart_.y.scale, 5) : chart_.y.ticks;
    double label = 0;
    for (const double tick : y_ticks_) label = std::max(label, text_width(shown_tick(tick, chart_.y.unit), kFont));
    left_ = label + 12;
    const std::vector<double> values = all_x();
    Range range = range_of(values, chart_.x.scale, false);
    if (chart_.mark == Mark::kBars || chart_.mark == Mark::kSteps) {
      range.low = *std::min_element(values.begin(), values.end()) - 0.6;
      range.high = *std::max_element(values.begin(), values.end()) + 0.6;
    }
    x_ticks_ = chart_.x.ticks.empty() ? round_ticks(range, chart_.x.scale, width_ == kNarrow ? 5 : 8) : chart_.x.ticks;
    return {chart_.x.scale, range.low, range.high, left_, right()};
  }

  Range range_y() const {
    std::vector<double> values = {chart_.reference};
    for (const Series& series : chart_.series) {
      for (const Point& point : series.points) {
        if (seen(point)) values.insert(values.end(), {point.y, point.low, point.high});
      }
    }
    return range_of(values, chart_.y.scale, chart_.mark == Mark::kBars || chart_.mark == Mark::kSteps);
  }

  Ruler ruler_y() const {
    const Range range = range_y();
    return {chart_.y.scale, range.low, range.high, bottom(), kTop};
  }

  void axes() {
    out_ += svg_text(2, 12, "label", "start", fitted(chart_.y.label, width_ - 4, kFont));
    for (const double tick : y_ticks_) {
      if (tick < y_.low() || tick > y_.high()) continue;
      out_ += svg_line(left_, y_(tick), right(), y_(tick), "grid");
      out_ += svg_text(left_ - 6, y_(tick) + 4, "tick", "end", shown_tick(tick, chart_.y.unit));
    }
    out_ += svg_line(left_, bottom(), right(), bottom(), "axis");
    double free_from = -1e9;
    for (const double tick : x_ticks_) {
      if (tick < x_.low() || tick > x_.high()) continue;
      const std::string text = shown_tick(tick, chart_.x.unit);
      const double half = text_width(text, kFont) / 2;
      const double at = std::clamp(x_(tick), left_, right());
      out_ += svg_line(at, bottom(), at, bottom() + 4, "axis");
      if (at - half < free_from) continue;
      out_ += svg_text(std::min(at, width_ - half), bottom() + 17, "tick", "middle", text);
      free_from = at + half + 6;
    }
    out_ += svg_text((left_ + right()) / 2, height_ - 6, "label", "middle", fitted(chart_.x.label, width_ - 4, kFont));
  }

  std::string class_of(size_t s) const {
    if (!chart_.by_depth) return series_class(s);
    return ramp_class(
        'd', chart_.series.size() < 2 ? 0 : static_cast<double>(s) / static_cast<double>(chart_.series.size() - 1));
  }

  double bar_width() const { return std::max(1.5, 0.72 * plot_width() / (x_.high() - x_.low())); }

  // Intervals of several series at the same x stand beside each other.
  double place(size_t s, double x) const {
    const auto has_interval = [](const Point& point) { return std::isfinite(point.low); };
    const bool beside = chart_.mark == Mark::kLines && chart_.tips_by_x && !chart_.by_depth &&
                        std::any_of(chart_.series[s].points.begin(), chart_.series[s].points.end(), has_interval);
    const auto n = static_cast<double>(chart_.series.size());
    const double step = std::min(5.0, 0.06 * plot_width() / std::max(n, 1.0) * 2);
    return x_(x) + (beside ? step * (static_cast<double>(s) - (n - 1) / 2) : 0);
  }

  void draw_series(size_t s) {
    const Series& series = chart_.series[s];
    const std::string of = class_of(s);
    if (chart_.by_depth) out_ += "<g class=\"one\">";
    if (chart_.mark == Mark::kLines || chart_.mark == Mark::kSteps) path(s, of);
    for (const Point& point : series.points) {
      if (!seen(point)) continue;
      const double x = place(s, point.x);
      if (chart_.mark == Mark::kBars) {
        const double zero = y_(std::max(0.0, y_.low()));
        const double w = bar_width();
        out_ += svg_rect(x - w / 2, std::min(y_(point.y), zero), w, std::abs(zero - y_(point.y)), "fill " + of);
      }
      if (std::isfinite(point.low) && std::isfinite(point.high) && point.high > point.low) {
        const std::string css = chart_.mark == Mark::kBars ? "err" : "ln thin " + of;
        const double low = chart_.y.scale == Scale::kLog ? std::max(point.low, y_.low()) : point.low;
        out_ += svg_line(x, y_(low), x, y_(point.high), css);
      }
      if (chart_.mark == Mark::kPoints || (chart_.mark == Mark::kLines && (!chart_.by_depth))) {
        out_ += svg_mark(x, y_(point.y), s);
      }
    }
    if (chart_.by_depth) {
      out_ += svg_text(right(), 12, "name strong", "end", fitted(series.name, width_ / 2.0, 12)) + "</g>";
    }
  }

  // Interrupted where there is no value.
  void path(size_t s, const std::string& of) {
    std::string d;
    bool drawing = false;
    for (const Point& point : chart_.series[s].points) {
      if (!seen(point)) {
        drawing = false;
        continue;
      }
      const double x = place(s, point.x);
      const double y = y_(point.y);
      if (chart_.mark == Mark::kSteps) {
        d += fmt::format("{}{:.1f} {:.1f}H{:.1f}", drawing ? "L" : "M", x_(point.x - 0.5), y, x_(point.x + 0.5));
      } else {
        d += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x, y);
      }
      drawing = true;
    }
    if (chart_.by_depth) out_ += fmt::format("<path class=\"touch\" d=\"{}\"/>", d);
    out_ += fmt::format("<path class=\"ln {}\" d=\"{}\"/>", of, d);
  }

  std::string value_text(const Point& point) const {
    const auto text = [&](double value) {
      return chart_.y.unit == Unit::kPercent ? shown_percent(value) : shown_number(value);
    };
    return text(point.y) + (std::isfinite(point.low) && std::isfinite(point.high)
                                ? fmt::format(" [{}, {}]", text(point.low), text(point.high))
                                : "");
  }

  void tips() {
    if (!chart_.tips_by_x) {
      for (size_t s = 0; s < chart_.series.size(); ++s) {
        for (const Point& point : chart_.series[s].points) {
          if (!seen(point)) continue;
          const double x = place(s, point.x);
          const double y = y_(point.y);
          const std::string text = point.name.empty() ? chart_.series[s].name + ": " + value_text(point) : point.name;
          out_ += svg_tip(fmt::format("<circle class=\"touch\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\"/>", x, y), x, y,
                          width_, height_, {{class_of(s), text}});
        }
      }
      return;
    }
    std::map<double, std::vector<TipLine>> columns;
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      for (const Point& point : chart_.series[s].points) {
        if (!seen(point)) continue;
        std::vector<TipLine>& lines = columns[point.x];
        if (lines.empty()) lines.push_back({"", chart_.x_name + shown_tick(point.x, chart_.x.unit)});
        const std::string name = chart_.series.size() > 1 ? chart_.series[s].name + ": " : "";
        lines.push_back({class_of(s), name + value_text(point)});
      }
    }
    double from = left_;
    for (auto column = columns.begin(); column != columns.end(); ++column) {
      const double x = x_(column->first);
      const double to = std::next(column) == columns.end() ? right() : (x + x_(std::next(column)->first)) / 2;
      const std::string target =
          svg_rect(from, kTop, to - from, bottom() - kTop, "touch") + svg_line(x, kTop, x, bottom(), "guide");
      out_ += svg_tip(target, x, (kTop + bottom()) / 2, width_, height_, column->second);
      from = to;
    }
  }

  const XyChart& chart_;
  const int width_;
  const int height_;
  double left_ = 0;
  std::vector<double> x_ticks_, y_ticks_;
  Ruler x_, y_;
  std::string out_;
};

}  // namespace

std::optional<Figure> draw(const XyChart& chart) {
  const auto empty = [&](const Series& series) {
    return std::none_of(series.points.begin(), series.points.end(), [&](const Point& point) {
      return drawable(point.x, chart.x.scale) && drawable(point.y, chart.y.scale);
    });
  };
  XyChart drawn = chart;
  const auto [n_drawn, n] = cut_to(drawn.series, &Series::points, kPointsMax);
  while (n_drawn < n && drawn.series.back().points.empty()) drawn.series.pop_back();
  if (std::all_of(drawn.series.begin(), drawn.series.end(), empty)) return std::nullopt;
  std::vector<LegendEntry> entries;
  for (size_t s = 0; s < drawn.series.size(); ++s) entries.push_back({s, drawn.series[s].name});
  std::string legend;
  if (chart.by_depth) {
    legend = ramp_legend('d', "first layer", "last");
  } else if (entries.size() > 1) {
    legend = series_legend(entries, chart.mark != Mark::kPoints);
  }
  return make_figure(chart.title, chart.caption + drawn_note(n_drawn, n, "values"), legend,
                     [&](int width) { return XyDrawing(drawn, width).draw(); });
}

}  // namespace ripplekv
