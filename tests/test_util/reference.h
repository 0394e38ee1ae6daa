// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Reading the shared reference files (values made by other people's programs).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ripplekv::test {

nlohmann::json read_reference(const std::string& path);

// Share of `expected` rows that are also in `got`.
double overlap(const std::vector<int32_t>& got, const std::vector<int32_t>& expected);

}  // namespace ripplekv::test
