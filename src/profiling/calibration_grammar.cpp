// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Parser of the grammar's texts. They are part of the program, so nothing here reports errors to a user.
#include "profiling/calibration_grammar.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "profiling/calibration_forms.h"
#include "profiling/calibration_prose.h"
#include "profiling/calibration_words.h"

namespace ripplekv {
namespace {

void add_fact_line(std::vector<FactSpec>& facts, const std::string& line) {
  constexpr std::string_view kMarks = "?=~+>";
  constexpr std::array<std::string FactSpec::*, 5> kFields = {&FactSpec::question, &FactSpec::answer, &FactSpec::recall,
                                                              &FactSpec::measure, &FactSpec::update};
  const size_t mark = kMarks.find(line[0]);
  if (mark == std::string_view::npos) {
    facts.emplace_back().sentence = line;
  } else {
    facts.back().*kFields[mark] = line.substr(2);
  }
}

void add_words(std::vector<std::string>& options, std::string_view list) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(", "), list.size());
    options.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
}

void add_line(CalibrationGrammar& grammar, std::string& rule, std::string line) {
  for (size_t i = line.find("\\n"); i != std::string::npos; i = line.find("\\n", i)) line.replace(i, 2, "\n");
  if (line[0] == '@') {
    rule = line.substr(1);
  } else if (line[0] == '%') {
    const size_t colon = line.find(": ");
    add_words(grammar.rules[line.substr(1, colon - 1)], std::string_view(line).substr(colon + 2));
  } else if (rule.ends_with(".fact")) {
    add_fact_line(grammar.facts[rule], line);
  } else {
    grammar.rules[rule].push_back(std::move(line));
  }
}

void parse_text(CalibrationGrammar& grammar, std::string_view text) {
  std::string rule;
  std::string logical;  // with its continuation lines
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("  ")) {
      if (!logical.ends_with("\\n")) logical += ' ';
      logical += line.substr(2);
    } else {
      if (!logical.empty()) add_line(grammar, rule, std::move(logical));
      logical = line;
    }
  }
  if (!logical.empty()) add_line(grammar, rule, std::move(logical));
}

}  // namespace

const CalibrationGrammar& calibration_grammar() {
  static const CalibrationGrammar kGrammar = [] {
    CalibrationGrammar g;
    for (const std::string_view text : {kCalibrationWords, kCalibrationProse, kCalibrationForms}) parse_text(g, text);
    return g;
  }();
  return kGrammar;
}

}  // namespace ripplekv
