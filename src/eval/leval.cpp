// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// L-Eval (An et al. 2023) in its official files: one document and several questions in each record of TASK.jsonl,
// {input, instructions, outputs, ...}. The words around the document are ours.
#include <fmt/format.h>

#include <algorithm>

#include "eval/readers.h"
#include "eval/task_files.h"

namespace ripplekv {
namespace {

struct Document {
  int64_t n_line = 0;
  std::string text;
  std::vector<std::string> questions;
  std::vector<std::string> answers;
  size_t n_taken = 0;  // the first of its questions
};

Result<Document> document_of(const Record& record) {
  const JsonObject object = record.object();
  Document document;
  document.n_line = record.n_line;
  RKV_ASSIGN_OR_RETURN(document.text, object.text("input"));
  RKV_ASSIGN_OR_RETURN(document.questions, object.texts("instructions"));
  RKV_ASSIGN_OR_RETURN(document.answers, object.texts("outputs"));
  if (document.questions.empty()) return object.error("instructions", "is empty, expected at least one question");
  if (document.questions.size() != document.answers.size()) {
    return object.error("outputs", fmt::format("got {} answers, expected one for each of {} questions",
                                               document.answers.size(), document.questions.size()));
  }
  return document;
}

std::string_view hint_of(const TaskInfo& task) {
  return task.metric == "choice" ? "Answer only with what is asked for: for options, their letter or letters.\n" : "";
}

}  // namespace

Result<std::vector<EvalSample>> read_leval(const SuiteInfo& suite, const SuiteOptions& options) {
  RKV_ASSIGN_OR_RETURN(const std::vector<TaskFile> files, find_task_files(suite, options, {"{}.jsonl"}));
  std::vector<EvalSample> samples;
  for (const auto& [task, path] : files) {
    RecordFile file(path);
    std::vector<Document> documents;
    // More documents than samples are never needed.
    while (options.n_samples == 0 || static_cast<int64_t>(documents.size()) < options.n_samples) {
      RKV_ASSIGN_OR_RETURN(const std::optional<Record> record, file.next());
      if (!record) break;
      RKV_ASSIGN_OR_RETURN(Document document, document_of(*record));
      documents.push_back(std::move(document));
    }
    int64_t n_taken = 0;
    const auto wanted = [&] { return options.n_samples == 0 || n_taken < options.n_samples; };
    for (bool any = true; any && wanted();) {
      any = false;
      for (Document& document : documents) {
        if (!wanted()) break;
        if (document.n_taken == document.questions.size()) continue;
        ++document.n_taken;
        ++n_taken;
        any = true;
      }
    }
    for (const Document& document : documents) {
      std::vector<std::string> questions;
      for (const std::string& question : document.questions) {
        questions.push_back(fmt::format("\n\n{}\n{}", question, hint_of(*task)));
      }
      for (size_t i = 0; i < document.n_taken; ++i) {
        EvalSample sample = sample_of_task(suite, *task, fmt::format("{}:{}", document.n_line, i + 1));
        sample.document = document.text;
        sample.question = questions[i];
        sample.questions_beside = questions;
        sample.answers = {document.answers[i]};
        samples.push_back(std::move(sample));
      }
    }
  }
  return samples;
}

}  // namespace ripplekv
