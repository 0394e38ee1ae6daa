// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// RULER (Hsieh et al. 2024) from files in its official format: records {index, input, outputs, length} and, in its
// newer files, answer_prefix. The input ends with the answer half begun. Without a folder: ruler_generator.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "eval/readers.h"
#include "eval/ruler_generator.h"
#include "eval/task_files.h"

namespace ripplekv {
namespace {

// Where the question begins: behind the last place where one of these stands, or, in a prompt of other words, behind
// the last line end. The document keeps at least one byte where there are two.
size_t end_of_document(const std::string& input) {
  constexpr std::array<std::string_view, 3> kQuestions = {"\nWhat ", "\nQuestion:", "\n\nAnswer the question"};
  size_t end = std::string::npos;
  for (const std::string_view question : kQuestions) {
    const size_t at = input.rfind(question);
    if (at == std::string::npos || at == 0) continue;
    if (end == std::string::npos || at > end) end = at;
  }
  // qa repeats its instruction between the documents and "Question:".
  if (const size_t at = input.rfind(kQuestions[2]); at != std::string::npos && at > 0 && at < end) end = at;
  if (end != std::string::npos) return end;
  const size_t newline = input.find_last_of('\n', input.size() - 1);
  return newline == std::string::npos || newline == 0 ? input.size() : newline;
}

Result<EvalSample> sample_of(const Record& record, const SuiteInfo& suite, const TaskInfo& task) {
  const JsonObject object = record.object();
  constexpr int64_t kIntegerMax = int64_t{1} << 53;
  RKV_ASSIGN_OR_RETURN(const int64_t index, object.integer("index", 0, kIntegerMax));
  EvalSample sample = sample_of_task(suite, task, fmt::format("{}", index));
  RKV_ASSIGN_OR_RETURN(std::string input, object.text("input"));
  if (object.has("answer_prefix")) {
    RKV_ASSIGN_OR_RETURN(const std::string prefix, object.text("answer_prefix"));
    input += prefix;
  }
  if (input.empty()) return object.error("input", "is empty, expected a prompt");
  RKV_ASSIGN_OR_RETURN(sample.answers, object.texts("outputs"));
  if (sample.answers.empty()) return object.error("outputs", "is empty, expected at least one answer");
  RKV_ASSIGN_OR_RETURN(sample.length, object.integer("length", 1, kIntegerMax));
  const size_t end = end_of_document(input);
  sample.document = input.substr(0, end);
  sample.question = input.substr(end);
  return sample;
}

}  // namespace

Result<std::vector<EvalSample>> read_ruler(const SuiteInfo& suite, const SuiteOptions& options) {
  if (options.data_dir.empty()) return generate_ruler(suite, options);
  RKV_ASSIGN_OR_RETURN(const std::vector<TaskFile> files,
                       find_task_files(suite, options, {"{}.jsonl", "{}/validation.jsonl"}));
  std::vector<EvalSample> samples;
  for (const auto& [task, path] : files) {
    RecordFile file(path);
    for (int64_t n = 0; options.n_samples == 0 || n < options.n_samples; ++n) {
      RKV_ASSIGN_OR_RETURN(const std::optional<Record> record, file.next());
      if (!record) break;
      RKV_ASSIGN_OR_RETURN(EvalSample sample, sample_of(*record, suite, *task));
      RKV_RETURN_IF_ERROR(file.claim_id(sample.id));
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace ripplekv
