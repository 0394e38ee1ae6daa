// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The trace picture: one self-contained HTML page that shows which prompt tokens each layer and KV head still holds
// after compression, so that a user sees why a fact was lost. A pure function of its argument: no files, no model, no
// clock, no network in the page. What the page looks like is trace_page.h; this file turns a TraceView into its data.
// Token texts are raw bytes of a tokenizer and untrusted: nothing of them reaches the page as markup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ripplekv/keep_list.h"

namespace ripplekv {

struct TraceAnswer {
  std::vector<std::string> tokens;
  std::vector<double> nll;    // [tokens], nats: -log p of each answer token under the compressed cache
  double kl_mean = 0;         // nats: mean over the answer of KL(p_full || p_compressed)
  double top1_agreement = 0;  // fraction of answer tokens where both caches agree on the likeliest token
};

struct TraceView {
  std::string model;
  std::string selector;
  std::string allocator;
  std::string budget;               // as the user wrote it
  std::vector<std::string> tokens;  // text of each prompt token; may cut a UTF-8 character in two
  std::vector<KeepList> kept;       // [layer][kv head] sorted rows
  std::vector<std::pair<std::string, double>> next_token_top10;  // text, natural log-probability; likeliest first
  std::optional<TraceAnswer> answer;
};

// Values that are not finite are shown as "n/a". The page grows by about n_tokens * heads / 6 bytes plus the texts:
// about 0.3 MB at 8,192 tokens, 30 layers and 3 KV heads.
// REQUIRES: at least one token and one layer, at least one head in each layer, rows strictly ascending in
// [0, tokens.size()), as many nll values as answer tokens.
std::string trace_html(const TraceView& view);

}  // namespace ripplekv
