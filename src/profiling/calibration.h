// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Calibration samples: the prompts a model is profiled on, and the readers for files of them (*.txt, *.jsonl, *.json).
// Text stays text here: tokenizing, the chat template and cutting to a length are the profiler's. The generated default
// set lives in calibration_builtin.h. Samples own their text; the readers keep nothing and may run on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

// One prompt, either as text (`document` is not empty) or as token ids (`ids` is not empty), never both.
struct CalibrationSample {
  std::string id;  // unique in its set: "essay.txt", "qa.jsonl:12" (line), "qa.json:0" (record), "builtin:..."

  std::string document;
  std::string question;  // empty: no task, the document is simply continued
  std::string answer;    // a reference answer, where the source has one; the model's own may be preferred

  std::vector<int32_t> ids;         // the whole prompt, chat template included: used as it is
  std::vector<int32_t> answer_ids;  // its continuation, where the source has one

  bool is_ids() const { return !ids.empty(); }
  // What the chat template wraps: the document, a blank line, the question. Cut the document, never the question.
  std::string text() const { return question.empty() ? document : document + "\n\n" + question; }
};

// Most bytes that one line of a .jsonl, a whole .txt or a whole .json may hold.
inline constexpr int64_t kCalibrationTextBytesMax = int64_t{64} << 20;

// The first `limit` samples of a file or a folder; what lies behind them is not read.
//   *.txt    one sample: the whole file is the document, without a question
//   *.jsonl  one object per line (blank lines are skipped);  *.json: one object or a list of them. Of each object:
//              {"ids": [...], "answer": [...]?}                          token ids
//              {"context": "", "input": "", "answers": [""]?}            LongBench; an empty input is no question
//              {"input": "", "instructions": [""], "outputs": [""]?}     L-Eval; the first instruction and its output
//            tried in this order; other keys are ignored.
//   folder   its *.txt and *.jsonl by name, one sample of each in turn, so that a small limit covers every file
// Errors name file and line: not there, not text (UTF-8), empty, longer than kCalibrationTextBytesMax, damaged JSON,
// unknown keys (found and expected), values of the wrong type, ids outside [0, 2^31), limit < 1.
Result<std::vector<CalibrationSample>> read_calibration(const std::string& path, int64_t limit);
// By its name, a file that is taken where it lies in a folder of samples.
bool is_taken_from_folder(const std::string& path);

}  // namespace ripplekv
