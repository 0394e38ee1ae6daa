// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// UTF-8 by the table of well-formed byte sequences (Unicode Standard, table 3-7): overlong forms, surrogates and
// values past U+10FFFF are no characters.
#include "engine/utf8.h"

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

}  // namespace

size_t append_utf8(std::string_view bytes, std::string& out) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Lead lead = lead_of(static_cast<unsigned char>(bytes[at]));
    size_t n_valid = 1;
    for (; n_valid < lead.n_bytes && at + n_valid < bytes.size(); ++n_valid) {
      const auto byte = static_cast<unsigned char>(bytes[at + n_valid]);
      const unsigned char min = n_valid == 1 ? lead.second_min : 0x80;
      const unsigned char max = n_valid == 1 ? lead.second_max : 0xBF;
      if (byte < min || byte > max) break;
    }
    if (n_valid == lead.n_bytes) {
      out.append(bytes.substr(at, n_valid));
    } else if (lead.n_bytes > 0 && at + n_valid == bytes.size()) {
      return at;
    } else {
      out.append(kReplacementCharacter);
    }
    at += n_valid;
  }
  return at;
}

std::string one_line(std::string_view text, size_t n_bytes_max) {
  RKV_CHECK(n_bytes_max >= 3);
  std::string line;
  bool space_due = false;
  bool is_cut = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F) {
      space_due = !line.empty();
      continue;
    }
    if (line.size() > n_bytes_max) {
      is_cut = true;
      break;
    }
    if (space_due) line.push_back(' ');
    space_due = false;
    line.push_back(c);
  }
  std::string valid;
  if (append_utf8(line, valid) < line.size()) valid.append(kReplacementCharacter);
  // C1 control characters (U+0080 to U+009F) drive terminals too.
  for (size_t i = 0; i + 1 < valid.size(); ++i) {
    if (valid[i] == '\xC2' && static_cast<unsigned char>(valid[i + 1]) < 0xA0) valid.replace(i, 2, " ");
  }
  if (valid.size() <= n_bytes_max && !is_cut) return valid;
  size_t n_kept = std::min(valid.size(), n_bytes_max - 3);
  while (n_kept > 0 && n_kept < valid.size() && (static_cast<unsigned char>(valid[n_kept]) & 0xC0) == 0x80) --n_kept;
  return valid.substr(0, n_kept) + "...";
}

}  // namespace ripplekv
