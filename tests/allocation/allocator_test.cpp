// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The list of allocators, and `uniform`.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

TEST(Allocator, RegistryListsEachOnceWithALine) {
  std::vector<std::string_view> names;
  for (const AllocatorInfo& info : allocator_registry()) {
    names.push_back(info.name);
    EXPECT_FALSE(info.summary.empty());
    EXPECT_EQ(info.summary.find('\n'), std::string_view::npos);
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"uniform", "pyramid", "ripple", "curves", "head_curves"}));
  EXPECT_TRUE(needs_profile("head_curves"));
  EXPECT_TRUE(goes_by_damage("head_curves") && goes_by_damage("curves"));
  EXPECT_FALSE(goes_by_damage("ripple"));
  EXPECT_FALSE(needs_profile("pyramid"));
  EXPECT_FALSE(needs_profile("file"));
}

TEST(Allocator, UniformSharesAlikeAndTheFirstLayersTakeTheRest) {
  const AllocationWeights weights = uniform_weights(4);
  EXPECT_EQ(weights.weights.size(), 4u);
  EXPECT_EQ(weights.base_rows, 0);
  EXPECT_EQ(*rows_for(weights, 402, 40, 1000), (std::vector<int64_t>{101, 101, 100, 100}));
}

}  // namespace
}  // namespace ripplekv
