// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The one place that decides what a valid UTF-8 character is, and which characters a terminal must not get, for text
// that comes in pieces or from strangers. Pure functions over bytes; no locale, no normalisation, no knowledge of
// tokens.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ripplekv {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the character that `text` begins with; 0: it is empty, or begins with none or with a part of one.
size_t utf8_length(std::string_view text);

// Byte index where the first sequence that is not UTF-8 begins (RFC 3629: overlong forms, surrogates, values above
// U+10FFFF and cut sequences are not); nullopt if all is valid.
std::optional<size_t> first_invalid_utf8(std::string_view text);
bool valid_utf8(std::string_view text);

// Appends the characters of `bytes` to `out` and returns how many bytes were used up. What cannot be a character
// becomes U+FFFD (one per longest valid beginning, as Unicode recommends); a beginning at the very end that more bytes
// could complete is left over (at most 3 bytes). `out` thus stays valid UTF-8.
size_t append_utf8(std::string_view bytes, std::string& out);

// Whether `character` drives a terminal instead of being shown: U+0000 to U+001F, U+007F to U+009F.
bool is_control(std::string_view character);

// `text` as one line that is valid UTF-8 and that a terminal only shows: each control character (newlines, too) becomes
// a space, what is no character U+FFFD.
std::string printable(std::string_view text);

// printable() as part of a message: no space at either end and none twice in a row, at most `n_bytes_max` bytes, the
// last three of them "..." where text was cut off. REQUIRES: n_bytes_max >= 3.
std::string one_line(std::string_view text, size_t n_bytes_max);

}  // namespace ripplekv
