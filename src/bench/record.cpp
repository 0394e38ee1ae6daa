// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/text.h"

namespace ripplekv {
namespace {

bool is_speed(const BenchRecord& record) { return record.work == "prefill" || record.work == "decode"; }

// Of speeds in tokens/s, of first_token in seconds.
double figure_of(const BenchRecord& record, double seconds) {
  return is_speed(record) ? static_cast<double>(record.n_token) / seconds : seconds;
}

double figure_of(const BenchRecord& record, const std::vector<double>& seconds, int64_t bytes) {
  if (record.work == "memory") return static_cast<double>(bytes);
  return seconds.empty() ? 0 : figure_of(record, median_of(seconds));
}

std::string text_of(const BenchRecord& record, double figure) {
  if (record.work == "memory") return human_bytes(static_cast<int64_t>(figure));
  return is_speed(record) ? fmt::format("{:.1f}", figure) : human_duration(figure);
}

std::string type_text(const BenchRecord& record, KvType type) {
  return record.auto_format ? "auto" : std::string(to_string(type));
}

std::string format_text(const BenchRecord& record) {
  const std::string k = type_text(record, record.format.k);
  const std::string v = type_text(record, record.format.v);
  return k == v ? k : fmt::format("{}/{}", k, v);
}

// "11.2 (10.9 to 11.4)": the median, and where more than one was measured, the extremes.
std::string figure_text(const BenchRecord& record, const std::vector<double>& seconds, double figure) {
  std::string text = text_of(record, figure);
  if (seconds.size() < 2) return text;
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  const double a = figure_of(record, *least);
  const double b = figure_of(record, *most);
  return text + fmt::format(" ({} to {})", text_of(record, std::min(a, b)), text_of(record, std::max(a, b)));
}

// "snapkv 10%", and what it holds where that rounds to another whole percentage.
std::string cache_text(const BenchRecord& record) {
  if (record.budget == "100%") return record.policy;
  const bool as_asked = std::abs(100 * record.held - std::strtod(record.budget.c_str(), nullptr)) < 0.5;
  return fmt::format("{} {}{}", record.policy, record.budget,
                     as_asked ? "" : fmt::format(" (holds {:.0f}%)", 100 * record.held));
}

void add_figures(nlohmann::ordered_json& json, const BenchRecord& record, const std::string& prefix,
                 const std::vector<double>& seconds, double figure, int64_t peak) {
  if (record.work == "memory") {
    json[prefix + "peak_resident_bytes"] = peak;
    json[prefix + "above_weights_bytes"] = static_cast<int64_t>(figure);
    return;
  }
  if (is_speed(record)) json[prefix + "tokens_per_s"] = figure;
  json[prefix + "seconds"] = median_of(seconds);
  json[prefix + "seconds_min"] = *std::min_element(seconds.begin(), seconds.end());
  json[prefix + "seconds_max"] = *std::max_element(seconds.begin(), seconds.end());
  json[prefix + "repeats"] = seconds.size();
}

// `record` beside `other`, which is ours as well.
BenchRecord compared(const BenchRecord& record, const BenchRecord& other, std::string setting) {
  BenchRecord result = record;
  result.peer = "ripplekv";
  result.peer_setting = std::move(setting);
  result.peer_seconds = other.seconds;
  result.peer_peak_bytes = other.peak_bytes;
  result.peer_above_weights = other.above_weights;
  result.peer_settings.clear();
  return result;
}

}  // namespace

double BenchRecord::figure() const { return figure_of(*this, seconds, above_weights); }
double BenchRecord::peer_figure() const { return figure_of(*this, peer_seconds, peer_above_weights); }
double BenchRecord::ratio() const { return peer.empty() || peer_figure() == 0 ? 0 : figure() / peer_figure(); }

std::vector<BenchRecord> own_comparisons(const std::vector<BenchRecord>& records) {
  std::vector<BenchRecord> comparisons;
  for (const BenchRecord& record : records) {
    for (const BenchRecord& other : records) {
      if (record.work != other.work || record.work == "first_token" || !(record.format == other.format)) continue;
      if (record.auto_format || other.auto_format) continue;  // other formats, and the rows of a budget of bytes
      const bool same_rows = record.context != other.context && other.policy == "full" &&
                             std::abs(record.rows_per_layer - static_cast<double>(other.context)) < 1;
      if (record.work == "decode" && same_rows) {
        comparisons.push_back(compared(record, other, fmt::format("full cache of {} tokens", other.context)));
      }
      if (record.policy != "full" && record.policy != "snapkv" && other.policy == "snapkv" &&
          record.budget == other.budget && record.context == other.context) {
        comparisons.push_back(compared(record, other, "uniform snapkv of the same rows"));
      }
    }
  }
  return comparisons;
}

nlohmann::ordered_json records_json(const std::vector<BenchRecord>& records, const nlohmann::ordered_json& common) {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (const BenchRecord& record : records) {
    nlohmann::ordered_json json = {{"work", record.work},
                                   {"context", record.context},
                                   {"policy", record.policy},
                                   {"budget", record.budget},
                                   {"k", type_text(record, record.format.k)},
                                   {"v", type_text(record, record.format.v)},
                                   {"held", record.held},
                                   {"rows_per_layer", record.rows_per_layer},
                                   {"kv_bytes", record.kv_bytes}};
    if (is_speed(record)) json["tokens"] = record.n_token;
    add_figures(json, record, "", record.seconds, record.figure(), record.peak_bytes);
    if (record.work == "prefill") {
      json["compress_ms"] = record.compress_seconds * 1000;
      json["compress_share"] = record.compress_seconds / median_of(record.seconds);
    }
    json["peer"] = record.peer.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(record.peer);
    if (!record.peer.empty()) {
      json["peer_setting"] = record.peer_setting;
      add_figures(json, record, "peer_", record.peer_seconds, record.peer_figure(), record.peer_peak_bytes);
      json["ratio"] = record.ratio();
      nlohmann::ordered_json settings = nlohmann::json::object();
      for (const auto& [name, figure] : record.peer_settings) settings[name] = figure;
      json["peer_settings"] = settings;
    }
    json.update(common);
    list.push_back(std::move(json));
  }
  return list;
}

std::string records_table(const std::vector<BenchRecord>& records) {
  std::string table =
      "| work | tokens | cache | kv format | kv bytes | ripplekv | compression | peer | peer's best | ratio |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const BenchRecord& record : records) {
    std::string compression = "-";
    if (record.work == "prefill" && record.compress_seconds > 0) {
      compression = fmt::format("{} ({:.1f}%)", human_duration(record.compress_seconds),
                                100 * record.compress_seconds / median_of(record.seconds));
    }
    const bool has_peer = !record.peer.empty();
    table +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", record.work, record.context,
                    cache_text(record), format_text(record), record.kv_bytes > 0 ? human_bytes(record.kv_bytes) : "-",
                    figure_text(record, record.seconds, record.figure()), compression,
                    has_peer ? fmt::format("{} ({})", record.peer, record.peer_setting) : "-",
                    has_peer ? figure_text(record, record.peer_seconds, record.peer_figure()) : "-",
                    has_peer ? fmt::format("{:.2f}", record.ratio()) : "-");
  }
  return table +
         "\nprefill and decode: tokens/s; first_token: loading and the first token of a short prompt; memory: "
         "peak above the weights. Medians (extremes); ratios are ours over the peer's.\n";
}

std::string records_summary(const std::vector<BenchRecord>& records) {
  int64_t longest = 0;
  for (const BenchRecord& record : records) longest = std::max(longest, record.context);
  std::vector<std::string> parts;
  for (const BenchRecord& record : records) {
    if (record.context != longest || record.peer == "ripplekv") continue;
    std::string part = fmt::format("{} {} {}{}", record.work, cache_text(record), text_of(record, record.figure()),
                                   is_speed(record) ? " tokens/s" : "");
    if (!record.peer.empty()) part += fmt::format(" ({:.2f} of {}'s best)", record.ratio(), record.peer);
    parts.push_back(std::move(part));
  }
  return fmt::format("{} tokens: {}", longest, fmt::join(parts, ", "));
}

}  // namespace ripplekv
