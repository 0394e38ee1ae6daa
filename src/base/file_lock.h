// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// FileLock: keeps two processes of this program from writing one file that is appended to. Advisory (flock), gone with
// the process. Where the file system has no locks nothing is kept.
#pragma once

#include <string>
#include <utility>

#include "ripplekv/status.h"

namespace ripplekv {

class FileLock {
 public:
  FileLock() = default;
  // Holds nothing if there is no such file. kInvalidArgument if another process holds it.
  static Result<FileLock> take(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace ripplekv
