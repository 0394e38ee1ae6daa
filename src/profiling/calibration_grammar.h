// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The grammar of the built-in calibration set as data: rules with their options, and facts, parsed once from the texts
// in calibration_words.h, calibration_prose.h and calibration_forms.h (where the notation of lines is explained).
// What the {slots} inside an option mean is the business of calibration_builtin.cpp. Immutable: any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ripplekv {

// A fact as templates.
struct FactSpec {
  std::string sentence, question, answer, recall;
  std::string measure;  // empty: not a number
  std::string update;   // empty: never corrected
};

struct CalibrationGrammar {
  std::map<std::string, std::vector<std::string>, std::less<>> rules;
  std::map<std::string, std::vector<FactSpec>, std::less<>> facts;  // by rule
};

const CalibrationGrammar& calibration_grammar();

}  // namespace ripplekv
