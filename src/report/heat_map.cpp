// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// HeatMap as a figure (contract: charts.h): panels side by side as far as the width goes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/html.h"
#include "report/charts.h"

namespace ripplekv {
namespace {

constexpr double kFont = 11;

std::string value_text(double value, Unit unit) {
  if (!std::isfinite(value)) return "";
  return unit == Unit::kPercent ? fmt::format("{:.0f}", 100 * value) : shown_number(value, 2);
}

Drawing draw_map(const HeatMap& map, int width) {
  double labels = 0;
  for (const std::string& row : map.rows) labels = std::max(labels, text_width(row, kFont));
  const double left = labels + 8;
  const auto n_column = static_cast<double>(map.columns.size());
  const auto n_row = static_cast<double>(map.rows.size());
  double cell = 30;
  for (const HeatPanel& panel : map.panels) {
    for (const auto& row : panel.values) {
      for (const double value : row) cell = std::max(cell, text_width(value_text(value, map.unit), kFont) + 8);
    }
  }
  for (const std::string& column : map.columns) cell = std::max(cell, text_width(column, kFont) + 6);
  cell = std::max(6.0, std::min(cell, (width - left) / n_column));
  double titles = 0;
  for (const HeatPanel& panel : map.panels) titles = std::max(titles, text_width(panel.title, 12));
  const double panel_width = std::max(left + cell * n_column, std::min(titles, width / 2.0 - 14)) + 14;
  const double panel_height = 26.0 * n_row + 58;
  const auto n_across = static_cast<size_t>(std::max(1.0, (width + 14) / panel_width));
  std::string out;
  for (size_t p = 0; p < map.panels.size(); ++p) {
    const size_t across = p % n_across;
    const size_t down = p / n_across;
    const double x0 = panel_width * static_cast<double>(across) + left;
    const double y0 = panel_height * static_cast<double>(down) + 38;
    const double room = n_across == 1 ? width : panel_width - 10;
    out += svg_text(x0 - left, y0 - 22, "name strong", "start", fitted(map.panels[p].title, room, 12));
    for (size_t c = 0; c < map.columns.size(); ++c) {
      out += svg_text(x0 + cell * (static_cast<double>(c) + 0.5), y0 - 6, "tick", "middle",
                      fitted(map.columns[c], cell, kFont));
    }
    for (size_t r = 0; r < map.rows.size(); ++r) {
      const double y = y0 + 26.0 * static_cast<double>(r);
      out += svg_text(x0 - 6, y + 17, "tick", "end", map.rows[r]);
      for (size_t c = 0; c < map.columns.size(); ++c) {
        const double value = map.panels[p].values[r][c];
        const double x = x0 + cell * static_cast<double>(c);
        const bool there = std::isfinite(value);
        const double share = map.high > map.low ? (value - map.low) / (map.high - map.low) : 1;
        const std::string css = there ? ramp_class('q', share) : std::string("none");
        const std::string tip = fmt::format("{} {}, {} {}: {}", map.column_label, map.columns[c], map.row_label,
                                            map.rows[r], there ? value_text(value, map.unit) : "not measured");
        out += "<g>" + svg_rect(x, y, cell - 2, 24, "cell " + css);
        out += fmt::format("<title>{}</title>", html_escape(visible_text(tip)));
        if (there) {
          out += svg_text(x + cell / 2 - 1, y + 16, "ink " + css, "middle",
                          fitted(value_text(value, map.unit), cell, kFont));
        }
        out += "</g>";
      }
    }
  }
  const auto n_down = (map.panels.size() + n_across - 1) / n_across;
  const double bottom = panel_height * static_cast<double>(n_down);
  out += svg_text(0, bottom + 8, "label", "start",
                  fitted(fmt::format("across: {}; down: {}", map.column_label, map.row_label), width, kFont));
  return {out, bottom + 16};
}

}  // namespace

std::optional<Figure> draw(const HeatMap& map) {
  const auto measured = [](const HeatPanel& panel) {
    return std::any_of(panel.values.begin(), panel.values.end(), [](const std::vector<double>& row) {
      return std::any_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
    });
  };
  HeatMap drawn = map;
  std::erase_if(drawn.panels, [&](const HeatPanel& panel) { return !measured(panel); });
  if (drawn.panels.empty()) return std::nullopt;
  const size_t n = drawn.panels.size();
  const size_t n_cell = std::max<size_t>(1, map.rows.size() * map.columns.size());
  drawn.panels.resize(std::min(n, std::max<size_t>(1, kPointsMax / n_cell)));
  const std::string legend = ramp_legend('q', shown_tick(map.low, map.unit), shown_tick(map.high, map.unit));
  return make_figure(map.title, map.caption + drawn_note(drawn.panels.size(), n, "maps"), legend,
                     [&](int width) { return draw_map(drawn, width); });
}

}  // namespace ripplekv
