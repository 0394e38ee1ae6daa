// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/reference.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

namespace ripplekv::test {
namespace {

std::vector<double> ranks(const std::vector<double>& x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> rank(x.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && x[order[j]] == x[order[i]]) ++j;
    for (size_t k = i; k < j; ++k) rank[order[k]] = static_cast<double>(i + j - 1) / 2;
    i = j;
  }
  return rank;
}

}  // namespace

nlohmann::json read_reference(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

double overlap(const std::vector<int32_t>& got, const std::vector<int32_t>& expected) {
  std::vector<int32_t> both;
  std::set_intersection(got.begin(), got.end(), expected.begin(), expected.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(expected.size());
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  const auto a = ranks(x);
  const auto b = ranks(y);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace ripplekv::test
