// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace ripplekv {

std::string part_path(const std::string& path, int rank) { return fmt::format("{}.rank{}.part", path, rank); }

std::vector<std::string> parts_of(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  std::vector<int64_t> ranks;
  std::error_code error;
  for (fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::string before = fs::path(path).filename().string() + ".rank";
    constexpr std::string_view kAfter = ".part";
    if (!name.starts_with(before) || !name.ends_with(kAfter)) continue;
    const auto rank = parse_int64(std::string_view(name).substr(
        before.size(), std::max(name.size(), before.size() + kAfter.size()) - before.size() - kAfter.size()));
    if (rank.ok() && *rank >= 0 && *rank < INT32_MAX) ranks.push_back(*rank);
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> parts;
  for (const int64_t rank : ranks) parts.push_back(part_path(path, static_cast<int>(rank)));
  return parts;
}

Status remove_parts(const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    std::error_code error;
    std::filesystem::remove(part, error);
    if (error) return io_error(fmt::format("{}: cannot be removed: {}", part, error.message()));
  }
  return ok_status();
}

}  // namespace ripplekv
