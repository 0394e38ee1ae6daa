// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/replaceable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace ripplekv {
namespace {

std::string without_space(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
  return out;
}

}  // namespace

Status check_replaceable(const std::string& path, std::string_view begins, std::string_view what) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return ok_status();
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error(fmt::format("{}: cannot be read, expected {} or no file there", path, what));
  std::array<char, 256> head{};
  file.read(head.data(), head.size());
  const auto n_read = static_cast<size_t>(file.gcount());
  if (n_read == 0 || without_space({head.data(), n_read}).starts_with(without_space(begins))) return ok_status();
  return invalid_argument(
      fmt::format("{}: holds something else than {}, expected one or no file where it would be replaced", path, what));
}

}  // namespace ripplekv
