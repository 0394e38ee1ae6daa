// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// When and how the progress line is drawn. The line stays below 80 columns: a wrapped line could not be erased.
#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "base/utf8.h"

namespace ripplekv {
namespace {

constexpr double kQuietSeconds = 1.0;
constexpr double kIntervalSeconds = 0.1;
constexpr size_t kLabelMax = 44;  // bytes
constexpr std::string_view kErase = "\r\033[K";

}  // namespace

ProgressOutput stderr_progress() noexcept {
  const auto clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  return {stderr, isatty(STDERR_FILENO) == 1, clock};
}

Progress::Progress(std::string_view label, int64_t total, int64_t done_before, ProgressOutput output) noexcept
    : total_(total), done_before_(done_before), output_(std::move(output)) {
  if (output_.file == nullptr || !output_.is_terminal || !output_.seconds) {
    output_.file = nullptr;
    return;
  }
  try {
    label_ = one_line(label, kLabelMax);
    start_ = output_.seconds();
    last_shown_ = start_;
  } catch (...) {
    output_.file = nullptr;
  }
}

Progress::~Progress() { finish(); }

std::string Progress::line(int64_t done, double elapsed) const {
  if (total_ <= 0) return fmt::format("{}  {}  {}", label_, done, human_duration(elapsed));
  // In doubles: the counts are the caller's, and their differences may not fit.
  const auto total = static_cast<double>(total_);
  const double fraction = std::clamp(static_cast<double>(done) / total, 0.0, 1.0);
  std::string text = fmt::format("{} {:3}%", label_, static_cast<int>(fraction * 100));
  const double done_now = static_cast<double>(done) - static_cast<double>(done_before_);
  if (done_now > 0 && done < total_) {
    text += fmt::format("  ETA {}", human_duration(elapsed / done_now * (total - static_cast<double>(done))));
  }
  return text;
}

void Progress::update(int64_t done) noexcept {
  if (output_.file == nullptr) return;
  try {
    const double now = output_.seconds();
    if (now - start_ <= kQuietSeconds) return;
    if (visible_ && now - last_shown_ < kIntervalSeconds) return;
    const std::string text = line(done, now - start_);
    visible_ = true;
    last_shown_ = now;
    std::fwrite(kErase.data(), 1, kErase.size(), output_.file);
    std::fwrite(text.data(), 1, text.size(), output_.file);
    std::fflush(output_.file);
  } catch (...) {
    output_.file = nullptr;
  }
}

void Progress::finish() noexcept {
  if (output_.file != nullptr && visible_) {
    std::fwrite(kErase.data(), 1, kErase.size(), output_.file);
    std::fflush(output_.file);
  }
  output_.file = nullptr;
}

}  // namespace ripplekv
