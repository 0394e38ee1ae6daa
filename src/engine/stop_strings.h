// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// StopFilter: generated text in pieces in, text that is safe to show out, ended by the first of several stop strings.
// The result never depends on how the text was cut into pieces, and is always valid UTF-8: bytes that are no character
// become U+FFFD. Holds back fewer bytes than the longest stop string, plus 3. Knows no tokens and no end-of-text token.
// Not thread-safe: one filter per generation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

class StopFilter {
 public:
  // No stop string may be empty; without any, only whole characters are assembled.
  static Result<StopFilter> create(std::vector<std::string> stop_strings);

  // The text that became safe with `piece`. Once stopped, "".
  std::string feed(std::string_view piece);

  // The end of generation: what was held back, since no more text can complete a stop string or a character.
  // Later pieces are refused as a bug of the caller.
  std::string flush();

  // The stop string that was found, if any: the one whose last byte comes first, of several that end there the longest.
  // It and everything after it are never returned.
  const std::optional<std::string>& stopped_by() const { return stopped_by_; }

 private:
  explicit StopFilter(std::vector<std::string> stop_strings) : stop_strings_(std::move(stop_strings)) {}

  std::vector<std::string> stop_strings_;
  std::string held_;  // [an unfinished character][the longest beginning of a stop string the text ends with]
  std::optional<std::string> stopped_by_;
  bool is_flushed_ = false;
};

}  // namespace ripplekv
