// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/prompts_file.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/replaceable.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

using nlohmann::ordered_json;

constexpr char kBegin[] = R"({"format":"ripplekv.prompts")";

std::string line_of(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Status check_replaces_prompts(const std::string& path) {
  return check_replaceable(path, kBegin, "prompts of 'ripplekv eval'");
}

std::string prompts_header(const Model& model, std::string_view suite) {
  std::vector<int32_t> end_ids;
  for (int32_t id = 0; id < model.vocab().n_tokens(); ++id) {
    if (model.vocab().is_end(id)) end_ids.push_back(id);
  }
  return line_of({{"format", "ripplekv.prompts"},
                  {"version", 1},
                  {"model", model.id().name},
                  {"fingerprint", model.id().fingerprint},
                  {"n_layer", model.config().n_layer},
                  {"suite", suite},
                  {"end_ids", end_ids}});
}

std::string prompt_line(const std::string& name, const EvalSample& sample, QuestionMode mode,
                        const Result<SplitPrompt>& prompt, size_t i) {
  ordered_json object = {{"sample", name}, {"task", sample.task}, {"question", to_string(mode)}};
  if (!prompt.ok()) {
    object["error"] = prompt.status().message();
    return line_of(object);
  }
  std::vector<int32_t> ids = prompt->document;
  const size_t n_document = ids.size();
  ids.insert(ids.end(), prompt->questions[i].begin(), prompt->questions[i].end());
  object["n_document"] = n_document;
  object["n_cut"] = prompt->n_cut;
  object["answer_tokens"] = sample.n_answer_max;
  object["metric"] = sample.metric;
  object["answers"] = sample.answers;
  if (!sample.classes.empty()) object["all_classes"] = sample.classes;
  object["ids"] = ids;
  return line_of(object);
}

}  // namespace ripplekv
