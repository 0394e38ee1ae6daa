// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Finding and reading the files of a suite.
#include "eval/task_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"

namespace ripplekv {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> names_of(const SuiteInfo& suite) {
  std::vector<std::string_view> names;
  for (const TaskInfo& task : suite.tasks) names.push_back(task.name);
  return names;
}

}  // namespace

Result<std::vector<const TaskInfo*>> select_tasks(const SuiteInfo& suite, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = names_of(suite);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = nearest_name(known, name);
    return invalid_argument(fmt::format("unknown task of {}: got {}{}, expected {}", suite.name, ripplekv::quoted(name),
                                        near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                                        fmt::join(known, ", ")));
  }
  std::vector<const TaskInfo*> tasks;
  for (const TaskInfo& task : suite.tasks) {
    if (names.empty() || std::find(names.begin(), names.end(), task.name) != names.end()) tasks.push_back(&task);
  }
  return tasks;
}

Result<std::vector<TaskFile>> find_task_files(const SuiteInfo& suite, const SuiteOptions& options,
                                              const std::vector<std::string>& patterns) {
  if (options.data_dir.empty()) {
    return invalid_argument(fmt::format("no folder with the files of {} was given, expected one", suite.name));
  }
  std::error_code error;
  if (!fs::is_directory(options.data_dir, error)) {
    return not_found(fmt::format("no folder {}, expected one with the files of {}", options.data_dir, suite.name));
  }
  RKV_ASSIGN_OR_RETURN(const std::vector<const TaskInfo*> tasks, select_tasks(suite, options.tasks));
  std::vector<TaskFile> files;
  for (const TaskInfo* task : tasks) {
    std::vector<std::string> tried;
    for (const std::string& pattern : patterns) {
      tried.push_back((fs::path(options.data_dir) / fmt::format(fmt::runtime(pattern), task->name)).string());
      if (fs::exists(tried.back(), error)) {
        files.push_back({task, tried.back()});
        break;
      }
    }
    const bool is_there = !files.empty() && files.back().task == task;
    if (!is_there && !options.tasks.empty()) {
      return not_found(
          fmt::format("no file of {} task {}: expected {}", suite.name, task->name, fmt::join(tried, " or ")));
    }
  }
  if (files.empty()) {
    return not_found(fmt::format("no file of {} in folder {}: expected {} for at least one of {}", suite.name,
                                 options.data_dir, fmt::format(fmt::runtime(patterns.front()), "TASK"),
                                 fmt::join(names_of(suite), ", ")));
  }
  return files;
}

Result<std::optional<Record>> RecordFile::next() {
  while (true) {
    RKV_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines_.next());
    if (!line) break;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    Record record;
    record.where = lines_.where();
    record.n_line = lines_.n_line();
    RKV_ASSIGN_OR_RETURN(record.node, parse_json(*line, record.where));
    if (!record.node.is_object()) {
      return data_loss(
          fmt::format("{}: got JSON that is {}, expected an object", record.where, record.node.type_name()));
    }
    any_ = true;
    return std::optional<Record>(std::move(record));
  }
  if (!any_) return data_loss(fmt::format("{}: is empty, expected JSON records, one a line", path_));
  return std::optional<Record>();
}

Status RecordFile::claim_id(const std::string& id) {
  const auto [it, is_new] = line_of_id_.emplace(id, lines_.n_line());
  if (is_new) return ok_status();
  return data_loss(fmt::format("{}: the id {} is on line {} already, expected one record of it", lines_.where(),
                               ripplekv::quoted(id), it->second));
}

EvalSample sample_of_task(const SuiteInfo& suite, const TaskInfo& task, std::string id) {
  EvalSample sample;
  sample.suite = suite.name;
  sample.task = task.name;
  sample.id = std::move(id);
  sample.language = task.language;
  sample.metric = task.metric;
  sample.n_answer_max = task.n_answer_max;
  sample.chat = task.chat;
  return sample;
}

}  // namespace ripplekv
