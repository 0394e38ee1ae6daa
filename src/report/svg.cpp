// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/html.h"
#include "base/utf8.h"

namespace ripplekv {
namespace {

constexpr double kDecadesMax = 6;  // of a log axis: what is smaller stands on its lower end

std::string shown(std::string_view text) { return html_escape(visible_text(text)); }

double scaled(Scale scale, double value) { return scale == Scale::kLog ? std::log10(value) : value; }

}  // namespace

// Within limits between which differences and logarithms stay finite.
bool drawable(double value, Scale scale) {
  return std::abs(value) <= 1e300 && (scale == Scale::kLinear || value >= 1e-290);
}

Ruler::Ruler(Scale scale, double low, double high, double from, double to)
    : scale_(scale), low_(low), high_(high), from_(from), to_(to) {}

double Ruler::operator()(double value) const {
  const double clamped = std::clamp(value, low_, high_);
  const double low = scaled(scale_, low_);
  const double high = scaled(scale_, high_);
  return from_ + (to_ - from_) * (scaled(scale_, clamped) - low) / (high - low);
}

Range range_of(const std::vector<double>& values, Scale scale, bool with_zero) {
  Range range = {HUGE_VAL, -HUGE_VAL};
  for (const double value : values) {
    if (!drawable(value, scale)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  if (range.low > range.high) return scale == Scale::kLog ? Range{0.1, 1} : Range{0, 1};
  if (scale == Scale::kLog) {
    range.low = std::max(range.low, range.high * std::pow(10, -kDecadesMax));
    return {range.low / 1.25, range.high * 1.25};
  }
  if (with_zero) range = {std::min(range.low, 0.0), std::max(range.high, 0.0)};
  if (range.high - range.low <= 1e-12 * std::max(std::abs(range.low), std::abs(range.high))) {
    const double around = std::max(std::abs(range.high) * 0.5, 0.5);
    return {with_zero && range.low >= 0 ? 0 : range.low - around, range.high + around};
  }
  const double margin = 0.06 * (range.high - range.low);
  return {with_zero && range.low == 0 ? 0 : range.low - margin, with_zero && range.high == 0 ? 0 : range.high + margin};
}

std::vector<double> round_ticks(const Range& range, Scale scale, int n_about) {
  std::vector<double> ticks;
  if (scale == Scale::kLog) {
    const int first = static_cast<int>(std::floor(std::log10(range.low)));
    const int last = static_cast<int>(std::ceil(std::log10(range.high)));
    const bool between = last - first <= 3;
    for (int decade = first; decade <= last; ++decade) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double tick = step * std::pow(10, decade);
        if ((step == 1 || between) && tick >= range.low && tick <= range.high) ticks.push_back(tick);
      }
    }
    return ticks;
  }
  const double rough = (range.high - range.low) / std::max(n_about, 1);
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  double step = decade;
  for (const double of : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    step = of * decade;
    if (step >= rough) break;
  }
  for (double k = std::ceil(range.low / step - 1e-9); k * step <= range.high * (1 + 1e-12) + 1e-300; ++k) {
    ticks.push_back(k == 0 ? 0 : k * step);  // never -0
    if (ticks.size() > 50) break;            // whatever rounding does
  }
  return ticks;
}

std::string shown_tick(double value, Unit unit) {
  return unit == Unit::kPercent ? fmt::format("{:.4g}%", 100 * value) : fmt::format("{:.4g}", value);
}

double text_width(std::string_view text, double font_px) {
  double width = 0;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(utf8_length(text), 1);
    // Characters of three bytes and more are mostly as wide as the font is high (Chinese); others are given the room
    // that a wide font needs.
    const bool slim = std::string_view("ijl.,:|!'()[]tfI ").find(text[0]) != std::string_view::npos;
    width += length >= 3 ? 1.0 : slim ? 0.4 : 0.64;
    text.remove_prefix(length);
  }
  return width * font_px;
}

std::string fitted(std::string_view text, double width, double font_px) {
  std::string line = printable(text);
  line = visible_text(line);
  if (text_width(line, font_px) <= width) return line;
  const double room = width - font_px;
  std::string cut;
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view character = rest.substr(0, std::max<size_t>(utf8_length(rest), 1));
    if (text_width(cut, font_px) + text_width(character, font_px) > room) break;
    cut += character;
    rest.remove_prefix(character.size());
  }
  return cut + "\xE2\x80\xA6";
}

std::string svg_text(double x, double y, std::string_view css_class, std::string_view anchor, std::string_view text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", css_class, x, y,
                     anchor, shown(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", css_class, x1, y1,
                     x2, y2);
}

std::string svg_rect(double x, double y, double width, double height, std::string_view css_class) {
  return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", css_class, x,
                     y, std::max(width, 0.0), std::max(height, 0.0));
}

std::string series_class(size_t index) {
  const size_t round = index / kSeriesColours;
  return fmt::format("k{}{}", index % kSeriesColours, round == 0 ? "" : fmt::format(" dash{}", (round - 1) % 3 + 1));
}

std::string ramp_class(char ramp, double share) {
  const int level = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (kRampColours - 1)));
  return fmt::format("{}{}", ramp, level);
}

std::string svg_mark(double x, double y, size_t index) {
  const std::string of = "pt " + series_class(index);
  switch (index % 4) {
    case 0:
      return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>", of, x, y);
    case 1:
      return svg_rect(x - 3.5, y - 3.5, 7, 7, of);
    case 2:
      return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l4.6 8h-9.2z\"/>", of, x, y - 5);
    default:
      return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l5 5l-5 5l-5-5z\"/>", of, x, y - 5);
  }
}

std::string svg_tip(std::string_view target, double x, double y, double chart_width, double chart_height,
                    const std::vector<TipLine>& lines) {
  constexpr double kFont = 12;
  constexpr double kLine = 16;
  const auto n_most = static_cast<size_t>(std::max(2.0, (chart_height - 12) / kLine));
  std::vector<TipLine> shown_lines(lines.begin(),
                                   lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), n_most)));
  if (lines.size() > n_most) {
    shown_lines.back() = {"", fmt::format("\xE2\x80\xA6 and {} more", lines.size() - n_most + 1)};
  }
  double width = 0;
  for (TipLine& line : shown_lines) {
    const double swatch = line.css_class.empty() ? 0 : 14;
    line.text = fitted(line.text, chart_width - 24 - swatch, kFont);
    width = std::max(width, text_width(line.text, kFont) + swatch);
  }
  width += 18;
  const double height = kLine * static_cast<double>(shown_lines.size()) + 10;
  const double left =
      std::clamp(x + 12 + width <= chart_width ? x + 12 : x - 12 - width, 0.0, std::max(0.0, chart_width - width));
  const double top = std::clamp(y - height / 2, 0.0, std::max(0.0, chart_height - height));
  std::string out = fmt::format("<g class=\"hit\" tabindex=\"-1\">{}<g class=\"tip\" aria-hidden=\"true\">", target);
  out += svg_rect(left, top, width, height, "box");
  for (size_t i = 0; i < shown_lines.size(); ++i) {
    const double base = top + 5 + kLine * static_cast<double>(i) + 12;
    const bool swatch = !shown_lines[i].css_class.empty();
    if (swatch) out += svg_rect(left + 8, base - 9, 9, 9, "fill " + shown_lines[i].css_class);
    out += svg_text(left + (swatch ? 22 : 8), base, i == 0 && !swatch ? "tiptext strong" : "tiptext", "start",
                    shown_lines[i].text);
  }
  return out + "</g></g>";
}

std::string drawn_note(size_t n_drawn, size_t n, std::string_view what) {
  if (n_drawn >= n) return "";
  return fmt::format(" The first {} of {} {} are drawn.", shown_whole(static_cast<double>(n_drawn)),
                     shown_whole(static_cast<double>(n)), what);
}

std::string series_legend(const std::vector<LegendEntry>& entries, bool lines) {
  std::string out = "<ul class=\"key\">";
  for (const LegendEntry& entry : entries) {
    out += "<li><svg width=\"26\" height=\"12\" aria-hidden=\"true\">";
    if (lines) out += svg_line(1, 6, 25, 6, "ln " + series_class(entry.index));
    out += svg_mark(13, 6, entry.index) + "</svg>" + shown(entry.name) + "</li>";
  }
  return out + "</ul>";
}

std::string ramp_legend(char ramp, std::string_view from, std::string_view to) {
  std::string out = "<p class=\"key\"><span>" + shown(from) +
                    "</span><svg class=\"ramp\" width=\"120\" height=\"12\" aria-hidden=\"true\">";
  for (int level = 0; level < kRampColours; ++level) {
    out += svg_rect(12.0 * level, 0, 12, 12, fmt::format("fill {}{}", ramp, level));
  }
  return out + "</svg><span>" + shown(to) + "</span></p>";
}

Figure make_figure(std::string_view title, std::string_view caption, std::string_view legend,
                   const std::function<Drawing(int width)>& draw) {
  std::string out = "<figure><figcaption><b>" + shown(title) + "</b>";
  if (!caption.empty()) out += " <span>" + shown(caption) + "</span>";
  out += "</figcaption>";
  out += legend;
  for (const int width : {kWide, kNarrow}) {
    const Drawing drawing = draw(width);
    out +=
        fmt::format("<svg class=\"chart {}\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>",
                    width == kWide ? "wide" : "narrow", width, drawing.height,
                    shown(fmt::format("{}. Its values stand in the tables of this section.", title)), drawing.content);
  }
  return {out + "</figure>"};
}

}  // namespace ripplekv
