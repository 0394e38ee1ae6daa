// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Reading, checking and writing of JSON artefacts with nlohmann's parser. Its exceptions end here.
#include "base/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ripplekv {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string join(std::string_view parent, std::string_view key) {
  if (parent.empty()) return std::string(key);
  if (key.empty()) return std::string(parent);
  return fmt::format("{}.{}", parent, key);
}

std::string key_error(std::string_view where, std::string_view key, std::string_view message) {
  if (key.empty()) return fmt::format("{}: {}", where, message);
  return fmt::format("{}: key {}: {}", where, ripplekv::quoted(key), message);
}

// Walks the text once before the document is built, so that nothing hostile is ever held: it stops at the first
// fault and keeps a sentence about it.
class Checker final : public nlohmann::json_sax<json> {
 public:
  Checker(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  const Status& status() const { return status_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return enter(false); }
  bool start_array(std::size_t) override { return enter(true); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    frames_.back().key = name;
    if (frames_.back().keys.insert(name).second) return true;
    status_ = data_loss(key_error(where_, path(), "is there twice, expected once"));
    return false;
  }

  bool parse_error(std::size_t position, const std::string& last_token, const json::exception& error) override {
    if (error.id == 406) {  // the parser's number for "number overflow"
      status_ = data_loss(fmt::format("{}: {}: got {}, expected a number that a double can hold", where_,
                                      line_and_column(position), ripplekv::quoted(last_token)));
    } else if (position > text_.size()) {
      status_ =
          data_loss(fmt::format("{}: ends in the middle, after {} bytes, expected more JSON", where_, text_.size()));
    } else {
      status_ = data_loss(fmt::format("{}: damaged JSON at {}, near {}", where_, line_and_column(position),
                                      ripplekv::quoted(last_token)));
    }
    return false;
  }

 private:
  struct Frame {
    bool is_array = false;
    size_t index = 0;  // of the current value
    std::string key;
    std::set<std::string> keys;
  };

  std::string path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      path = frame.is_array ? fmt::format("{}[{}]", path, frame.index) : join(path, frame.key);
    }
    return path;
  }

  // position: counted from 1.
  std::string line_and_column(size_t position) const {
    const std::string_view before = text_.substr(0, position - 1);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t newline = before.rfind('\n');
    const size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    return fmt::format("line {}, column {}", line, column);
  }

  bool value() {
    if (!frames_.empty()) ++frames_.back().index;
    return true;
  }

  bool enter(bool is_array) {
    if (frames_.size() >= static_cast<size_t>(kJsonDepthMax)) {
      status_ = data_loss(fmt::format("{}: got JSON nested more than {} deep, expected less", where_, kJsonDepthMax));
      return false;
    }
    frames_.push_back({is_array, 0, {}, {}});
    return true;
  }

  bool leave() {
    frames_.pop_back();
    return value();
  }

  std::string_view text_;
  std::string_view where_;
  std::vector<Frame> frames_;
  Status status_;
};

std::string describe(const json& node) {
  switch (node.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::string:
      return fmt::format("text {}", ripplekv::quoted(node.get_ref<const std::string&>()));
    case json::value_t::boolean:
      return node.get<bool>() ? "true" : "false";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return fmt::format("an array of {}", node.size());
    default:
      return node.dump();
  }
}

std::string got(const json& node, std::string_view expected) {
  return fmt::format("got {}, expected {}", describe(node), expected);
}

bool is_finite_number(const json& node) { return node.is_number() && std::isfinite(node.get<double>()); }

bool is_plain(const ordered_json& node) { return !node.is_structured() || node.empty(); }

// What nlohmann would write as null or refuse by an exception, found first and named by its key.
Status check_writable(const ordered_json& node, const std::string& key) {
  if (node.is_number_float() && !std::isfinite(node.get<double>())) {
    return invalid_argument(
        fmt::format("key {}: got {}, expected a finite number", ripplekv::quoted(key), node.get<double>()));
  }
  if (node.is_string()) {
    const auto& text = node.get_ref<const std::string&>();
    if (const auto invalid = first_invalid_utf8(text)) {
      return invalid_argument(fmt::format("key {}: got {}, which is not UTF-8 at byte {}", ripplekv::quoted(key),
                                          ripplekv::quoted(text), *invalid));
    }
  }
  if (node.is_object()) {
    for (const auto& [name, child] : node.items()) {
      if (!valid_utf8(name)) {
        return invalid_argument(fmt::format("key {}: is not UTF-8", ripplekv::quoted(join(key, name))));
      }
      RKV_RETURN_IF_ERROR(check_writable(child, join(key, name)));
    }
  } else if (node.is_array()) {
    for (size_t i = 0; i < node.size(); ++i) {
      RKV_RETURN_IF_ERROR(check_writable(node[i], fmt::format("{}[{}]", key, i)));
    }
  }
  return ok_status();
}

void append(std::string& out, const ordered_json& node, size_t indent) {
  if (is_plain(node)) {
    out += node.dump();
    return;
  }
  const bool one_line = indent > 0 && std::all_of(node.begin(), node.end(), is_plain);
  const std::string separator = one_line ? ", " : ",\n" + std::string(indent + 2, ' ');
  out += node.is_object() ? '{' : '[';
  if (!one_line) out += separator.substr(1);
  bool first = true;
  for (const auto& item : node.items()) {
    if (!first) out += separator;
    first = false;
    if (node.is_object()) out += ordered_json(item.key()).dump() + ": ";
    append(out, item.value(), indent + 2);
  }
  if (!one_line) out += "\n" + std::string(indent, ' ');
  out += node.is_object() ? '}' : ']';
}

}  // namespace

Result<json> parse_json(std::string_view text, std::string_view where) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return data_loss(fmt::format("{}: is empty, expected JSON", where));
  }
  if (const auto invalid = first_invalid_utf8(text)) {
    return data_loss(fmt::format("{}: is not UTF-8 at byte {}, expected JSON", where, *invalid));
  }
  // To nlohmann's lexer a zero byte is the end of the text: what follows it would go unread.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return data_loss(fmt::format("{}: has a zero byte at byte {}, expected JSON", where, zero));
  }
  Checker checker(text, where);
  if (!json::sax_parse(text, &checker)) return checker.status();
  return json::parse(text);
}

Result<json> read_json(const std::string& path, std::string_view format, int version) {
  RKV_ASSIGN_OR_RETURN(const std::string text, read_file(path, kJsonSizeMax));
  RKV_ASSIGN_OR_RETURN(json document, parse_json(text, path));
  if (!document.is_object()) return data_loss(fmt::format("{}: {}", path, got(document, "an object")));
  const JsonObject envelope(document, path);
  RKV_ASSIGN_OR_RETURN(const std::string found_format, envelope.text("format"));
  if (found_format != format) {
    return mismatch(
        key_error(path, "format", fmt::format("got {}, expected '{}'", ripplekv::quoted(found_format), format)));
  }
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  RKV_ASSIGN_OR_RETURN(const int64_t found_version, envelope.integer("version", -kAny, kAny));
  if (found_version != version) {
    return mismatch(key_error(
        path, "version", fmt::format("got {}, expected {}, the one that this program reads", found_version, version)));
  }
  return document;
}

Result<std::string> artefact_text(std::string_view format, int version, const ordered_json& body) {
  RKV_CHECK(body.is_object() && !body.contains("format") && !body.contains("version"));
  RKV_RETURN_IF_ERROR(check_writable(body, ""));
  ordered_json document = {{"format", std::string(format)}, {"version", version}};
  document.update(body);
  std::string text;
  append(text, document, 0);
  text += '\n';
  return text;
}

Status write_json(const std::string& path, std::string_view format, int version, const ordered_json& body) {
  const Result<std::string> text = artefact_text(format, version, body);
  if (!text.ok()) return text.status().with_context(path);
  if (static_cast<int64_t>(text->size()) > kJsonSizeMax) {
    return resource_exhausted(fmt::format("{}: would have {}, expected at most {}, the most that is read back", path,
                                          human_bytes(static_cast<int64_t>(text->size())), human_bytes(kJsonSizeMax)));
  }
  return write_file_atomically(path, *text);
}

JsonObject::JsonObject(const json& node, std::string where, std::string key)
    : node_(&node), where_(std::move(where)), key_(std::move(key)) {
  RKV_CHECK(node.is_object());
}

std::string JsonObject::path_of(std::string_view key) const { return join(key_, key); }

Status JsonObject::error(std::string_view key, std::string_view message) const {
  return data_loss(key_error(where_, path_of(key), message));
}

bool JsonObject::has(std::string_view key) const { return node_->contains(key); }

Result<const json*> JsonObject::find(std::string_view key, std::string_view expected) const {
  const auto it = node_->find(key);
  if (it == node_->end()) return error(key, fmt::format("is missing, expected {}", expected));
  return &*it;
}

Result<std::string> JsonObject::text(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "text"));
  if (!node->is_string()) return error(key, got(*node, "text"));
  return node->get<std::string>();
}

Result<std::vector<std::string>> JsonObject::texts(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "an array of texts"));
  if (!node->is_array()) return error(key, got(*node, "an array of texts"));
  std::vector<std::string> values;
  values.reserve(node->size());
  for (const json& item : *node) {
    if (!item.is_string()) return error(fmt::format("{}[{}]", key, values.size()), got(item, "text"));
    values.push_back(item.get<std::string>());
  }
  return values;
}

Result<bool> JsonObject::boolean(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "true or false"));
  if (!node->is_boolean()) return error(key, got(*node, "true or false"));
  return node->get<bool>();
}

Result<int64_t> JsonObject::integer(std::string_view key, int64_t min, int64_t max) const {
  std::string expected = "a whole number";
  if (max == std::numeric_limits<int64_t>::max()) {
    if (min > -max) expected += fmt::format(" of at least {}", min);
  } else {
    expected += fmt::format(" from {} to {}", min, max);
  }
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, expected));
  const bool fits = node->is_number_integer() &&
                    (!node->is_number_unsigned() ||
                     node->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (!fits || node->get<int64_t>() < min || node->get<int64_t>() > max) return error(key, got(*node, expected));
  return node->get<int64_t>();
}

Result<int> JsonObject::small_integer(std::string_view key, int min, int max) const {
  RKV_ASSIGN_OR_RETURN(const int64_t value, integer(key, min, max));
  return static_cast<int>(value);
}

Result<uint64_t> JsonObject::unsigned_integer(std::string_view key) const {
  constexpr std::string_view kExpected = "a whole number of 64 bits, 0 or more";
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, kExpected));
  if (!node->is_number_unsigned()) return error(key, got(*node, kExpected));
  return node->get<uint64_t>();
}

Result<double> JsonObject::number(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "a finite number"));
  if (!is_finite_number(*node)) return error(key, got(*node, "a finite number"));
  return node->get<double>();
}

Result<std::vector<double>> JsonObject::numbers(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "an array of numbers"));
  if (!node->is_array()) return error(key, got(*node, "an array of numbers"));
  std::vector<double> values;
  values.reserve(node->size());
  for (const json& item : *node) {
    if (!is_finite_number(item)) {
      return error(fmt::format("{}[{}]", key, values.size()), got(item, "a finite number"));
    }
    values.push_back(item.get<double>());
  }
  return values;
}

Result<std::vector<std::vector<double>>> JsonObject::number_rows(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "an array of arrays of numbers"));
  if (!node->is_array()) return error(key, got(*node, "an array of arrays of numbers"));
  std::vector<std::vector<double>> rows;
  rows.reserve(node->size());
  for (const json& row : *node) {
    if (!row.is_array()) return error(fmt::format("{}[{}]", key, rows.size()), got(row, "an array of numbers"));
    std::vector<double>& values = rows.emplace_back();
    values.reserve(row.size());
    for (const json& item : row) {
      if (!is_finite_number(item)) {
        return error(fmt::format("{}[{}][{}]", key, rows.size() - 1, values.size()), got(item, "a finite number"));
      }
      values.push_back(item.get<double>());
    }
  }
  return rows;
}

Result<JsonObject> JsonObject::object(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "an object"));
  if (!node->is_object()) return error(key, got(*node, "an object"));
  return JsonObject(*node, where_, path_of(key));
}

Result<std::vector<JsonObject>> JsonObject::objects(std::string_view key) const {
  RKV_ASSIGN_OR_RETURN(const json* node, find(key, "an array of objects"));
  if (!node->is_array()) return error(key, got(*node, "an array of objects"));
  std::vector<JsonObject> views;
  for (size_t i = 0; i < node->size(); ++i) {
    const std::string item_key = fmt::format("{}[{}]", key, i);
    if (!(*node)[i].is_object()) return error(item_key, got((*node)[i], "an object"));
    views.emplace_back((*node)[i], where_, path_of(item_key));
  }
  return views;
}

Result<std::string> JsonObject::object_text(std::string_view key) const {
  RKV_RETURN_IF_ERROR(object(key).status());
  return node_->find(key)->dump();
}

}  // namespace ripplekv
