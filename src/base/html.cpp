// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/html.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace ripplekv {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  --bg: #f7f6f2; --panel: #ffffff; --line: #dcd9d0; --text: #1b1f24; --muted: #5d646d; --lost: #ebe8e1;
  --accent: #b3490f; --mark: #ffdf9e; --mark-text: #1b1f24; --button: #f1efe9; --focus: #1f5fa8;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0f1216; --panel: #171b21; --line: #2e353e; --text: #e6e9ed; --muted: #9aa4b0; --lost: #232931;
    --accent: #ff9d5c; --mark: #7a4a00; --mark-text: #fff3dc; --button: #222830; --focus: #7db8f0;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.5 var(--sans); }
.page { max-width: 1180px; margin: 0 auto; padding: 24px 20px 40px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0; scroll-margin-top: 22px; }
p { margin: 0; }
.brand { color: var(--muted); font-size: .85rem; margin-bottom: 4px; }
.lede, .note { color: var(--muted); }
.lede { margin-top: 4px; max-width: 70ch; }
.note { font-size: .85rem; }
.facts { display: flex; flex-wrap: wrap; gap: 10px 28px; margin: 18px 0 0; }
.facts dt { color: var(--muted); font-size: .78rem; }
.facts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.facts .sub { font-weight: 400; color: var(--muted); }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px;
  margin-top: 16px; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
details { margin-top: 10px; }
summary { cursor: pointer; color: var(--muted); font-size: .88rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; margin-top: 8px; }
th, td { text-align: right; padding: 3px 12px 3px 0; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 500; }
.left { text-align: left; }
@media (max-width: 640px) {
  .page { padding: 16px 10px 24px; }
  section { padding: 12px; }
  h1 { font-size: 1.3rem; }
  .facts { display: grid; grid-template-columns: 1fr 1fr; gap: 10px 16px; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
)css";

}  // namespace

std::string visible_character(std::string_view character) {
  const auto last = static_cast<unsigned char>(character.back());
  if (character == "\n" || character == "\t") return std::string(character);
  if (character == "\x7F") return "\xE2\x90\xA1";  // U+2421
  const bool control = is_control(character);
  // U+2400 and on: the control pictures, which the control characters of two bytes lack.
  if (control && character.size() == 1) return {'\xE2', '\x90', static_cast<char>(0x80 + last)};
  const std::string_view block = character.substr(0, character.size() - 1);
  const bool bidi_control = (block == "\xE2\x80" && last >= 0xAA && last <= 0xAE) ||  // U+202A to U+202E
                            (block == "\xE2\x81" && last >= 0xA6 && last <= 0xA9);    // U+2066 to U+2069
  return std::string(control || bidi_control ? kReplacementCharacter : character);
}

std::string visible_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    out += length == 0 ? std::string(kReplacementCharacter) : visible_character(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_head(std::string_view title, std::string_view style, bool scripts) {
  return fmt::format(R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; {}base-uri 'none'">
<title>{}</title>
<style>
{}{}</style>
</head>
<body>
)",
                     scripts ? "script-src 'unsafe-inline'; " : "", html_escape(visible_text(title)), kStyle, style);
}

}  // namespace ripplekv
