// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// JSON artefacts: {"format": "ripplekv.x", "version": N, ...} read with limits and checks, written atomically; and
// typed getters whose errors name file, key, what was found and what was expected. Knows no artefact's content.
// Input is hostile: limits on size and depth, keys given twice refused. Unknown keys are left for newer writers.
// nlohmann's types are only named here; whoever builds or walks JSON includes <nlohmann/json.hpp> in its .cpp.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

constexpr int64_t kJsonSizeMax = int64_t{64} << 20;  // bytes
constexpr int kJsonDepthMax = 32;                    // arrays and objects inside each other

// One JSON value and nothing after it. `where` (a path, usually) begins the message.
// Errors: not UTF-8, not JSON, cut off, nested too deeply, a key twice in one object.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view where);

// Reads an artefact and checks its envelope: kMismatch for another format or version.
Result<nlohmann::json> read_json(const std::string& path, std::string_view format, int version);

// The text of an artefact, as write_json puts it into the file: envelope first, then the body's keys in their order,
// arrays and objects of plain values on one line. Numbers read back exactly.
// Errors: a number that is not finite, text that is not UTF-8 (both named by key).
Result<std::string> artefact_text(std::string_view format, int version, const nlohmann::ordered_json& body);
Status write_json(const std::string& path, std::string_view format, int version, const nlohmann::ordered_json& body);

// View of one object inside an artefact. The JSON it looks into must outlive it.
class JsonObject {
 public:
  // REQUIRES: `node` is an object. `where`: the file, for messages.
  JsonObject(const nlohmann::json& node, std::string where, std::string key = "");

  bool has(std::string_view key) const;
  Result<std::string> text(std::string_view key) const;
  Result<std::vector<std::string>> texts(std::string_view key) const;  // an array of texts
  Result<bool> boolean(std::string_view key) const;
  Result<int64_t> integer(std::string_view key, int64_t min, int64_t max) const;
  Result<int> small_integer(std::string_view key, int min, int max) const;
  Result<uint64_t> unsigned_integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;  // finite
  Result<std::vector<double>> numbers(std::string_view key) const;
  Result<std::vector<std::vector<double>>> number_rows(std::string_view key) const;
  Result<JsonObject> object(std::string_view key) const;
  Result<std::vector<JsonObject>> objects(std::string_view key) const;  // an array of objects
  Result<std::string> object_text(std::string_view key) const;          // an object as JSON text, keys sorted

  // "file: key 'a.b[3].key': message", kDataLoss. An empty key is the object itself.
  Status error(std::string_view key, std::string_view message) const;

 private:
  std::string path_of(std::string_view key) const;
  Result<const nlohmann::json*> find(std::string_view key, std::string_view expected) const;

  const nlohmann::json* node_;
  std::string where_;
  std::string key_;
};

}  // namespace ripplekv
