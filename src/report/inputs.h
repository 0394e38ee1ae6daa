// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What a report is made from: artefacts read and checked, each of them optional. Validation and benchmark files are
// other programs' to write as well, so a number in them may be null; a number that is not there is NaN here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/results.h"
#include "report/document.h"
#include "ripplekv/budgets.h"
#include "ripplekv/profile.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct NamedBudgets {
  std::string name;  // of the file
  Budgets budgets;
};

struct Evaluation {
  std::string name;                                           // of the file
  std::vector<std::pair<std::string, std::string>> settings;  // keys and values of its header, as text
  std::vector<ResultLine> lines;
  std::string setting(std::string_view key) const;  // "" if it is not there
};

struct ValidationRow {
  std::string signal;
  double kept = 0, rho = 0, low = 0, high = 0;
};

struct Validation {
  std::string model;
  int64_t n_sample = 0;  // 0: the file does not say
  std::vector<ValidationRow> rows;
};

enum class BenchUnit { kTokensPerSecond, kSeconds, kBytes };  // of the first alone more is better

struct BenchRow {
  std::string work, policy, budget, formats, peer, peer_setting;
  int64_t context = 0;
  BenchUnit unit = BenchUnit::kTokensPerSecond;
  double figure = kNoValue, peer_figure = kNoValue, ratio = kNoValue;  // ratio: ours over the peer's
};

struct ReportInputs {
  std::optional<Profile> profile;
  std::vector<NamedBudgets> budgets;
  std::vector<Evaluation> evaluations;
  std::optional<Validation> validation;
  std::vector<BenchRow> bench;
  int64_t n_prompt = 2048;  // rows of budgets are shown for a prompt of this length
  std::string baseline;     // policy that others are compared with; empty: the first that is not full
};

// Errors of all: not there, damaged, of another format or version (file named).
Result<std::vector<NamedBudgets>> read_named_budgets(const std::vector<std::string>& paths);
// Errors: also a KL below 0, a kept fraction outside 0 to 1.
Result<std::vector<Evaluation>> read_evaluations(const std::vector<std::string>& paths);
// What `ripplekv validate --json` writes: an object with "spearman". Errors: also a rho that is no correlation, a
// fraction that is none.
Result<Validation> read_validation(const std::string& path);
// What `ripplekv bench --json` writes: a list of objects with "work" and its figure, or an object whose "records" is
// that list; other keys are left (docs/report.md). Errors: also a figure below 0.
Result<std::vector<BenchRow>> read_bench(const std::string& path);

}  // namespace ripplekv
