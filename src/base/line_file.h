// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A text file of any size, one line at a time (JSONL): an offset is remembered, not an open handle, so any number of
// files can be read in turns. A line has a most length, and a file without line ends is refused before it fills the
// memory. What a line says is the caller's business. One thread at a time.
#pragma once

#include <cstdint>
#include <ios>
#include <optional>
#include <string>

#include "ripplekv/status.h"

namespace ripplekv {

class LineFile {
 public:
  LineFile(std::string path, int64_t n_bytes_line_max) : path_(std::move(path)), n_bytes_line_max_(n_bytes_line_max) {}

  // The next line without its '\n', the first one without a byte order mark; no value after the last.
  // Errors: not there, not readable, a line that is too long.
  Result<std::optional<std::string>> next();
  int64_t n_line() const { return n_line_; }  // lines handed out: the number of the last one
  std::string where() const;                  // "path line N" of the last one

 private:
  std::string path_;
  int64_t n_bytes_line_max_;
  std::streamoff offset_ = 0;
  int64_t n_line_ = 0;
};

}  // namespace ripplekv
