// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the readers of the suites share: which tasks are asked for, where their files are, one JSONL record after
// another, ids that are unique. Private to src/eval/.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_file.h"
#include "base/line_file.h"
#include "eval/suite.h"

namespace ripplekv {

constexpr int64_t kRecordBytesMax = int64_t{100} << 20;  // of one line

// The tasks named, in the table's order; all if none is.
Result<std::vector<const TaskInfo*>> select_tasks(const SuiteInfo& suite, const std::vector<std::string>& names);

struct TaskFile {
  const TaskInfo* task;
  std::string path;
};

// Files of the tasks selected: `data_dir`/PATTERN, the first pattern that is there; "{}" in it stands for the task.
// Without names, tasks without a file are left out. Errors: a named task has none, no task has one, no such folder.
Result<std::vector<TaskFile>> find_task_files(const SuiteInfo& suite, const SuiteOptions& options,
                                              const std::vector<std::string>& patterns);

struct Record {
  nlohmann::json node;  // an object
  std::string where;    // "path line N"
  int64_t n_line = 0;
  JsonObject object() const { return JsonObject(node, where); }
};

// The records of one file; blank lines are skipped.
class RecordFile {
 public:
  explicit RecordFile(const std::string& path) : path_(path), lines_(path, kRecordBytesMax) {}

  Result<std::optional<Record>> next();  // no value after the last; a file without any is an error
  // Remembers which id stands on the line read last. Error: it stood on an earlier one, too.
  Status claim_id(const std::string& id);

 private:
  std::string path_;
  LineFile lines_;
  bool any_ = false;
  std::map<std::string, int64_t> line_of_id_;
};

// A sample of a task with all that the table says of it.
EvalSample sample_of_task(const SuiteInfo& suite, const TaskInfo& task, std::string id);

}  // namespace ripplekv
