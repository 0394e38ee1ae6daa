// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Types left to the allocator, and the grid of a profile that it needs for that.
#include <gtest/gtest.h>

#include "cli/parsing.h"

namespace ripplekv {
namespace {

// Formats can be weighed against each other where each one's own damage is known: with all rows.
TEST(TypeArgs, ProfileMeasuresAllRowsBesideSeveralFormats) {
  const ProfileSettings usual = parsed<ProfileArgs>({}).settings;
  EXPECT_EQ(usual.curve_fractions, (std::vector<double>{0.05, 0.1, 0.2, 0.4, 1}));
  EXPECT_EQ(usual.curve_formats.size(), 3u);
  const ProfileSettings rounded = parsed<ProfileArgs>({"--kv-type", "q8_0"}).settings;
  EXPECT_EQ(rounded.curve_fractions, (std::vector<double>{0.05, 0.1, 0.2, 0.4}));
  EXPECT_EQ(rounded.formats_of_curves(), (std::vector<KvFormat>{{KvType::kQ8_0, KvType::kQ8_0}}));
  const ProfileSettings one = parsed<ProfileArgs>({"--curve-types", "f16", "--curves", "10%,100%"}).settings;
  EXPECT_EQ(one.curve_fractions, (std::vector<double>{0.1}));
  EXPECT_EQ(parsed<ProfileArgs>({"--curves", "none"}).settings.n_curve_point(), 0u);
}

TEST(TypeArgs, TypesMayBeLeftToTheAllocator) {
  const RunArgs run = parsed<RunArgs>({"--kv-budget", "10%", "--kv-type", "auto"});
  EXPECT_TRUE(run.kv.type.automatic);
  EXPECT_FALSE(run.kv.type.k);
  EXPECT_TRUE(parsed<AllocateArgs>({"--kv-budget", "10%", "--kv-type", "auto"}).type.automatic);
  EXPECT_FALSE(parsed<RunArgs>({"--kv-budget", "10%", "--kv-type", "auto", "--kv-type", "q8_0"}).kv.type.automatic);
}

}  // namespace
}  // namespace ripplekv
