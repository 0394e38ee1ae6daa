// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The results file of an evaluation: JSON lines, a header that says what was measured with what, then one line per
// (sample, policy, kept fraction, question), appended and flushed as they come. A run that was killed goes on from it:
// a torn last line is dropped, nothing is measured twice. Another model's or setting's file is refused.
// Several ranks write their lines to parts beside it, which the first joins in the order of the samples.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/file_lock.h"
#include "base/ranks.h"
#include "eval/runner.h"
#include "ripplekv/status.h"

namespace ripplekv {

// When the cache is compressed: the prompt whole, its question in sight, or the document before any question is seen.
enum class QuestionMode { kAware, kAgnostic };
std::string_view to_string(QuestionMode mode);  // "aware", "agnostic"

struct ResultLine {
  std::string sample;  // unique in the run
  std::string task;
  std::string policy;
  QuestionMode question = QuestionMode::kAware;
  double kept = 1;
  int64_t n_prompt = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
  double held = -1;      // rows over those of the full cache: protected rows may be more than `kept`; -1: not said
  bool compared = true;  // PolicyResult::compared; where not, the file has none of the next three
  double kl = 0;
  double kl_max = 0;
  double top1 = 0;
  double nll = 0;
  double score = -1;  // of the answer against the references; -1: not scored
  std::string answer;
  std::string source;  // hash of the sample's text and the policy's profile: a run that goes on checks it
  std::string error;   // why there is no measurement; empty if there is one
};

// The line of one measurement of a prompt.
ResultLine result_line(const std::string& sample, const std::string& task, QuestionMode question,
                       const PromptResult& prompt, const PolicyResult& result);

// What tells measurements apart: sample, policy, question, kept fraction in 1e-12.
using LineKey = std::tuple<std::string, std::string, QuestionMode, int64_t>;

class ResultsFile {
 public:
  // header: what must agree for a file to be gone on with. Creates the file, or reads what is there and cuts a torn
  // last line; fresh: replaces results, never anything else. With several ranks, or where a run of several left parts,
  // lines go to this rank's part until join().
  // Errors: a file that is something else, of another header (names the first key that differs), damaged lines (file
  // and line named), one that cannot be written, one that another process is writing.
  static Result<ResultsFile> open(const std::string& path, const nlohmann::ordered_json& header, bool fresh,
                                  const Ranks& ranks = {});

  const std::vector<ResultLine>& lines() const { return lines_; }  // before join(): what there was, and this rank's
  // A measurement of it is there; one that failed is to be tried again.
  bool has(std::string_view sample, std::string_view policy, QuestionMode question, double kept) const;
  // All lines in one write, handed to the operating system; a failure that the file has in the same words is left out.
  // Error: no space.
  Status append(std::vector<ResultLine> lines);
  // At the end, on every rank: the lines of the parts stand behind those of the file, by the places that their samples
  // have here, as one process would have written them. Then every rank holds all lines, and the parts are gone.
  Status join(const std::map<std::string, size_t>& places);

 private:
  void take(std::vector<ResultLine> lines);     // to the end of lines_
  void replace(std::vector<ResultLine> lines);  // lines_

  std::string path_;
  FileLock lock_;     // of the first rank
  std::string part_;  // where lines go; empty: to path_
  Ranks ranks_;
  std::vector<ResultLine> lines_;
  std::set<LineKey> measured_;             // of lines_ without an error
  std::map<LineKey, std::string> failed_;  // and with one
};

// Reads a finished or unfinished file for a table or report.
struct ResultsOf {
  std::string header;  // JSON object text
  std::vector<ResultLine> lines;
};
Result<ResultsOf> read_results(const std::string& path);

}  // namespace ripplekv
