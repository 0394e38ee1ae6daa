// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The streaming stop-string filter. Matching is on bytes, before bytes that are no character are replaced.
#include "engine/stop_strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace ripplekv {
namespace {

// The longest stop string that ends exactly at the end of `text`, or null.
const std::string* stop_at_end(std::string_view text, const std::vector<std::string>& stop_strings) {
  const std::string* longest = nullptr;
  for (const std::string& stop : stop_strings) {
    if (text.ends_with(stop) && (longest == nullptr || stop.size() > longest->size())) longest = &stop;
  }
  return longest;
}

// The most bytes at the end of `text` that are the beginning, not the whole, of a stop string.
size_t n_unfinished_bytes(std::string_view text, const std::vector<std::string>& stop_strings) {
  size_t n_longest = 0;
  for (const std::string& stop : stop_strings) {
    for (size_t n = std::min(stop.size() - 1, text.size()); n > n_longest; --n) {
      if (text.ends_with(std::string_view(stop).substr(0, n))) n_longest = n;
    }
  }
  return n_longest;
}

// No more bytes follow, so an unfinished character is none.
std::string whole_characters(std::string_view bytes) {
  std::string text;
  if (append_utf8(bytes, text) < bytes.size()) text.append(kReplacementCharacter);
  return text;
}

}  // namespace

Result<StopFilter> StopFilter::create(std::vector<std::string> stop_strings) {
  for (size_t i = 0; i < stop_strings.size(); ++i) {
    if (stop_strings[i].empty()) {
      return invalid_argument(
          fmt::format("stop strings: got an empty string as number {} of {}, expected at least one byte each", i + 1,
                      stop_strings.size()));
    }
  }
  return StopFilter(std::move(stop_strings));
}

std::string StopFilter::feed(std::string_view piece) {
  RKV_CHECK(!is_flushed_);
  if (stopped_by_) return "";
  size_t n_seen = held_.size();
  held_.append(piece);
  while (n_seen < held_.size()) {
    ++n_seen;
    const std::string_view text = std::string_view(held_).substr(0, n_seen);
    if (const std::string* stop = stop_at_end(text, stop_strings_)) {
      stopped_by_ = *stop;
      std::string shown = whole_characters(text.substr(0, n_seen - stop->size()));
      held_.clear();
      return shown;
    }
  }
  const size_t n_safe = held_.size() - n_unfinished_bytes(held_, stop_strings_);
  std::string shown;
  held_.erase(0, append_utf8(std::string_view(held_).substr(0, n_safe), shown));
  return shown;
}

std::string StopFilter::flush() {
  is_flushed_ = true;
  return whole_characters(std::exchange(held_, {}));
}

}  // namespace ripplekv
