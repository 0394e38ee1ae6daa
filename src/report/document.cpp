// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Cells, and the document as Markdown and as CSV.
#include "report/document.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/html.h"

namespace ripplekv {
namespace {

constexpr std::string_view kNotThere = "n/a";

// Markdown renderers take HTML and their own signs from texts: as in a page, nothing of a text may become markup.
std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : visible_text(text)) {
    if (c == '<' || c == '>' || c == '&') {
      out += html_escape(std::string_view(&c, 1));
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
    } else {
      if (std::string_view("\\`*_[|").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// RFC 4180. Spreadsheets run texts that begin like a formula, so these get an apostrophe.
std::string csv_text(std::string_view text) {
  const std::string shown = visible_text(text);
  std::string out = "\"";
  if (!shown.empty() && std::string_view("=+-@\t\r").find(shown[0]) != std::string_view::npos) out += '\'';
  for (const char c : shown) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

}  // namespace

std::string shown_number(double value, int n_digit) {
  if (!std::isfinite(value)) return std::string(kNotThere);
  if (value == 0) return "0";
  const double magnitude = std::floor(std::log10(std::abs(value)));
  if (magnitude < -4 || magnitude > 8) return fmt::format("{:.{}e}", value, std::max(n_digit - 1, 0));
  const int n_decimal = std::max(0, n_digit - 1 - static_cast<int>(magnitude));
  return fmt::format("{:.{}f}", value, n_decimal);
}

std::string shown_whole(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e18) return std::string(kNotThere);
  std::string digits = std::to_string(std::llabs(std::llround(value)));
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return (value <= -0.5 ? "-" : "") + digits;
}

std::string shown_percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.4g}%", 100 * fraction) : std::string(kNotThere);
}

std::string shown_rows_note(const Table& table) {
  if (table.rows.size() <= kShownRowsMax) return "";
  return fmt::format("The first {} of {} rows are shown; the .csv has all.", shown_whole(kShownRowsMax),
                     shown_whole(static_cast<double>(table.rows.size())));
}

Cell text_cell(std::string text) { return {std::move(text), {}}; }
Cell number_cell(double value, int n_digit) { return {shown_number(value, n_digit), {value}}; }
Cell whole_cell(double value) { return {shown_whole(value), {value}}; }
Cell percent_cell(double fraction) { return {shown_percent(fraction), {fraction}}; }

Cell error_cell(double value, double standard_error) {
  return {shown_number(value) + (standard_error > 0 ? " \xC2\xB1 " + shown_number(standard_error, 2) : ""),
          {value, standard_error}};
}

Cell interval_cell(const Interval& interval, int n, double unit) {
  const double value = interval.value * unit;
  if (n < 2) return {shown_number(value), {value, kNoValue, kNoValue}};
  const double low = interval.low * unit;
  const double high = interval.high * unit;
  return {fmt::format("{} [{}, {}]", shown_number(value), shown_number(low), shown_number(high)), {value, low, high}};
}

std::string report_markdown(const Report& report) {
  std::string out = "# " + markdown_text(report.title) + "\n";
  const auto facts = [&out](const std::vector<Fact>& list) {
    if (!list.empty()) out += "\n";
    for (const Fact& fact : list)
      out += fmt::format("- {}: {}{}\n", markdown_text(fact.name), markdown_text(fact.value),
                         fact.note.empty() ? "" : " (" + markdown_text(fact.note) + ")");
  };
  facts(report.facts);
  for (const Section& section : report.sections) {
    out += "\n## " + markdown_text(section.title) + "\n";
    if (!section.lede.empty()) out += "\n" + markdown_text(section.lede) + "\n";
    for (const std::string& warning : section.warnings) out += "\n**" + markdown_text(warning) + "**\n";
    facts(section.facts);
    for (const Table& table : section.tables) {
      out += "\n### " + markdown_text(table.title) + "\n\n|";
      for (const std::string& column : table.columns) out += " " + markdown_text(column) + " |";
      out += "\n|";
      for (size_t c = 0; c < table.columns.size(); ++c) out += " --- |";
      for (size_t r = 0; r < std::min(table.rows.size(), kShownRowsMax); ++r) {
        out += "\n|";
        for (const Cell& cell : table.rows[r]) {
          out += " " + (cell.numbers.empty() ? markdown_text(cell.text) : cell.text) + " |";
        }
      }
      out += "\n";
      if (const std::string note = shown_rows_note(table); !note.empty()) out += "\n" + note + "\n";
    }
  }
  return out;
}

std::string report_csv(const Report& report) {
  std::string out = "section,table,row,column,value\n";
  for (const Section& section : report.sections) {
    for (const Table& table : section.tables) {
      for (size_t r = 0; r < table.rows.size(); ++r) {
        const auto line = [&](size_t c, std::string_view suffix, const std::string& value) {
          out += fmt::format("{},{},{},{},{}\n", csv_text(section.title), csv_text(table.title), r,
                             csv_text(table.columns[c] + std::string(suffix)), value);
        };
        for (size_t c = 0; c < table.columns.size(); ++c) {
          const Cell& cell = table.rows[r][c];
          const std::vector<double>& numbers = cell.numbers;
          line(c, "", numbers.empty() ? csv_text(cell.text) : csv_number(numbers[0]));
          if (numbers.size() == 2) line(c, " standard error", csv_number(numbers[1]));
          if (numbers.size() == 3) line(c, " low", csv_number(numbers[1]));
          if (numbers.size() == 3) line(c, " high", csv_number(numbers[2]));
        }
      }
    }
  }
  return out;
}

}  // namespace ripplekv
