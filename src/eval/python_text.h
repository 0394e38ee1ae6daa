// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Text as Python's str sees it, for metrics that were published as Python programs: characters are code points; lower
// case, white space, digits and word characters are Unicode's. Not Python's: the final sigma of Greek words.
// Private to src/eval/. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ripplekv {

std::u32string to_characters(std::string_view utf8);  // what is no character becomes U+FFFD
std::string to_utf8(std::u32string_view characters);

bool is_space(char32_t c);           // str.isspace(), \s
bool is_digit(char32_t c);           // \d
bool is_word_character(char32_t c);  // \w
bool is_ascii_punctuation(char32_t c);

std::u32string lower(std::u32string_view text);
std::string lower(std::string_view utf8);

// str.split(): runs without white space.
std::vector<std::string> words_of(std::string_view utf8);
// re.findall(r"\d+", text)
std::vector<std::string> digit_runs(std::string_view utf8);

}  // namespace ripplekv
