// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// RowChart as a figure (contract: charts.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts.h"

namespace ripplekv {
namespace {

constexpr double kFont = 12;

std::string value_of(const RowItem& item) { return item.shown.empty() ? shown_number(item.value) : item.shown; }

Drawing draw_rows(const RowChart& chart, int width) {
  std::vector<double> values = {chart.reference};
  double labels = 0;
  double numbers = 0;
  for (const RowGroup& group : chart.groups) {
    for (const RowItem& item : group.items) {
      if (!drawable(item.value, chart.x.scale)) continue;
      values.insert(values.end(), {item.value, item.low, item.high});
      labels = std::max(labels, text_width(item.label, kFont));
      numbers = std::max(numbers, text_width(value_of(item), kFont));
    }
  }
  // On a narrow screen a label has a line of its own over the bar.
  const bool above = width == kNarrow;
  const double row_height = above ? 38 : 22;
  const double left = above ? 4 : std::min(labels + 10, 0.42 * width);
  const double right = width - std::min(numbers, 0.34 * width) - 10;
  const Range range = range_of(values, chart.x.scale, chart.bars);
  const Ruler x(chart.x.scale, range.low, range.high, left, right);
  std::string marks;
  double y = 6;
  for (const RowGroup& group : chart.groups) {
    if (!group.name.empty()) {
      y += 18;
      marks += svg_text(0, y - 4, "label strong", "start", fitted(group.name, width, kFont));
    }
    for (const RowItem& item : group.items) {
      if (!drawable(item.value, chart.x.scale)) {
        const std::string text = item.label + ": " + value_of(item);
        marks += svg_text(above ? left : 0, y + 15, "tick", "start", fitted(text, width, kFont));
        y += 22;
        continue;
      }
      if (above) {
        marks += svg_text(left, y + 14, "name", "start", fitted(item.label, width - 8, kFont));
      } else {
        marks += svg_text(left - 8, y + 15, "name", "end", fitted(item.label, left - 8, kFont));
      }
      const double middle = above ? y + 25 : y + 11;
      const std::string of = series_class(item.colour);
      if (chart.bars) {
        const double from = std::min(x(chart.reference), x(item.value));
        marks += svg_rect(from, middle - 6, std::abs(x(chart.reference) - x(item.value)), 12, "fill " + of);
      }
      if (std::isfinite(item.low) && std::isfinite(item.high)) {
        marks += svg_line(x(item.low), middle, x(item.high), middle, chart.bars ? "err" : "ln solid " + of);
      }
      if (!chart.bars) marks += svg_mark(x(item.value), middle, item.colour);
      std::string tip = item.label + ": " + value_of(item);
      if (std::isfinite(item.low) && std::isfinite(item.high)) {
        tip += fmt::format(" [{}, {}]", shown_number(item.low), shown_number(item.high));
      }
      marks += svg_text(right + 8, middle + 4, "name", "start", fitted(value_of(item), width - right - 8, kFont));
      marks += svg_tip(svg_rect(0, y, width, row_height, "touch"), x(item.value), y + 2 * row_height, width, 1e6,
                       {{of, tip}});
      y += row_height;
    }
    y += 4;
  }
  const double bottom = y;
  std::string axes;
  double free_from = -1e9;
  for (const double tick : round_ticks(range, chart.x.scale, above ? 4 : 5)) {
    axes += svg_line(x(tick), 4, x(tick), bottom, "grid");
    const std::string text = shown_tick(tick, chart.x.unit);
    const double half = text_width(text, 11) / 2;
    if (x(tick) - half < free_from) continue;
    axes += svg_text(std::max(x(tick), half), bottom + 14, "tick", "middle", text);
    free_from = x(tick) + half + 6;
  }
  axes += svg_text((left + right) / 2, bottom + 32, "label", "middle", fitted(chart.x.label, width - 4, 11));
  const std::string reference = svg_line(x(chart.reference), 2, x(chart.reference), bottom, "ref");
  return {axes + reference + marks, bottom + 38};
}

}  // namespace

std::optional<Figure> draw(const RowChart& chart) {
  const auto has_mark = [&](const RowGroup& group) {
    return std::any_of(group.items.begin(), group.items.end(),
                       [&](const RowItem& item) { return drawable(item.value, chart.x.scale); });
  };
  if (std::none_of(chart.groups.begin(), chart.groups.end(), has_mark)) return std::nullopt;
  RowChart drawn = chart;
  const auto [n_drawn, n] = cut_to(drawn.groups, &RowGroup::items, kRowItemsMax);
  std::erase_if(drawn.groups, [](const RowGroup& group) { return group.items.empty(); });
  return make_figure(chart.title, chart.caption + drawn_note(n_drawn, n, "values"), "",
                     [&](int width) { return draw_rows(drawn, width); });
}

}  // namespace ripplekv
