// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Unicode properties come from utf8proc.
#include "eval/python_text.h"

#include <utf8proc.h>

#include <array>

#include "base/utf8.h"

namespace ripplekv {
namespace {

template <class Predicate>
std::vector<std::string> runs_of(std::string_view utf8, Predicate belongs) {
  std::vector<std::string> runs;
  std::u32string run;
  for (const char32_t c : to_characters(utf8)) {
    if (belongs(c)) {
      run += c;
    } else if (!run.empty()) {
      runs.push_back(to_utf8(run));
      run.clear();
    }
  }
  if (!run.empty()) runs.push_back(to_utf8(run));
  return runs;
}

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

}  // namespace

std::u32string to_characters(std::string_view utf8) {
  std::string valid;
  if (append_utf8(utf8, valid) < utf8.size()) valid.append(kReplacementCharacter);
  std::u32string characters;
  characters.reserve(valid.size());
  for (size_t at = 0; at < valid.size();) {
    const size_t n_bytes = utf8_length(std::string_view(valid).substr(at));
    const auto lead = static_cast<unsigned char>(valid[at]);
    char32_t c = n_bytes == 1 ? lead : lead & (0x7FU >> n_bytes);
    for (size_t i = 1; i < n_bytes; ++i) c = (c << 6U) | (static_cast<unsigned char>(valid[at + i]) & 0x3FU);
    characters += c;
    at += n_bytes;
  }
  return characters;
}

std::string to_utf8(std::u32string_view characters) {
  std::string out;
  for (const char32_t c : characters) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(n));
  }
  return out;
}

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0x2028 || c == 0x2029 || category_of(c) == UTF8PROC_CATEGORY_ZS;
}

bool is_digit(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_ND; }

bool is_word_character(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return c == U'_';
  }
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
}

std::u32string lower(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    if (c == 0x130) {  // the one character whose lower case is two
      out += U"i\u0307";
    } else {
      out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    }
  }
  return out;
}

std::string lower(std::string_view utf8) { return to_utf8(lower(to_characters(utf8))); }

std::vector<std::string> words_of(std::string_view utf8) {
  return runs_of(utf8, [](char32_t c) { return !is_space(c); });
}

std::vector<std::string> digit_runs(std::string_view utf8) { return runs_of(utf8, is_digit); }

}  // namespace ripplekv
