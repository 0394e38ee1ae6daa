// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// TraceView -> page: texts made valid and visible, keep lists packed as base64 bitmaps, everything else as JSON that
// cannot leave its script element. The page itself (style, markup, scripts) is trace_page.h's.
#include "engine/trace_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/html.h"
#include "base/utf8.h"
#include "engine/trace_page.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

using Json = nlohmann::ordered_json;

// A token as the page shows it: valid UTF-8 without control characters other than newline and tab.
struct ShownToken {
  std::string text;
  bool exact = true;  // text is the token's bytes; otherwise the page shows the bytes in hex beside it
};

// A character that several tokens share belongs to the token it begins in: the text stays readable, and the later
// tokens are shown as empty with their bytes in hex. Bytes that are no UTF-8 become U+FFFD one by one.
std::vector<ShownToken> show_tokens(std::span<const std::string> tokens) {
  std::string bytes;
  std::vector<size_t> owner;
  for (size_t t = 0; t < tokens.size(); ++t) {
    bytes += tokens[t];
    owner.resize(bytes.size(), t);
  }
  std::vector<ShownToken> shown(tokens.size());
  for (size_t i = 0; i < bytes.size();) {
    ShownToken& token = shown[owner[i]];
    const size_t length = utf8_length(std::string_view(bytes).substr(i));
    if (length == 0) {
      token.text += kReplacementCharacter;
      token.exact = false;
      ++i;
      continue;
    }
    const std::string_view character = std::string_view(bytes).substr(i, length);
    const std::string shown_character = visible_character(character);
    token.text += shown_character;
    if (shown_character != character) token.exact = false;
    for (size_t j = i + 1; j < i + length; ++j) {
      if (owner[j] != owner[i]) token.exact = shown[owner[j]].exact = false;
    }
    i += length;
  }
  return shown;
}

std::string hex_of(std::string_view bytes) {
  constexpr size_t kShownMax = 32;
  std::string hex;
  for (const char c : bytes.substr(0, kShownMax)) {
    hex += fmt::format("{}{:02X}", hex.empty() ? "" : " ", static_cast<unsigned char>(c));
  }
  return bytes.size() > kShownMax ? hex + " \xE2\x80\xA6" : hex;
}

// Texts and, for those that are not their token's bytes, the bytes: {"text": [...], "hex": {"index": "E2 96", ...}}.
Json tokens_json(std::span<const std::string> tokens) {
  Json text = Json::array();
  Json hex = Json::object();
  const std::vector<ShownToken> shown = show_tokens(tokens);
  for (size_t t = 0; t < tokens.size(); ++t) {
    text.push_back(shown[t].text);
    if (!shown[t].exact) hex[std::to_string(t)] = hex_of(tokens[t]);
  }
  return {{"text", std::move(text)}, {"hex", std::move(hex)}};
}

std::string base64(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    const unsigned word = bytes[i] << 16 | (n > 1 ? bytes[i + 1] << 8 : 0) | (n > 2 ? bytes[i + 2] : 0);
    for (size_t d = 0; d < 4; ++d) out += d <= n ? kDigits[word >> (18 - 6 * d) & 63] : '=';
  }
  return out;
}

// Row r is bit r % 8 (lowest first) of byte r / 8.
std::string bitmap_of(std::span<const int32_t> rows, size_t n_tokens) {
  std::vector<unsigned char> bits((n_tokens + 7) / 8);
  int64_t previous = -1;
  for (const int32_t row : rows) {
    RKV_CHECK(row > previous && static_cast<size_t>(row) < n_tokens);
    bits[row / 8] |= 1u << (row % 8);
    previous = row;
  }
  return base64(bits);
}

Json kept_json(const TraceView& view) {
  Json layers = Json::array();
  for (const KeepList& layer : view.kept) {
    RKV_CHECK(!layer.empty());
    Json heads = Json::array();
    for (const std::vector<int32_t>& rows : layer) heads.push_back(bitmap_of(rows, view.tokens.size()));
    layers.push_back(std::move(heads));
  }
  return layers;
}

Json next_json(const TraceView& view) {
  Json out = Json::array();
  for (const auto& [token, log_probability] : view.next_token_top10) {
    Json entry = tokens_json(std::span(&token, 1));
    out.push_back(
        {{"text", entry["text"][0]}, {"hex", entry["hex"].value("0", "")}, {"log_probability", log_probability}});
  }
  return out;
}

Json answer_json(const std::optional<TraceAnswer>& answer) {
  if (!answer) return nullptr;
  RKV_CHECK(answer->nll.size() == answer->tokens.size());
  return {{"tokens", tokens_json(answer->tokens)},
          {"nll", answer->nll},
          {"kl_mean", answer->kl_mean},
          {"top1_agreement", answer->top1_agreement}};
}

// Inside <script> only "<" can end the element or open a comment; JSON has "<" in strings alone, where \u003c is equal.
// Numbers that are not finite come out as null: JSON has no word for them.
std::string embeddable(const Json& json) {
  std::string out;
  for (const char c : json.dump()) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string trace_html(const TraceView& view) {
  RKV_CHECK(!view.tokens.empty() && !view.kept.empty());
  const Json data = {{"model", visible_text(view.model)},
                     {"selector", visible_text(view.selector)},
                     {"allocator", visible_text(view.allocator)},
                     {"budget", visible_text(view.budget)},
                     {"tokens", tokens_json(view.tokens)},
                     {"kept", kept_json(view)},
                     {"next", next_json(view)},
                     {"answer", answer_json(view.answer)}};
  std::string page = html_head("RippleKV trace: " + view.model, kTracePageStyle, /*scripts=*/true);
  page += kTracePageBody;
  page += "<script type=\"application/json\" id=\"trace-data\">";
  page += embeddable(data);
  page += "</script>\n<script>\n";
  page += kTracePageScript;
  page += "</script>\n<script>\n";
  page += kTracePageTextScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace ripplekv
