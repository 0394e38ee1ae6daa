// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A report before it has a form: sections of facts, figures and tables. One document becomes the HTML page, the
// Markdown and the CSV, so that none of them says what the others do not. Texts are as they came from files: raw and
// untrusted; the forms escape them. Figures hold finished markup.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/statistics.h"

namespace ripplekv {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();  // a number that is not there

// A text, a number, a number with its standard error, or one with its interval: what is shown, and what the CSV has.
struct Cell {
  std::string text;
  std::vector<double> numbers;  // none, {value}, {value, standard error} or {value, low, high}
};

Cell text_cell(std::string text);
Cell number_cell(double value, int n_digit = 3);  // significant digits; what is not finite is "n/a"
Cell whole_cell(double value);                    // rounded to a whole number, digits in groups of three
Cell percent_cell(double fraction);
Cell error_cell(double value, double standard_error);
// Of n samples: one has no interval. Value and ends are multiplied by `unit`.
Cell interval_cell(const Interval& interval, int n, double unit = 1);

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;              // each as long as `columns`
  std::vector<std::pair<std::string, int>> groups;  // over the columns: name and how many; empty: none
  bool folded = false;                              // the page shows its title, and the rest when asked
};

// The page and the Markdown show this many rows of a table, and say so; the CSV has all.
constexpr size_t kShownRowsMax = 1000;

struct Figure {
  std::string markup;  // <figure>...</figure>
};

struct Fact {
  std::string name, value;
  std::string note = "";  // smaller, below the value
};

struct Section {
  std::string title;
  std::string lede;  // what the figures say, for somebody who reads them first here
  std::vector<Fact> facts;
  std::vector<std::string> warnings;
  std::vector<Figure> figures;
  std::vector<Table> tables;
};

struct Report {
  std::string title;
  std::vector<Fact> facts;  // at a glance
  std::vector<Section> sections;
};

std::string shown_number(double value, int n_digit = 3);
std::string shown_whole(double value);
std::string shown_percent(double fraction);
// "The first 3 of 4,000 rows are shown; the .csv has all."; empty where all are.
std::string shown_rows_note(const Table& table);

// The three forms. Markdown rounds as the page does; the CSV has one line for each number, unrounded: section, table,
// row, column, value.
std::string report_html(const Report& report);
std::string report_markdown(const Report& report);
std::string report_csv(const Report& report);

}  // namespace ripplekv
