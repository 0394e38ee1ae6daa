// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Benchmark suites: LongBench, RULER, L-Eval, needle in a haystack. Files in their official formats, or samples of our
// own generator, become one kind of sample; answers are scored as the suite publishes it. Text only: tokenizing, the
// chat template and cutting to a model's context are the runner's, with truncate_middle(). Formats: docs/eval.md.
// Samples own their text, the tables live as long as the program; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

struct EvalSample {
  std::string suite, task, id;                // id: unique within (suite, task)
  std::string document;                       // the prompt up to the end of its document
  std::string question;                       // the rest: prompt = document + question
  std::vector<std::string> questions_beside;  // all about its document, this one too, where there may be several
  std::vector<std::string> answers;           // accepted; RULER: all wanted, but for qa_1 and qa_2
  std::vector<std::string> classes;           // classification: all there are
  std::string language;                       // en, zh, code
  std::string metric;                         // of metric_registry()
  int n_answer_max = 0;                       // tokens
  bool chat = false;                          // to be wrapped in the model's chat template
  double depth = -1;   // of the needle, from 0 (start) to 1 (end of the document); -1: no such sample
  int64_t length = 0;  // tokens of prompt and longest answer, where the suite says so; else 0
  std::string prompt() const { return document + question; }
};

struct TaskInfo {
  std::string_view name;
  std::string_view group;  // of the suite's table
  std::string_view language;
  std::string_view metric;
  int n_answer_max = 0;     // 0: LongBench's own configuration file says
  bool chat = false;        // published without the chat template: few-shot, code, RULER's answers half begun
  bool first_line = false;  // only the first line of an answer is scored
};

struct SuiteInfo {
  std::string_view name;
  std::string_view summary;
  std::span<const TaskInfo> tasks;  // in the table's order, groups together
};
std::span<const SuiteInfo> suite_registry();
Result<const SuiteInfo*> find_suite(std::string_view name);

struct SuiteOptions {
  std::string data_dir;            // ruler and needle: empty for our generator
  std::vector<std::string> tasks;  // empty: all; with data_dir, all whose file is there
  int64_t n_samples = 0;           // of each task, generators: and length and depth; 0: all there are, generators: 1
  // For the generators alone:
  uint64_t seed = 1;
  std::vector<int64_t> lengths;                           // tokens of prompt and longest answer together
  std::vector<double> depths;                             // needle: each in [0, 1]
  std::function<int64_t(std::string_view)> count_tokens;  // of a text without chat template
};

// Samples of the suite by task, in the order of its table. Files are read as far as n_samples asks: the first records,
// in turns over the documents where several questions are about one (L-Eval); questions about one document are
// neighbours in the result.
// Errors: an unknown suite or task (with all there are), no file in the folder, a damaged record (file, line and key),
// a line of more than 100 MiB, a task whose metric cannot be computed here, a length too short for its task.
Result<std::vector<EvalSample>> read_suite(std::string_view suite, const SuiteOptions& options);

// 0 to 1, as published: what the suite cuts off an answer before scoring is cut off here; the best over the accepted
// answers, for RULER the mean over the wanted ones.
Result<double> score_answer(const EvalSample& sample, std::string_view prediction);

// How a suite's table sums up. Scores of tasks in any unit; tasks that are not there are left out.
struct GroupScore {
  std::string_view group;  // the last one is "average": over groups, as LongBench's table has it; RULER: over tasks
  double score = 0;
  int n_task = 0;
};
std::vector<GroupScore> group_scores(const SuiteInfo& suite, const std::map<std::string, double>& task_scores);

// LongBench's cut of a prompt that does not fit: the first and the last n_max / 2 tokens (so an odd n_max gives one
// less). Prompts of at most n_max stay as they are. What is published does this before the chat template is put round
// the prompt. REQUIRES: n_max >= 2.
std::vector<int32_t> truncate_middle(std::span<const int32_t> ids, int64_t n_max);

}  // namespace ripplekv
