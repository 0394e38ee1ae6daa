// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "report/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "base/utf8.h"

namespace ripplekv {
namespace {

using nlohmann::json;

// The file's name, or its path where another file has the same name.
std::string name_among(const std::vector<std::string>& paths, const std::string& path) {
  const auto name = std::filesystem::path(path).filename();
  const auto n = std::count_if(paths.begin(), paths.end(), [&](const std::string& other) {
    return std::filesystem::path(other).filename() == name;
  });
  return n > 1 ? path : name.string();
}

Result<json> read_plain_json(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const std::string text, read_file(path, kJsonSizeMax));
  return parse_json(text, path);
}

// A list of objects, each handed to `read` with where it stands.
template <class Row>
Result<std::vector<Row>> rows_of(const json& list, const std::string& where,
                                 Result<Row> (*read)(const json&, const std::string&)) {
  std::vector<Row> rows;
  if (!list.is_array()) return data_loss(fmt::format("{}: got {}, expected a list", where, list.type_name()));
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", where, i);
    if (!list[i].is_object()) {
      return data_loss(fmt::format("{}: got {}, expected an object", at, list[i].type_name()));
    }
    RKV_ASSIGN_OR_RETURN(Row row, read(list[i], at));
    rows.push_back(std::move(row));
  }
  return rows;
}

// NaN where it is null or not there.
Result<double> number_of(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return kNoValue;
  if (!found->is_number()) {
    return data_loss(fmt::format("{}: key '{}': got {}, expected a number or null", where, key, found->type_name()));
  }
  return found->get<double>();
}

// A text, or a number as text; "" where it is null or not there.
Result<std::string> text_of(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number()) return found->dump();
  return data_loss(fmt::format("{}: key '{}': got {}, expected a text", where, key, found->type_name()));
}

// As number_of(), and between these where it is there.
Result<double> number_of(const json& object, const char* key, double low, double high, const std::string& where) {
  RKV_ASSIGN_OR_RETURN(const double value, number_of(object, key, where));
  if (std::isnan(value) || (value >= low && value <= high)) return value;
  return data_loss(fmt::format("{}: key '{}': got {:g}, expected {}", where, key, value,
                               std::isinf(high) ? fmt::format("a number from {:g} on", low)
                                                : fmt::format("a number from {:g} to {:g}", low, high)));
}

Result<ValidationRow> validation_row(const json& object, const std::string& where) {
  ValidationRow row;
  RKV_ASSIGN_OR_RETURN(row.signal, text_of(object, "signal", where));
  RKV_ASSIGN_OR_RETURN(row.kept, number_of(object, "kept", 0, 1, where));
  RKV_ASSIGN_OR_RETURN(row.rho, number_of(object, "rho", -1, 1, where));
  RKV_ASSIGN_OR_RETURN(row.low, number_of(object, "lo", -1, 1, where));
  RKV_ASSIGN_OR_RETURN(row.high, number_of(object, "hi", -1, 1, where));
  if (row.low > row.high) {
    return data_loss(
        fmt::format("{}: key 'lo': got {:g}, expected at most the {:g} of 'hi'", where, row.low, row.high));
  }
  if (row.rho < row.low || row.rho > row.high) {  // false where one is not there
    return data_loss(fmt::format("{}: key 'rho': got {:g}, expected a number from {:g} to {:g}, its 'lo' and 'hi'",
                                 where, row.rho, row.low, row.high));
  }
  if (row.signal.empty()) return data_loss(fmt::format("{}: expected a key 'signal'", where));
  return row;
}

struct BenchFigure {
  BenchUnit unit;
  const char* key;
  const char* peer_key;
};
constexpr std::array kBenchFigures = {BenchFigure{BenchUnit::kTokensPerSecond, "tokens_per_s", "peer_tokens_per_s"},
                                      BenchFigure{BenchUnit::kBytes, "above_weights_bytes", "peer_above_weights_bytes"},
                                      BenchFigure{BenchUnit::kSeconds, "seconds", "peer_seconds"}};

// The work's own, as `bench` has them; of other programs' works the first that is there. A speed has seconds as well.
const BenchFigure& figure_of(const json& object, std::string_view work) {
  if (work == "memory") return kBenchFigures[1];
  if (work == "first_token") return kBenchFigures[2];
  if (work != "prefill" && work != "decode") {
    for (const BenchFigure& figure : kBenchFigures) {
      if (object.contains(figure.key)) return figure;
    }
  }
  return kBenchFigures[0];
}

Result<BenchRow> bench_row(const json& object, const std::string& where) {
  BenchRow row;
  RKV_ASSIGN_OR_RETURN(row.work, text_of(object, "work", where));
  if (row.work.empty()) return data_loss(fmt::format("{}: expected a key 'work'", where));
  RKV_ASSIGN_OR_RETURN(row.policy, text_of(object, "policy", where));
  RKV_ASSIGN_OR_RETURN(row.budget, text_of(object, "budget", where));
  RKV_ASSIGN_OR_RETURN(row.peer, text_of(object, "peer", where));
  RKV_ASSIGN_OR_RETURN(row.peer_setting, text_of(object, "peer_setting", where));
  RKV_ASSIGN_OR_RETURN(row.formats, text_of(object, "k", where));
  RKV_ASSIGN_OR_RETURN(const std::string v, text_of(object, "v", where));
  if (v != row.formats) row.formats += "/" + v;
  RKV_ASSIGN_OR_RETURN(const double context, number_of(object, "context", where));
  const BenchFigure& figure = figure_of(object, row.work);
  row.unit = figure.unit;
  RKV_ASSIGN_OR_RETURN(row.figure, number_of(object, figure.key, 0, HUGE_VAL, where));
  RKV_ASSIGN_OR_RETURN(row.peer_figure, number_of(object, figure.peer_key, 0, HUGE_VAL, where));
  RKV_ASSIGN_OR_RETURN(row.ratio, number_of(object, "ratio", 0, HUGE_VAL, where));
  if (context >= 0 && context < 1e15) row.context = std::llround(context);
  return row;
}

Status check_line(const ResultLine& line, const std::string& path) {
  const auto refused = [&](const char* key, double value, const char* expected) {
    return data_loss(fmt::format("{}: sample '{}', policy '{}': key '{}': got {:g}, expected {}", path,
                                 one_line(line.sample, 100), one_line(line.policy, 100), key, value, expected));
  };
  if (!(line.kept > 0 && line.kept <= 1)) return refused("kept", line.kept, "a fraction over 0, at most 1");
  if (!line.error.empty()) return ok_status();
  if (line.kl < 0) return refused("kl", line.kl, "a number from 0 on");
  // The mean of equal numbers may be off by its rounding.
  if (line.kl_max < line.kl * (1 - 1e-9)) return refused("kl_max", line.kl_max, "at least kl");
  if (!(line.top1 >= 0 && line.top1 <= 1)) return refused("top1", line.top1, "a share from 0 to 1");
  if (line.nll < 0) return refused("nll", line.nll, "a number from 0 on");
  if (line.score != -1 && !(line.score >= 0 && line.score <= 1)) return refused("score", line.score, "0 to 1");
  if (line.held != -1 && !(line.held > 0 && line.held <= 1)) return refused("held", line.held, "over 0, at most 1");
  return ok_status();
}

}  // namespace

std::string Evaluation::setting(std::string_view key) const {
  for (const auto& [of, value] : settings) {
    if (of == key) return value;
  }
  return "";
}

Result<std::vector<NamedBudgets>> read_named_budgets(const std::vector<std::string>& paths) {
  std::vector<NamedBudgets> all;
  for (const std::string& path : paths) {
    RKV_ASSIGN_OR_RETURN(Budgets budgets, read_budgets(path));
    all.push_back({name_among(paths, path), std::move(budgets)});
  }
  return all;
}

Result<std::vector<Evaluation>> read_evaluations(const std::vector<std::string>& paths) {
  std::vector<Evaluation> all;
  for (const std::string& path : paths) {
    RKV_ASSIGN_OR_RETURN(ResultsOf results, read_results(path));
    Evaluation& of = all.emplace_back();
    of.name = name_among(paths, path);
    of.lines = std::move(results.lines);
    for (const ResultLine& line : of.lines) RKV_RETURN_IF_ERROR(check_line(line, path));
    const auto header = nlohmann::ordered_json::parse(results.header);
    for (const auto& [key, value] : header.items()) {
      of.settings.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return all;
}

Result<Validation> read_validation(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const json document, read_plain_json(path));
  if (!document.is_object() || !document.contains("spearman")) {
    return data_loss(
        fmt::format("{}: expected an object with a key 'spearman', as `ripplekv validate` writes it", path));
  }
  Validation validation;
  RKV_ASSIGN_OR_RETURN(validation.model, text_of(document, "model", path));
  RKV_ASSIGN_OR_RETURN(const double n_sample, number_of(document, "samples", path));
  if (n_sample >= 0 && n_sample < 1e15) validation.n_sample = std::llround(n_sample);
  RKV_ASSIGN_OR_RETURN(validation.rows, rows_of(document["spearman"], path + ": key 'spearman'", validation_row));
  return validation;
}

Result<std::vector<BenchRow>> read_bench(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const json document, read_plain_json(path));
  const bool wrapped = document.is_object() && document.contains("records");
  return rows_of(wrapped ? document["records"] : document, path, bench_row);
}

}  // namespace ripplekv
