// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The trace page as text: what its data says, that untrusted texts cannot become markup, that it loads nothing, and how
// large it is. How it looks and behaves in a browser is not tested here.
#include "engine/trace_html.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ripplekv {
namespace {

using nlohmann::json;

constexpr std::string_view kDataOpen = "<script type=\"application/json\" id=\"trace-data\">";
constexpr std::string_view kBad = "\xEF\xBF\xBD";  // U+FFFD

TraceView small_view() {
  TraceView view;
  view.model = "Tiny";
  view.selector = "snapkv";
  view.allocator = "ripple";
  view.budget = "10%";
  view.tokens = {"The", " cat", " sat", "\n"};
  view.kept = {{{0, 3}, {2, 3}}, {{0, 1, 3}, {0, 2, 3}}};
  view.next_token_top10 = {{" on", -0.5}, {".", -1.5}};
  view.answer = TraceAnswer{{" on", " it"}, {0.25, 2.0}, 0.125, 0.5};
  return view;
}

TraceView view_of(std::vector<std::string> tokens) {
  TraceView view;
  view.tokens = std::move(tokens);
  view.kept = {{{0}}};
  return view;
}

// The JSON text between the data element's tags; nothing else may end it.
std::string data_text(const std::string& page) {
  const size_t open = page.find(kDataOpen);
  EXPECT_NE(open, std::string::npos);
  const size_t begin = open + kDataOpen.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

// nlohmann refuses text that is not UTF-8, so parsing also checks that.
json data_of(const std::string& page) { return json::parse(data_text(page)); }
json data_of(const TraceView& view) { return data_of(trace_html(view)); }

size_t count_of(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Decodes what the page decodes with atob(): written from RFC 4648, apart from the encoder.
std::vector<unsigned char> base64_bytes(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  EXPECT_EQ(text.size() % 4, 0u);
  std::vector<bool> bits;
  size_t n_padding = 0;
  for (const char c : text) {
    if (c == '=') {
      ++n_padding;
      continue;
    }
    EXPECT_EQ(n_padding, 0u) << "padding inside " << text;
    const size_t value = digits.find(c);
    EXPECT_NE(value, std::string::npos) << "not a base64 digit: " << c;
    for (int b = 5; b >= 0; --b) bits.push_back(value >> b & 1);
  }
  EXPECT_LE(n_padding, 2u);
  std::vector<unsigned char> bytes(bits.size() / 8);
  for (size_t i = 0; i < bytes.size() * 8; ++i) bytes[i / 8] |= static_cast<int>(bits[i]) << (7 - i % 8);
  return bytes;
}

std::vector<int32_t> rows_in(const std::string& bitmap, size_t n_tokens) {
  const std::vector<unsigned char> bytes = base64_bytes(bitmap);
  EXPECT_EQ(bytes.size(), (n_tokens + 7) / 8);
  std::vector<int32_t> rows;
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    if (bytes[i / 8] >> (i % 8) & 1) rows.push_back(static_cast<int32_t>(i));
  }
  return rows;
}

KeepList random_keep(std::mt19937& rng, size_t n_tokens, size_t n_rows, int n_head) {
  std::vector<int32_t> all(n_tokens);
  for (size_t i = 0; i < n_tokens; ++i) all[i] = static_cast<int32_t>(i);
  KeepList keep;
  for (int h = 0; h < n_head; ++h) {
    std::shuffle(all.begin(), all.end(), rng);
    keep.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_rows));
    std::sort(keep.back().begin(), keep.back().end());
  }
  return keep;
}

TEST(TraceHtml, DataSaysWhatTheViewSays) {
  const json data = data_of(small_view());
  EXPECT_EQ(data["model"], "Tiny");
  EXPECT_EQ(data["selector"], "snapkv");
  EXPECT_EQ(data["allocator"], "ripple");
  EXPECT_EQ(data["budget"], "10%");
  EXPECT_EQ(data["tokens"]["text"], json({"The", " cat", " sat", "\n"}));
  EXPECT_TRUE(data["tokens"]["hex"].empty());
  ASSERT_EQ(data["kept"].size(), 2u);
  EXPECT_EQ(rows_in(data["kept"][0][1], 4), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(rows_in(data["kept"][1][0], 4), (std::vector<int32_t>{0, 1, 3}));
  ASSERT_EQ(data["next"].size(), 2u);
  EXPECT_EQ(data["next"][0]["text"], " on");
  EXPECT_EQ(data["next"][1]["log_probability"], -1.5);
  EXPECT_EQ(data["answer"]["tokens"]["text"], json({" on", " it"}));
  EXPECT_EQ(data["answer"]["nll"], json({0.25, 2.0}));
  EXPECT_EQ(data["answer"]["kl_mean"], 0.125);
  EXPECT_EQ(data["answer"]["top1_agreement"], 0.5);
}

TEST(TraceHtml, PageHasItsParts) {
  const std::string page = trace_html(small_view());
  EXPECT_EQ(page.rfind("<!doctype html>\n", 0), 0u);
  EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
  EXPECT_EQ(count_of(page, "<meta charset=\"utf-8\">"), 1u);
  EXPECT_EQ(count_of(page, "<title>RippleKV trace: Tiny</title>"), 1u);
  for (const char* id : {"map", "doc", "query", "hits", "layer", "head", "inspector", "output", "trace-data"}) {
    EXPECT_EQ(count_of(page, " id=\"" + std::string(id) + "\""), 1u) << id;
  }
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(page.find("name=\"viewport\""), std::string::npos);
}

// Each id the scripts look up by name is in the markup.
TEST(TraceHtml, ScriptsFindTheirElements) {
  const std::string page = trace_html(small_view());
  size_t n_seen = 0;
  for (size_t at = page.find("$('"); at != std::string::npos; at = page.find("$('", at + 1)) {
    const size_t begin = at + 3;
    const std::string id = page.substr(begin, page.find('\'', begin) - begin);
    EXPECT_EQ(count_of(page, " id=\"" + id + "\""), 1u) << id;
    ++n_seen;
  }
  EXPECT_GT(n_seen, 20u);
}

TEST(TraceHtml, LoadsNothingAndMakesNoMarkupOfTexts) {
  const std::string page = trace_html(small_view());
  for (const char* loads : {"http:", "https:", "//cdn", " src=", " href=", "url(", "@import", "fetch(",
                            "XMLHttpRequest", "WebSocket", "import(", "<link", "<img", "<iframe"}) {
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  }
  for (const char* markup : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("}) {
    EXPECT_EQ(page.find(markup), std::string::npos) << markup;
  }
  EXPECT_NE(page.find("Content-Security-Policy\"\n content=\"default-src 'none';"), std::string::npos);
}

TEST(TraceHtml, HostileTextsChangeNothingButTheData) {
  const std::vector<std::string> hostile = {"</script><script>alert(1)</script>",
                                            "<!--<script>",
                                            "]]>",
                                            "\"},\"model\":\"x\\",
                                            "&lt;b&gt;",
                                            "\\u003c/script>",
                                            "\xE2\x80\xA8\xE2\x80\xA9",
                                            "' onload='x",
                                            "{}%s{0}"};
  TraceView view = small_view();
  const std::string benign_page = trace_html(view);
  view.tokens = hostile;
  for (const std::string& text : hostile) {
    view.selector = view.allocator = view.budget = text;
    view.next_token_top10 = {{text, -1.0}};
    view.answer = TraceAnswer{{text}, {1.0}, 0, 1};
    const std::string page = trace_html(view);
    EXPECT_EQ(count_of(page, "</script"), 3u) << text;
    EXPECT_EQ(count_of(page, "<!--"), 0u) << text;
    EXPECT_EQ(data_text(page).find('<'), std::string::npos) << text;
    const json data = data_of(page);
    EXPECT_EQ(data["tokens"]["text"], json(hostile));
    EXPECT_EQ(data["budget"], text);
    EXPECT_EQ(data["next"][0]["text"], text);
    EXPECT_EQ(data["answer"]["tokens"]["text"][0], text);
    // All of the page but the data is the page of a harmless view.
    std::string rest = page;
    std::string benign_rest = benign_page;
    for (std::string* p : {&rest, &benign_rest}) p->erase(p->find(kDataOpen), kDataOpen.size() + data_text(*p).size());
    EXPECT_EQ(rest, benign_rest) << text;
  }
}

TEST(TraceHtml, TitleIsEscaped) {
  TraceView view = small_view();
  view.model = "</title><b>&amp;\xFF";
  const std::string page = trace_html(view);
  EXPECT_NE(page.find("<title>RippleKV trace: &lt;/title&gt;&lt;b&gt;&amp;amp;\xEF\xBF\xBD</title>"),
            std::string::npos);
  EXPECT_EQ(data_of(page)["model"], "</title><b>&amp;" + std::string(kBad));
}

TEST(TraceHtml, BitmapByHand) {
  TraceView view = view_of(std::vector<std::string>(10, "x"));
  view.kept = {{{0, 2, 9}}, {{}}, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  const json data = data_of(view);
  EXPECT_EQ(data["kept"][0][0], "BQI=");  // bytes 0x05 0x02
  EXPECT_EQ(data["kept"][1][0], "AAA=");
  EXPECT_EQ(data["kept"][2][0], "/wM=");  // bytes 0xFF 0x03
}

TEST(TraceHtml, BitmapsRoundTrip) {
  std::mt19937 rng(7);
  for (size_t n_tokens = 1; n_tokens <= 70; ++n_tokens) {
    TraceView view = view_of(std::vector<std::string>(n_tokens, "t"));
    view.kept.clear();
    for (int layer = 0; layer < 3; ++layer) {
      view.kept.push_back(random_keep(rng, n_tokens, rng() % (n_tokens + 1), 1 + static_cast<int>(rng() % 4)));
      view.kept.back()[0] = random_keep(rng, n_tokens, rng() % (n_tokens + 1), 1)[0];  // heads may differ in number
    }
    const json data = data_of(view);
    ASSERT_EQ(data["kept"].size(), view.kept.size());
    for (size_t layer = 0; layer < view.kept.size(); ++layer) {
      ASSERT_EQ(data["kept"][layer].size(), view.kept[layer].size());
      for (size_t head = 0; head < view.kept[layer].size(); ++head) {
        ASSERT_EQ(rows_in(data["kept"][layer][head], n_tokens), view.kept[layer][head]) << n_tokens;
      }
    }
  }
}

TEST(TraceHtml, SplitCharacterBelongsToItsFirstToken) {
  const json tokens = data_of(view_of({"a\xF0\x9F", "\x8C", "\x8A!", "b"}))["tokens"];
  EXPECT_EQ(tokens["text"], json({"a\xF0\x9F\x8C\x8A", "", "!", "b"}));
  EXPECT_EQ(tokens["hex"], json({{"0", "61 F0 9F"}, {"1", "8C"}, {"2", "8A 21"}}));
}

TEST(TraceHtml, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  const std::vector<std::pair<std::string, size_t>> cases = {
      {"\xFF", 1},
      {"\x80", 1},              // continuation without a lead
      {"\xC3", 1},              // cut at the end of the prompt
      {"\xC0\xAF", 2},          // overlong "/"
      {"\xE0\x80\xBC", 3},      // overlong "<"
      {"\xED\xA0\x80", 3},      // surrogate
      {"\xF4\x90\x80\x80", 4},  // above U+10FFFF
      {"\xF8\x88\x80\x80\x80", 5},
  };
  for (const auto& [bytes, n_bad] : cases) {
    const json tokens = data_of(view_of({"a", bytes}))["tokens"];
    std::string expected;
    for (size_t i = 0; i < n_bad; ++i) expected += kBad;
    EXPECT_EQ(tokens["text"][1], expected);
    EXPECT_EQ(tokens["hex"].size(), 1u);
    EXPECT_TRUE(tokens["hex"].contains("1"));
  }
  // A lead byte must not swallow the letter after it.
  EXPECT_EQ(data_of(view_of({"\xE2\x82", "<b"}))["tokens"]["text"],
            json({std::string(kBad) + std::string(kBad), "<b"}));
}

TEST(TraceHtml, ControlCharactersAreMadeVisible) {
  const json tokens = data_of(view_of({std::string("\0", 1), "\x1B[2J", "\x7F", "\r\n", "\t", "\xC2\x85",
                                       "\xE2\x80\xAE", "\xE2\x81\xA6", "caf\xC3\xA9"}))["tokens"];
  EXPECT_EQ(tokens["text"][0], "\xE2\x90\x80");
  EXPECT_EQ(tokens["text"][1], "\xE2\x90\x9B[2J");
  EXPECT_EQ(tokens["text"][2], "\xE2\x90\xA1");
  EXPECT_EQ(tokens["text"][3], "\xE2\x90\x8D\n");
  EXPECT_EQ(tokens["text"][4], "\t");
  for (const int i : {5, 6, 7}) EXPECT_EQ(tokens["text"][i], kBad) << i;  // C1; bidirectional override and isolate
  EXPECT_EQ(tokens["text"][8], "caf\xC3\xA9");
  EXPECT_EQ(tokens["hex"]["0"], "00");
  EXPECT_EQ(tokens["hex"]["6"], "E2 80 AE");
  EXPECT_FALSE(tokens["hex"].contains("4"));
  EXPECT_FALSE(tokens["hex"].contains("8"));
}

TEST(TraceHtml, LongHexIsCut) {
  const json tokens = data_of(view_of({std::string(5000, '\xFF')}))["tokens"];
  const std::string hex = tokens["hex"]["0"];
  EXPECT_EQ(hex.size(), 32u * 3 - 1 + 4);  // 32 bytes, then " ..." as one character
  EXPECT_EQ(hex.substr(hex.size() - 4), " \xE2\x80\xA6");
}

// However a valid text is cut into tokens, the shown tokens read as that text, and hex marks exactly the changed ones.
TEST(TraceHtml, AnyCutOfAValidTextReadsTheSame) {
  const std::string text = "na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xF0\x9F\x8C\x8A\xF0\x9F\x91\xA9 <end>\n";
  std::mt19937 rng(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> tokens(1);
    for (const char c : text) {
      if (rng() % 3 == 0) tokens.emplace_back();
      tokens.back() += c;
    }
    const json shown = data_of(view_of(tokens))["tokens"];
    std::string joined;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string shown_text = shown["text"][i];
      joined += shown_text;
      ASSERT_EQ(shown["hex"].contains(std::to_string(i)), shown_text != tokens[i]);
    }
    ASSERT_EQ(joined, text);
  }
}

TEST(TraceHtml, RandomBytesGiveAValidPage) {
  std::mt19937 rng(13);
  const std::array<int, 12> favoured = {'<', '/', '"', '\\', 0xC3, 0xE2, 0x80, 0xA8, 0xF0, 0x9F, 0xED, 0x00};
  const std::string benign_page = trace_html(small_view());
  for (int round = 0; round < 200; ++round) {
    TraceView view = small_view();
    for (std::string& token : view.tokens) {
      token.clear();
      for (size_t i = rng() % 12; i > 0; --i) {
        token += static_cast<char>(rng() % 2 ? favoured[rng() % favoured.size()] : static_cast<int>(rng() % 256));
      }
    }
    const std::string page = trace_html(view);
    ASSERT_EQ(count_of(page, "</script"), count_of(benign_page, "</script"));
    ASSERT_TRUE(json(page).dump().size() > page.size());  // throws unless the page is UTF-8
    const json data = data_of(page);
    for (const json& text : data["tokens"]["text"]) {
      for (const unsigned char c : text.get<std::string>()) ASSERT_TRUE(c >= 0x20 || c == '\n' || c == '\t');
    }
  }
}

TEST(TraceHtml, ValuesThatAreNotFiniteAreNull) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  TraceView view = small_view();
  view.next_token_top10 = {{"a", -infinity}};
  view.answer = TraceAnswer{{"a", "b"}, {nan, infinity}, nan, infinity};
  const json data = data_of(view);
  EXPECT_TRUE(data["next"][0]["log_probability"].is_null());
  EXPECT_EQ(data["answer"]["nll"], json({nullptr, nullptr}));
  EXPECT_TRUE(data["answer"]["kl_mean"].is_null());
  EXPECT_TRUE(data["answer"]["top1_agreement"].is_null());
}

TEST(TraceHtml, AnswerAndNextTokenAreOptional) {
  TraceView view = small_view();
  view.answer.reset();
  view.next_token_top10.clear();
  const json data = data_of(view);
  EXPECT_TRUE(data["answer"].is_null());
  EXPECT_EQ(data["next"], json::array());
}

TEST(TraceHtml, LongPromptStaysSmallAndIsDeterministic) {
  std::mt19937 rng(17);
  constexpr size_t kTokens = 8192;
  TraceView view = view_of({});
  for (size_t i = 0; i < kTokens; ++i) view.tokens.push_back(" w" + std::to_string(rng() % 10000));
  view.kept.clear();
  for (int layer = 0; layer < 30; ++layer) view.kept.push_back(random_keep(rng, kTokens, kTokens / 10, 3));
  const std::string page = trace_html(view);
  const size_t n_bitmaps = 30 * 3 * (kTokens / 6 + 8);  // base64: 6 rows a byte, and its quotes
  EXPECT_LT(page.size(), n_bitmaps + kTokens * 10 + 60'000);
  EXPECT_LT(page.size(), 400'000u);
  EXPECT_EQ(page, trace_html(view));
  // The bitmap's size does not grow with the rows kept.
  for (KeepList& layer : view.kept) layer = random_keep(rng, kTokens, kTokens, 3);
  EXPECT_EQ(trace_html(view).size(), page.size());
}

TEST(TraceHtmlDeathTest, BrokenViewsAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TraceView view = small_view();
  view.kept[0][1] = {3, 2};
  EXPECT_DEATH(trace_html(view), "check failed: row > previous");
  view.kept[0][1] = {3, 3};
  EXPECT_DEATH(trace_html(view), "check failed: row > previous");
  view.kept[0][1] = {3, 4};
  EXPECT_DEATH(trace_html(view), "check failed");
  view.kept[0][1] = {-1, 3};
  EXPECT_DEATH(trace_html(view), "check failed");
  view.kept[0].clear();
  EXPECT_DEATH(trace_html(view), "!layer.empty");
  view = small_view();
  view.answer->nll.pop_back();
  EXPECT_DEATH(trace_html(view), "nll.size");
  EXPECT_DEATH(trace_html(TraceView{}), "!view.tokens.empty");
}

}  // namespace
}  // namespace ripplekv
