// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// UTF-8 by the table of well-formed byte sequences (Unicode Standard, table 3-7): overlong forms, surrogates and
// values past U+10FFFF are no characters.
#include "base/utf8.h"

#include <algorithm>

#include "ripplekv/status.h"

namespace ripplekv {
namespace {

struct Lead {
  size_t n_bytes;  // of the whole character; 0: no character begins with this byte
  unsigned char second_min;
  unsigned char second_max;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How a text begins.
struct Beginning {
  size_t n_valid;  // bytes of the longest beginning of a character; 1 where there is none
  size_t n_whole;  // bytes the character would have; 0 where none begins
  bool is_whole() const { return n_valid == n_whole; }
};

// REQUIRES: not empty.
Beginning beginning_of(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  size_t n_valid = 1;
  for (; n_valid < lead.n_bytes && n_valid < text.size(); ++n_valid) {
    const auto byte = static_cast<unsigned char>(text[n_valid]);
    const unsigned char min = n_valid == 1 ? lead.second_min : 0x80;
    const unsigned char max = n_valid == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) break;
  }
  return {n_valid, lead.n_bytes};
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Beginning beginning = beginning_of(text);
  return beginning.is_whole() ? beginning.n_whole : 0;
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

bool valid_utf8(std::string_view text) { return !first_invalid_utf8(text); }

size_t append_utf8(std::string_view bytes, std::string& out) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Beginning beginning = beginning_of(bytes.substr(at));
    if (beginning.is_whole()) {
      out.append(bytes.substr(at, beginning.n_valid));
    } else if (beginning.n_whole > 0 && at + beginning.n_valid == bytes.size()) {
      return at;
    } else {
      out.append(kReplacementCharacter);
    }
    at += beginning.n_valid;
  }
  return at;
}

bool is_control(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

std::string printable(std::string_view text) {
  std::string valid;
  if (append_utf8(text, valid) < text.size()) valid.append(kReplacementCharacter);
  std::string line;
  for (size_t at = 0; at < valid.size();) {
    const std::string_view rest = std::string_view(valid).substr(at);
    const std::string_view character = rest.substr(0, utf8_length(rest));
    line.append(is_control(character) ? " " : character);
    at += character.size();
  }
  return line;
}

std::string one_line(std::string_view text, size_t n_bytes_max) {
  RKV_CHECK(n_bytes_max >= 3);
  std::string line;
  bool space_due = false;
  for (const char c : printable(text)) {
    if (c == ' ') {
      space_due = !line.empty();
      continue;
    }
    if (space_due) line.push_back(' ');
    space_due = false;
    line.push_back(c);
  }
  if (line.size() <= n_bytes_max) return line;
  size_t n_kept = n_bytes_max - 3;
  while (n_kept > 0 && (static_cast<unsigned char>(line[n_kept]) & 0xC0) == 0x80) --n_kept;
  return line.substr(0, n_kept) + "...";
}

}  // namespace ripplekv
