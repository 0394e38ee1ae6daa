// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LongBench (Bai et al. 2023) in its official files: records {input, context, answers, all_classes, _id, ...} in
// TASK.jsonl; the prompts and answer lengths of all tasks in config/dataset2prompt.json and dataset2maxlen.json.
#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/text.h"
#include "eval/readers.h"
#include "eval/task_files.h"

namespace ripplekv {
namespace {

constexpr int kAnswerTokensMax = 1 << 20;

// A prompt of dataset2prompt.json: text with {context} and {input}, as Python's str.format reads it.
class PromptFormat {
 public:
  static Result<PromptFormat> parse(std::string_view text, const std::string& where) {
    PromptFormat format;
    std::string literal;
    int n_context = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c != '{' && c != '}') {
        literal += c;
      } else if (i + 1 < text.size() && text[i + 1] == c) {
        literal += c;
        ++i;
      } else {
        const size_t end = text.find('}', i);
        const std::string_view name = c == '{' && end != std::string_view::npos ? text.substr(i + 1, end - i - 1) : "";
        if (name != "context" && name != "input") {
          return data_loss(fmt::format("{}: got {}, expected only {{context}} and {{input}} in braces", where,
                                       ripplekv::quoted(text.substr(i, 32))));
        }
        format.parts_.push_back({std::move(literal), name == "context"});
        literal.clear();
        n_context += name == "context" ? 1 : 0;
        i = end;
      }
    }
    format.end_ = std::move(literal);
    if (n_context == 1) return format;
    return data_loss(fmt::format("{}: got {{context}} {} times in the prompt, expected it once", where, n_context));
  }

  void fill(const std::string& context, const std::string& input, EvalSample& sample) const {
    std::string text;
    for (const Part& part : parts_) {
      text += part.before;
      text += part.is_context ? context : input;
      if (!part.is_context) continue;
      sample.document = std::move(text);
      text.clear();
    }
    sample.question = text + end_;
  }

 private:
  struct Part {
    std::string before;
    bool is_context;
  };
  std::vector<Part> parts_;
  std::string end_;
};

class Config {
 public:
  static Result<Config> read(const std::string& data_dir) {
    Config config;
    RKV_RETURN_IF_ERROR(config.read_file_into(data_dir + "/config/dataset2prompt.json", config.prompts_));
    RKV_RETURN_IF_ERROR(config.read_file_into(data_dir + "/config/dataset2maxlen.json", config.lengths_));
    return config;
  }

  Result<PromptFormat> prompt(std::string_view task) const {
    RKV_ASSIGN_OR_RETURN(const std::string text, JsonObject(prompts_.node, prompts_.path).text(task));
    return PromptFormat::parse(text, fmt::format("{}: key '{}'", prompts_.path, task));
  }
  Result<int> n_answer_max(std::string_view task) const {
    return JsonObject(lengths_.node, lengths_.path).small_integer(task, 1, kAnswerTokensMax);
  }

 private:
  struct File {
    std::string path;
    nlohmann::json node;
  };

  static Status read_file_into(const std::string& path, File& file) {
    file.path = path;
    const Result<std::string> text = read_file(path, kJsonSizeMax);
    if (!text.ok()) return text.status().with_context("LongBench's prompts and answer lengths");
    RKV_ASSIGN_OR_RETURN(file.node, parse_json(*text, path));
    if (file.node.is_object()) return ok_status();
    return data_loss(fmt::format("{}: got JSON that is {}, expected an object", path, file.node.type_name()));
  }

  File prompts_;
  File lengths_;
};

Result<EvalSample> sample_of(const Record& record, const SuiteInfo& suite, const TaskInfo& task,
                             const PromptFormat& format) {
  const JsonObject object = record.object();
  RKV_ASSIGN_OR_RETURN(std::string id, object.text("_id"));
  EvalSample sample = sample_of_task(suite, task, std::move(id));
  RKV_ASSIGN_OR_RETURN(const std::string context, object.text("context"));
  RKV_ASSIGN_OR_RETURN(const std::string input, object.text("input"));
  RKV_ASSIGN_OR_RETURN(sample.answers, object.texts("answers"));
  if (sample.answers.empty()) return object.error("answers", "is empty, expected at least one answer");
  if (task.metric == "classification") {
    RKV_ASSIGN_OR_RETURN(sample.classes, object.texts("all_classes"));
  }
  format.fill(context, input, sample);
  return sample;
}

}  // namespace

Result<std::vector<EvalSample>> read_longbench(const SuiteInfo& suite, const SuiteOptions& options) {
  RKV_ASSIGN_OR_RETURN(const std::vector<TaskFile> files, find_task_files(suite, options, {"{}.jsonl"}));
  RKV_ASSIGN_OR_RETURN(const Config config, Config::read(options.data_dir));
  std::vector<EvalSample> samples;
  for (const auto& [task, path] : files) {
    RKV_ASSIGN_OR_RETURN(const PromptFormat format, config.prompt(task->name));
    RKV_ASSIGN_OR_RETURN(const int n_answer_max, config.n_answer_max(task->name));
    RecordFile file(path);
    for (int64_t n = 0; options.n_samples == 0 || n < options.n_samples; ++n) {
      RKV_ASSIGN_OR_RETURN(const std::optional<Record> record, file.next());
      if (!record) break;
      RKV_ASSIGN_OR_RETURN(EvalSample sample, sample_of(*record, suite, *task, format));
      RKV_RETURN_IF_ERROR(file.claim_id(sample.id));
      sample.n_answer_max = n_answer_max;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace ripplekv
