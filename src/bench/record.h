// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What `bench` measured: one record per work, prompt length and cache, beside the peer's figure from the same run; as
// JSON and as a table. Pure; how figures come about is bench.h's business.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ripplekv/kv_type.h"

namespace ripplekv {

struct BenchRecord {
  std::string work;     // prefill | decode | first_token (and loading before it) | memory
  int64_t context = 0;  // tokens of the prompt
  std::string policy;   // as the user wrote it
  std::string budget;   // "10%"
  KvFormat format;
  bool auto_format = false;   // in place of it each layer has formats of its own, and rows to suit
  double held = 1;            // rows over those of the full cache; more than the budget where protected rows are more
  double rows_per_layer = 0;  // after prefill, mean
  int64_t kv_bytes = 0;       // likewise, K, V, index and padding

  int64_t n_token = 0;          // that the seconds are of
  std::vector<double> seconds;  // one per repeat; none for memory
  double compress_seconds = 0;  // prefill: of the median run's time
  int64_t peak_bytes = 0;       // memory: of the whole process
  int64_t above_weights = 0;    // memory: without mapped files and what loading left

  std::string peer;          // empty: none
  std::string peer_setting;  // its best
  std::vector<double> peer_seconds;
  int64_t peer_peak_bytes = 0;
  int64_t peer_above_weights = 0;
  std::vector<std::pair<std::string, double>> peer_settings;  // each with tokens/s, seconds or bytes above the weights

  // Ours over the peer's: of speeds (more is better); of seconds to the first token and of bytes (less is better).
  double ratio() const;  // 0: no peer
  // Tokens/s for prefill and decode, median seconds for first_token, bytes above the weights for memory.
  double figure() const;
  double peer_figure() const;
};

// More records, whose peer is another of these: compressed caches beside the full cache of a prompt as long as their
// rows, and policies beside uniform SnapKV of the same rows.
std::vector<BenchRecord> own_comparisons(const std::vector<BenchRecord>& records);

// A list; `common` is put into each.
nlohmann::ordered_json records_json(const std::vector<BenchRecord>& records, const nlohmann::ordered_json& common);
std::string records_table(const std::vector<BenchRecord>& records);    // Markdown
std::string records_summary(const std::vector<BenchRecord>& records);  // one line, of the longest prompt

}  // namespace ripplekv
