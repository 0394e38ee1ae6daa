// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A progress line on stderr: "profiling  42%  ETA 1m 23s". For people only: silent unless stderr is a terminal,
// silent in the first second, at most 10 updates a second, erased at the end. Never throws, never fails: a line that
// cannot be written is not written. One thread at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace ripplekv {

// Where the line goes; tests give their own.
struct ProgressOutput {
  std::FILE* file = nullptr;
  bool is_terminal = false;
  std::function<double()> seconds;  // a clock that never goes back
};
ProgressOutput stderr_progress() noexcept;

class Progress {
 public:
  // `total` in any unit; 0 or less if unknown (no percent then). `done_before`: finished in an earlier sitting, so
  // that it counts for the percent and not for the speed.
  Progress(std::string_view label, int64_t total, int64_t done_before = 0,
           ProgressOutput output = stderr_progress()) noexcept;
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done) noexcept;
  void finish() noexcept;  // erases the line; later updates are ignored

 private:
  std::string line(int64_t done, double elapsed) const;

  std::string label_;
  int64_t total_;
  int64_t done_before_;
  ProgressOutput output_;
  double start_ = 0;
  double last_shown_ = 0;
  bool visible_ = false;
};

}  // namespace ripplekv
