// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/prompt_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_file.h"
#include "cli/setup.h"
#include "model/vocab.h"

namespace ripplekv {
namespace {

Result<std::vector<int32_t>> ids_of(const nlohmann::json& json, const char* key, const std::string& where) {
  std::vector<int32_t> ids;
  if (!json.contains(key)) return ids;
  const auto fail = [&](const std::string& what) {
    return invalid_argument(fmt::format("{}: key '{}': {}, expected a list of token ids", where, key, what));
  };
  if (!json[key].is_array()) return fail(fmt::format("got {}", json[key].type_name()));
  for (const auto& item : json[key]) {
    if (!item.is_number_integer()) return fail(fmt::format("got {} in it", item.type_name()));
    const auto id = item.is_number_unsigned() && item.get<uint64_t>() > INT32_MAX ? -1 : item.get<int64_t>();
    if (id < 0 || id > INT32_MAX) return fail("got a number outside 0 to 2^31 - 1");
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

}  // namespace

Result<PromptFile> read_prompt_file(const Model& model, const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const std::string text, read_text(path));
  PromptFile input;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '[') {
    const auto list = parse_json(text, path);
    if (!list.ok()) {
      return invalid_argument(
          fmt::format("{}, expected a list of token ids, or a text that begins with '[' as {{\"text\": ...}}",
                      list.status().message()));
    }
    RKV_ASSIGN_OR_RETURN(input.ids, ids_of({{"ids", *list}}, "ids", path));
    return input;
  }
  if (first == std::string::npos || text[first] != '{') {
    input.ids = model.vocab().tokenize(text, true, true);
    return input;
  }
  RKV_ASSIGN_OR_RETURN(const nlohmann::json json, parse_json(text, path));
  RKV_ASSIGN_OR_RETURN(input.ids, ids_of(json, "ids", path));
  RKV_ASSIGN_OR_RETURN(input.answer, ids_of(json, "answer", path));
  if (!json.contains("ids")) {
    if (!json.contains("text") || !json["text"].is_string()) {
      return invalid_argument(fmt::format("{}: expected a key 'ids' (token ids) or 'text'", path));
    }
    input.ids = model.vocab().tokenize(json["text"].get<std::string>(), true, true);
  }
  return input;
}

}  // namespace ripplekv
