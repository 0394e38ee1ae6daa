// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/reference.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace ripplekv::test {

nlohmann::json read_reference(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

double overlap(const std::vector<int32_t>& got, const std::vector<int32_t>& expected) {
  std::vector<int32_t> both;
  std::set_intersection(got.begin(), got.end(), expected.begin(), expected.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(expected.size());
}

}  // namespace ripplekv::test
