// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The one place that decides what a valid UTF-8 character is, for text that arrives in pieces or from strangers.
// Pure functions over bytes; no locale, no normalisation, no knowledge of tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ripplekv {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Appends the characters of `bytes` to `out` and returns how many bytes were used up. What cannot be a character
// becomes U+FFFD (one per longest valid beginning, as Unicode recommends); a beginning at the very end that more bytes
// could complete is left over (at most 3 bytes). `out` thus stays valid UTF-8.
size_t append_utf8(std::string_view bytes, std::string& out);

// `text` as part of a one-line message: valid UTF-8, runs of spaces and control characters become one space (no escape
// sequence reaches a terminal), at most `n_bytes_max` bytes, the last three of them "..." where text was cut off.
// REQUIRES: n_bytes_max >= 3.
std::string one_line(std::string_view text, size_t n_bytes_max);

}  // namespace ripplekv
