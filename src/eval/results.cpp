// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "base/replaceable.h"
#include "base/text.h"

namespace ripplekv {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kFormat = "ripplekv.eval";
constexpr int kVersion = 2;  // 1: products with quantised weights rounded otherwise
constexpr int64_t kBytesMax = int64_t{1} << 31;
constexpr double kKeptUnits = 1e12;  // kept fractions are told apart by their first 12 digits

ordered_json to_json(const ResultLine& line) {
  ordered_json object = {{"sample", line.sample},
                         {"task", line.task},
                         {"policy", line.policy},
                         {"question", to_string(line.question)},
                         {"kept", line.kept}};
  if (!line.source.empty()) object["source"] = line.source;
  if (!line.error.empty()) {
    object["error"] = line.error;
    return object;
  }
  object["n_prompt"] = line.n_prompt;
  object["rows"] = line.rows;
  object["bytes"] = line.bytes;
  if (line.held >= 0) object["held"] = line.held;
  if (line.compared) {
    object["kl"] = line.kl;
    object["kl_max"] = line.kl_max;
    object["top1"] = line.top1;
  }
  object["nll"] = line.nll;
  if (line.score >= 0) object["score"] = line.score;
  if (!line.answer.empty()) object["answer"] = line.answer;
  return object;
}

Result<ResultLine> line_of(const JsonObject& object) {
  constexpr int64_t kCountMax = int64_t{1} << 50;
  ResultLine line;
  RKV_ASSIGN_OR_RETURN(line.sample, object.text("sample"));
  RKV_ASSIGN_OR_RETURN(line.task, object.text("task"));
  RKV_ASSIGN_OR_RETURN(line.policy, object.text("policy"));
  if (object.has("question")) {  // files of before there was a choice are all aware
    RKV_ASSIGN_OR_RETURN(const std::string question, object.text("question"));
    line.question = question == "agnostic" ? QuestionMode::kAgnostic : QuestionMode::kAware;
    if (question != to_string(line.question)) {
      return object.error("question", fmt::format("got {}, expected aware or agnostic", ripplekv::quoted(question)));
    }
  }
  RKV_ASSIGN_OR_RETURN(line.kept, object.number("kept"));
  if (object.has("source")) {
    RKV_ASSIGN_OR_RETURN(line.source, object.text("source"));
  }
  if (object.has("error")) {
    RKV_ASSIGN_OR_RETURN(line.error, object.text("error"));
    return line;
  }
  RKV_ASSIGN_OR_RETURN(line.n_prompt, object.integer("n_prompt", 1, kCountMax));
  RKV_ASSIGN_OR_RETURN(line.rows, object.integer("rows", 0, kCountMax));
  RKV_ASSIGN_OR_RETURN(line.bytes, object.integer("bytes", 0, kCountMax));
  if (object.has("held")) {
    RKV_ASSIGN_OR_RETURN(line.held, object.number("held"));
  }
  line.compared = object.has("kl") || object.has("kl_max") || object.has("top1") || !object.has("score");
  if (line.compared) {
    RKV_ASSIGN_OR_RETURN(line.kl, object.number("kl"));
    RKV_ASSIGN_OR_RETURN(line.kl_max, object.number("kl_max"));
    RKV_ASSIGN_OR_RETURN(line.top1, object.number("top1"));
  }
  RKV_ASSIGN_OR_RETURN(line.nll, object.number("nll"));
  if (object.has("score")) {
    RKV_ASSIGN_OR_RETURN(line.score, object.number("score"));
  }
  if (object.has("answer")) {
    RKV_ASSIGN_OR_RETURN(line.answer, object.text("answer"));
  }
  return line;
}

// What is written once and never again: replaced characters rather than an exception for bytes that are not UTF-8.
std::string text_of(const ordered_json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Status append_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "ab");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (written) return ok_status();
  return io_error(fmt::format("{}: cannot be written: {}", path, std::generic_category().message(errno)));
}

LineKey key_of(const ResultLine& line) {
  return {line.sample, line.policy, line.question, std::llround(line.kept * kKeptUnits)};
}

struct Parsed {
  ordered_json header;
  std::vector<ResultLine> lines;
  size_t n_whole = 0;  // bytes of whole lines
};

Result<Parsed> parse(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const std::string text, read_file(path, kBytesMax));
  Parsed parsed;
  std::map<LineKey, int> measured;  // the lines
  int n_line = 0;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string where = fmt::format("{}:{}", path, ++n_line);
    RKV_ASSIGN_OR_RETURN(const json value, parse_json(std::string_view(text).substr(begin, end - begin), where));
    if (!value.is_object()) return data_loss(fmt::format("{}: expected a JSON object", where));
    const JsonObject object(value, where);
    if (n_line == 1) {
      RKV_ASSIGN_OR_RETURN(const std::string format, object.text("format"));
      if (format != kFormat) return data_loss(fmt::format("{}: format is '{}', expected '{}'", where, format, kFormat));
      RKV_ASSIGN_OR_RETURN(const int64_t version, object.integer("version", 0, INT32_MAX));
      if (version != kVersion) {
        return unsupported(fmt::format("{}: version is {}, expected {}", where, version, kVersion));
      }
      parsed.header = ordered_json::parse(text.substr(begin, end - begin));
    } else {
      RKV_ASSIGN_OR_RETURN(ResultLine line, line_of(object));
      if (line.error.empty()) {
        const auto [first, is_new] = measured.emplace(key_of(line), n_line);
        if (!is_new) {
          return data_loss(fmt::format(
              "{}: measures sample {}, policy {} at {:g}% again, expected what line {} says once", where,
              ripplekv::quoted(line.sample), ripplekv::quoted(line.policy), line.kept * 100, first->second));
        }
      }
      parsed.lines.push_back(std::move(line));
    }
    parsed.n_whole = end + 1;
  }
  if (n_line == 0) {
    return data_loss(
        fmt::format("{}: got no whole line, expected results of 'ripplekv eval'; --fresh starts over", path));
  }
  return parsed;
}

ordered_json whole_header(const ordered_json& header) {
  ordered_json whole = {{"format", kFormat}, {"version", kVersion}};
  for (const auto& [key, value] : header.items()) whole[key] = value;
  return whole;
}

Status check_header(const std::string& path, const ordered_json& got, const ordered_json& expected) {
  for (const auto& [key, value] : expected.items()) {
    const json of_file = got.contains(key) ? json(got[key]) : json();
    if (of_file == json(value)) continue;
    return mismatch(fmt::format("{}: holds results with {} {}, expected {}; --fresh starts over", path, key,
                                of_file.dump(), value.dump()));
  }
  return ok_status();
}

Result<std::vector<ResultLine>> lines_of(const std::string& path, const ordered_json& header) {
  RKV_ASSIGN_OR_RETURN(Parsed parsed, parse(path));
  RKV_RETURN_IF_ERROR(check_header(path, parsed.header, header));
  return std::move(parsed.lines);
}

// A file with this header, whose lines are whole: a new one, or the one that is there without its torn last line.
Status begin(const std::string& path, const ordered_json& header) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return write_file_atomically(path, text_of(header));
  RKV_ASSIGN_OR_RETURN(const Parsed parsed, parse(path));
  RKV_RETURN_IF_ERROR(check_header(path, parsed.header, header));
  std::filesystem::resize_file(path, parsed.n_whole, error);
  return error ? io_error(fmt::format("{}: cannot be written: {}", path, error.message())) : ok_status();
}

}  // namespace

std::string_view to_string(QuestionMode mode) { return mode == QuestionMode::kAware ? "aware" : "agnostic"; }

ResultLine result_line(const std::string& sample, const std::string& task, QuestionMode question,
                       const PromptResult& prompt, const PolicyResult& result) {
  ResultLine line;
  line.sample = sample;
  line.task = task;
  line.question = question;
  line.policy = result.policy;
  line.kept = result.kept;
  line.n_prompt = prompt.n_prompt;
  line.rows = result.rows;
  line.bytes = result.bytes;
  line.held = result.held;
  line.compared = result.compared;
  line.kl = result.kl;
  line.kl_max = result.kl_max;
  line.top1 = result.top1;
  line.nll = result.nll;
  line.answer = result.answer;
  line.error = result.error;
  return line;
}

Result<ResultsFile> ResultsFile::open(const std::string& path, const ordered_json& header, bool fresh,
                                      const Ranks& ranks) {
  ResultsFile file;
  file.path_ = path;
  file.ranks_ = ranks;
  const ordered_json whole = whole_header(header);
  if (ranks.first()) {
    RKV_RETURN_IF_ERROR(FileLock::take(path).status());  // before anything of it is replaced or cut
    if (fresh) {
      RKV_RETURN_IF_ERROR(
          check_replaceable(path, fmt::format(R"({{"format":"{}")", kFormat), "results of 'ripplekv eval'"));
      RKV_RETURN_IF_ERROR(remove_parts(parts_of(path)));
      RKV_RETURN_IF_ERROR(write_file_atomically(path, text_of(whole)));
    }
    RKV_RETURN_IF_ERROR(begin(path, whole));
    RKV_ASSIGN_OR_RETURN(file.lock_, FileLock::take(path));
  }
  ranks.wait_for_all();
  RKV_ASSIGN_OR_RETURN(std::vector<ResultLine> of_file, lines_of(path, whole));
  file.take(std::move(of_file));
  const std::vector<std::string> parts = parts_of(path);
  for (const std::string& part : parts) {
    RKV_ASSIGN_OR_RETURN(std::vector<ResultLine> lines, lines_of(part, whole));
    file.take(std::move(lines));
  }
  ranks.wait_for_all();  // all have read what nobody has begun to write
  if (ranks.count > 1 || !parts.empty()) {
    file.part_ = part_path(path, ranks.rank);
    RKV_RETURN_IF_ERROR(begin(file.part_, whole));
  }
  return file;
}

Status ResultsFile::join(const std::map<std::string, size_t>& places) {
  if (part_.empty()) return ok_status();
  ranks_.wait_for_all();
  part_.clear();
  if (ranks_.first()) {
    RKV_ASSIGN_OR_RETURN(Parsed parsed, parse(path_));
    replace(std::move(parsed.lines));
    const std::vector<std::string> parts = parts_of(path_);
    std::vector<ResultLine> added;
    for (const std::string& part : parts) {
      RKV_ASSIGN_OR_RETURN(const Parsed of_rank, parse(part));
      for (const ResultLine& line : of_rank.lines) {
        // Joined before, by a run that was killed before its parts were gone.
        if (!has(line.sample, line.policy, line.question, line.kept)) added.push_back(line);
      }
    }
    // One sample may lie in several parts: a rank that died had measured one of its modes, another rank the other.
    const auto place = [&](const ResultLine& line) {
      const auto found = places.find(line.sample);
      return std::pair(found == places.end() ? places.size() : found->second, line.question);
    };
    std::stable_sort(added.begin(), added.end(),
                     [&](const ResultLine& a, const ResultLine& b) { return place(a) < place(b); });
    RKV_RETURN_IF_ERROR(append(added));
    RKV_RETURN_IF_ERROR(remove_parts(parts));
  }
  ranks_.wait_for_all();
  RKV_ASSIGN_OR_RETURN(Parsed all, parse(path_));
  replace(std::move(all.lines));
  return ok_status();
}

bool ResultsFile::has(std::string_view sample, std::string_view policy, QuestionMode question, double kept) const {
  return measured_.contains({std::string(sample), std::string(policy), question, std::llround(kept * kKeptUnits)});
}

void ResultsFile::take(std::vector<ResultLine> lines) {
  for (ResultLine& line : lines) {
    if (line.error.empty()) {
      measured_.insert(key_of(line));
    } else {
      failed_[key_of(line)] = line.error;
    }
    lines_.push_back(std::move(line));
  }
}

void ResultsFile::replace(std::vector<ResultLine> lines) {
  lines_.clear();
  measured_.clear();
  failed_.clear();
  take(std::move(lines));
}

Status ResultsFile::append(std::vector<ResultLine> lines) {
  std::erase_if(lines, [&](const ResultLine& line) {  // what failed before as it does now
    const auto before = failed_.find(key_of(line));
    return !line.error.empty() && before != failed_.end() && before->second == line.error;
  });
  std::string text;
  for (const ResultLine& line : lines) text += text_of(to_json(line));
  RKV_RETURN_IF_ERROR(append_text(part_.empty() ? path_ : part_, text));
  take(std::move(lines));
  return ok_status();
}

Result<ResultsOf> read_results(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(Parsed parsed, parse(path));
  return ResultsOf{parsed.header.dump(), std::move(parsed.lines)};
}

}  // namespace ripplekv
