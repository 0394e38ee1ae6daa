// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Readers of calibration files. Every file is a Source that hands out one sample at a time and holds no open handle: a
// folder of any number of files is read in turns without holding them all open or in memory.
// No model, no tokenizer and no generated text in here.
#include "profiling/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/line_file.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ripplekv {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Deeper nesting has no use in these records, and its parse tree would be many times the size of the text.
constexpr int kJsonDepthMax = 32;

// A zero byte is well-formed UTF-8, but in a file it means UTF-16 or no text at all.
Status check_text(std::string_view text, const std::string& where) {
  const size_t bad = std::min(first_invalid_utf8(text).value_or(text.size()), text.find('\0'));
  if (bad >= text.size()) return ok_status();
  return data_loss(fmt::format("not UTF-8 text: got byte 0x{:02x} at offset {} of {}",
                               static_cast<unsigned char>(text[bad]), bad, where));
}

bool is_blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; });
}

std::string too_long(const std::string& where) {
  return fmt::format("too long: got more than {} bytes, expected at most that in {}", kCalibrationTextBytesMax, where);
}

// ---- one JSON record -> one sample ----

std::string keys_of(const Json& record) {
  constexpr size_t kKeysShown = 8;
  std::string keys;
  size_t n = 0;
  for (const auto& item : record.items()) {
    if (n++ == kKeysShown) return keys + ", ...";
    // Qualified: std::quoted would be found through the argument.
    keys += (n == 1 ? "" : ", ") + ripplekv::quoted(item.key());
  }
  return keys.empty() ? "none" : keys;
}

Result<std::string> text_field(const Json& record, const char* key, const std::string& where) {
  const auto it = record.find(key);
  if (it == record.end()) {
    return data_loss(fmt::format("\"{}\" is missing: got keys {}, in {}", key, keys_of(record), where));
  }
  if (!it->is_string()) {
    return data_loss(fmt::format("\"{}\": got {}, expected a string, in {}", key, it->type_name(), where));
  }
  return it->get<std::string>();
}

// The first string of a list; no value if there is no such key, it is null, or the list is empty.
Result<std::optional<std::string>> first_of(const Json& record, const char* key, const std::string& where) {
  const auto it = record.find(key);
  if (it == record.end() || it->is_null()) return std::optional<std::string>();
  if (!it->is_array()) {
    return data_loss(fmt::format("\"{}\": got {}, expected a list of strings, in {}", key, it->type_name(), where));
  }
  if (it->empty()) return std::optional<std::string>();
  if (!it->front().is_string()) {
    return data_loss(fmt::format("\"{}\"[0]: got {}, expected a string, in {}", key, it->front().type_name(), where));
  }
  return std::optional<std::string>(it->front().get<std::string>());
}

Result<std::vector<int32_t>> id_list(const Json& list, const char* key, const std::string& where) {
  if (!list.is_array()) {
    return data_loss(fmt::format("\"{}\": got {}, expected a list of token ids, in {}", key, list.type_name(), where));
  }
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    // The parser keeps what has no minus sign as unsigned, so that 2^63 and above are seen as they are.
    const bool fits =
        list[i].is_number_unsigned() && list[i].get<uint64_t>() <= uint64_t{std::numeric_limits<int32_t>::max()};
    if (!fits) {
      const std::string got = list[i].is_number() ? list[i].dump() : std::string(list[i].type_name());
      return data_loss(
          fmt::format("\"{}\"[{}]: got {}, expected a token id in [0, 2147483647], in {}", key, i, got, where));
    }
    ids.push_back(static_cast<int32_t>(list[i].get<uint64_t>()));
  }
  return ids;
}

Result<CalibrationSample> sample_of(const Json& record, const std::string& where) {
  if (!record.is_object()) {
    return data_loss(fmt::format("not a sample: got {}, expected a JSON object, in {}", record.type_name(), where));
  }
  CalibrationSample sample;
  if (record.contains("ids")) {
    RKV_ASSIGN_OR_RETURN(sample.ids, id_list(record["ids"], "ids", where));
    if (sample.ids.empty()) return data_loss(fmt::format("\"ids\" is empty, expected token ids, in {}", where));
    if (const auto it = record.find("answer"); it != record.end() && !it->is_null()) {
      RKV_ASSIGN_OR_RETURN(sample.answer_ids, id_list(*it, "answer", where));
    }
    return sample;
  }
  const char* document_key = "context";
  std::optional<std::string> answer;
  if (record.contains("context")) {
    RKV_ASSIGN_OR_RETURN(sample.document, text_field(record, "context", where));
    RKV_ASSIGN_OR_RETURN(sample.question, text_field(record, "input", where));
    RKV_ASSIGN_OR_RETURN(answer, first_of(record, "answers", where));
  } else if (record.contains("input") && record.contains("instructions")) {
    document_key = "input";
    RKV_ASSIGN_OR_RETURN(sample.document, text_field(record, "input", where));
    RKV_ASSIGN_OR_RETURN(const std::optional<std::string> instruction, first_of(record, "instructions", where));
    if (!instruction || is_blank(*instruction)) {
      return data_loss(fmt::format("\"instructions\" is empty, expected a question first, in {}", where));
    }
    sample.question = *instruction;
    RKV_ASSIGN_OR_RETURN(answer, first_of(record, "outputs", where));
  } else {
    return data_loss(fmt::format(
        "unknown kind of sample: got keys {}; expected context and input (LongBench), input and instructions (L-Eval) "
        "or ids (token ids), in {}",
        keys_of(record), where));
  }
  if (is_blank(sample.document)) {
    return data_loss(fmt::format("\"{}\" is empty, expected a document, in {}", document_key, where));
  }
  if (is_blank(sample.question)) sample.question.clear();
  sample.answer = answer.value_or("");
  return sample;
}

Result<Json> parse_json(std::string_view text, const std::string& where) {
  RKV_RETURN_IF_ERROR(check_text(text, where));
  bool too_deep = false;
  const auto watch_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kJsonDepthMax;
    return !too_deep;
  };
  try {
    Json json = Json::parse(text, watch_depth);
    if (too_deep) {
      return data_loss(
          fmt::format("JSON is nested too deeply: expected at most {} levels, in {}", kJsonDepthMax, where));
    }
    return json;
  } catch (const Json::parse_error& e) {
    // "[id] parse error at line 1, column 9: syntax error while ... - why; last read: '...'". The token last read can
    // be as long as the file, and the line is that of the record, not of the file: both are left out.
    std::string_view why = e.what();
    if (const size_t colon = why.find(": "); colon != std::string_view::npos) why.remove_prefix(colon + 2);
    why = why.substr(0, why.find("; last read"));
    return data_loss(fmt::format("damaged JSON at byte {}: {}, in {}", e.byte, why, where));
  } catch (const Json::exception&) {
    return data_loss(fmt::format("damaged JSON: a number is out of range, in {}", where));
  }
}

// ---- sources ----

// One file. next() gives its next sample, no value at its end.
class Source {
 public:
  explicit Source(fs::path path) : path_(std::move(path)), name_(path_.filename().string()) {}
  virtual ~Source() = default;
  virtual Result<std::optional<CalibrationSample>> next() = 0;

 protected:
  Result<std::ifstream> open() const {
    std::ifstream stream(path_, std::ios::binary);
    if (!stream) return io_error(fmt::format("cannot open calibration file {}", path_.string()));
    return stream;
  }

  // The whole file without a byte order mark, checked for length only.
  Result<std::string> read_all() const {
    RKV_ASSIGN_OR_RETURN(std::ifstream stream, open());
    std::error_code error;
    const uintmax_t size = fs::file_size(path_, error);
    if (error) return io_error(fmt::format("cannot read {}: {}", path_.string(), error.message()));
    if (size > static_cast<uintmax_t>(kCalibrationTextBytesMax)) return data_loss(too_long(path_.string()));
    std::string text(static_cast<size_t>(size), '\0');
    stream.read(text.data(), static_cast<std::streamsize>(size));
    if (stream.gcount() != static_cast<std::streamsize>(size)) {
      return io_error(fmt::format("cannot read {}: got {} bytes, expected {}", path_.string(), stream.gcount(), size));
    }
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    return text;
  }

  Status no_samples() const {
    return data_loss(fmt::format("no samples: got an empty file, expected text, in {}", path_.string()));
  }

  const fs::path path_;
  const std::string name_;
};

class TextSource final : public Source {
 public:
  using Source::Source;

  Result<std::optional<CalibrationSample>> next() override {
    if (std::exchange(done_, true)) return std::optional<CalibrationSample>();
    CalibrationSample sample;
    sample.id = name_;
    RKV_ASSIGN_OR_RETURN(sample.document, read_all());
    RKV_RETURN_IF_ERROR(check_text(sample.document, path_.string()));
    if (is_blank(sample.document)) return no_samples();
    return std::optional<CalibrationSample>(std::move(sample));
  }

 private:
  bool done_ = false;
};

class JsonlSource final : public Source {
 public:
  explicit JsonlSource(fs::path path) : Source(std::move(path)), lines_(path_.string(), kCalibrationTextBytesMax) {}

  Result<std::optional<CalibrationSample>> next() override {
    while (true) {
      RKV_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines_.next());
      if (!line) break;
      if (is_blank(*line)) continue;
      RKV_ASSIGN_OR_RETURN(const Json record, parse_json(*line, lines_.where()));
      RKV_ASSIGN_OR_RETURN(CalibrationSample sample, sample_of(record, lines_.where()));
      sample.id = fmt::format("{}:{}", name_, lines_.n_line());
      any_ = true;
      return std::optional<CalibrationSample>(std::move(sample));
    }
    if (!any_) return no_samples();
    return std::optional<CalibrationSample>();
  }

 private:
  LineFile lines_;
  bool any_ = false;
};

class JsonSource final : public Source {
 public:
  using Source::Source;

  Result<std::optional<CalibrationSample>> next() override {
    if (!loaded_) RKV_RETURN_IF_ERROR(load());
    if (i_record_ == records_.size()) return std::optional<CalibrationSample>();
    const size_t i = i_record_++;
    RKV_ASSIGN_OR_RETURN(CalibrationSample sample,
                         sample_of(records_[i], fmt::format("{} record {}", path_.string(), i)));
    sample.id = fmt::format("{}:{}", name_, i);
    return std::optional<CalibrationSample>(std::move(sample));
  }

 private:
  Status load() {
    RKV_ASSIGN_OR_RETURN(const std::string text, read_all());
    if (is_blank(text)) return no_samples();
    RKV_ASSIGN_OR_RETURN(records_, parse_json(text, path_.string()));
    if (!records_.is_array()) records_ = Json::array({std::move(records_)});
    if (records_.empty()) return data_loss(fmt::format("no samples: got an empty list, in {}", path_.string()));
    loaded_ = true;
    return ok_status();
  }

  Json records_;
  size_t i_record_ = 0;
  bool loaded_ = false;
};

Result<std::vector<std::unique_ptr<Source>>> sources_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!is_taken_from_folder(it->path().string())) continue;
    std::error_code type_error;
    const fs::file_type type = it->status(type_error).type();
    if (type == fs::file_type::directory) continue;
    if (type != fs::file_type::regular) {
      return invalid_argument(fmt::format("not a file that can be read: {}", it->path().string()));
    }
    paths.push_back(it->path());
  }
  if (error) return io_error(fmt::format("cannot list folder {}: {}", folder.string(), error.message()));
  if (paths.empty()) {
    return not_found(fmt::format("no calibration files: expected *.txt or *.jsonl in folder {}", folder.string()));
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::unique_ptr<Source>> sources;
  for (fs::path& path : paths) {
    if (path.extension() == ".txt") {
      sources.push_back(std::make_unique<TextSource>(std::move(path)));
    } else {
      sources.push_back(std::make_unique<JsonlSource>(std::move(path)));
    }
  }
  return sources;
}

Result<std::vector<std::unique_ptr<Source>>> sources_of(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return sources_in(path);
  if (type == fs::file_type::not_found) {
    return not_found(fmt::format("calibration file or folder not found: {}", path.string()));
  }
  if (type != fs::file_type::regular) {
    return invalid_argument(fmt::format("not a file or folder that can be read: {}", path.string()));
  }
  std::vector<std::unique_ptr<Source>> sources;
  const fs::path extension = path.extension();
  if (extension == ".txt") {
    sources.push_back(std::make_unique<TextSource>(path));
  } else if (extension == ".jsonl") {
    sources.push_back(std::make_unique<JsonlSource>(path));
  } else if (extension == ".json") {
    sources.push_back(std::make_unique<JsonSource>(path));
  } else {
    return unsupported(
        fmt::format("unknown kind of calibration file: got \"{}\", expected .txt, .jsonl or .json, in {}",
                    extension.string(), path.string()));
  }
  return sources;
}

}  // namespace

bool is_taken_from_folder(const std::string& path) {
  const fs::path extension = fs::path(path).extension();
  return extension == ".txt" || extension == ".jsonl";
}

Result<std::vector<CalibrationSample>> read_calibration(const std::string& path, int64_t limit) {
  if (limit < 1) return invalid_argument(fmt::format("number of calibration samples: got {}, expected >= 1", limit));
  RKV_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Source>> sources, sources_of(path));
  std::vector<CalibrationSample> samples;
  while (!sources.empty()) {
    std::vector<std::unique_ptr<Source>> unfinished;
    for (std::unique_ptr<Source>& source : sources) {
      RKV_ASSIGN_OR_RETURN(std::optional<CalibrationSample> sample, source->next());
      if (!sample) continue;
      samples.push_back(std::move(*sample));
      if (static_cast<int64_t>(samples.size()) == limit) return samples;
      unfinished.push_back(std::move(source));
    }
    sources = std::move(unfinished);
  }
  return samples;
}

}  // namespace ripplekv
