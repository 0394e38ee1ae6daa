// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Lines in pieces through std::ifstream, which sets failbit when a piece is full.
#include "base/line_file.h"

#include <fmt/format.h>

#include <fstream>

namespace ripplekv {

std::string LineFile::where() const { return fmt::format("{} line {}", path_, n_line_); }

Result<std::optional<std::string>> LineFile::next() {
  std::ifstream stream(path_, std::ios::binary);
  if (!stream) return io_error(fmt::format("cannot open file {}", path_));
  stream.seekg(offset_);
  std::string line;
  std::string piece(size_t{1} << 16, '\0');
  while (true) {
    stream.getline(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (stream.bad()) return io_error(fmt::format("cannot read {} after line {}", path_, n_line_));
    const std::streamsize n = stream.gcount();
    const bool line_end = !stream.fail() && !stream.eof();
    line.append(piece.data(), static_cast<size_t>(line_end ? n - 1 : n));  // gcount() counts the line end
    offset_ += n;
    if (static_cast<int64_t>(line.size()) > n_bytes_line_max_) {
      return data_loss(fmt::format("too long: got more than {} bytes, expected at most that in {} line {}",
                                   n_bytes_line_max_, path_, n_line_ + 1));
    }
    if (line_end) break;
    if (stream.eof()) {
      if (line.empty()) return std::optional<std::string>();
      break;
    }
    stream.clear();  // the piece is full, the line goes on
  }
  if (n_line_++ == 0 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  return std::optional<std::string>(std::move(line));
}

}  // namespace ripplekv
