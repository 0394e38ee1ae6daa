// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The generator against published vectors, the distributions against their theory, and frozen values that a platform
// or compiler must not change. Statistical bounds are 5 standard errors of fixed seeds: they hold or the code changed.
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "base/hash.h"

namespace ripplekv {
namespace {

TEST(Random, SplitMixReferenceVector) {  // seed 1234567, the vector in common use (Rosetta Code and others)
  uint64_t state = 1234567;
  for (const uint64_t expected :
       std::initializer_list<uint64_t>{6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(splitmix64(state), expected);
  }
}

TEST(Random, XoshiroReferenceVectors) {
  Random a(std::array<uint64_t, 4>{1, 2, 3, 4});  // as in the tests of rand_xoshiro, made with the reference C code
  for (const uint64_t expected : std::initializer_list<uint64_t>{
           41943041u, 58720359u, 3588806011781223u, 3591011842654386u, 9228616714210784205u, 9973669472204895162u,
           14011001112246962877u, 12406186145184390807u, 15849039046786891736u, 10450023813501588000u}) {
    EXPECT_EQ(a.next(), expected);
  }
  Random b(std::array<uint64_t, 4>{0, 0, 0, 1});  // as in the tests of xoshiro-fortran
  for (const uint64_t expected : std::initializer_list<uint64_t>{
           0x0000000000800000u, 0x0000000000800011u, 0x0002200000800011u, 0x0002200044000020u, 0x00022000448008A1u,
           0x01102100802208A0u, 0x0114002284200880u, 0x0402896644A64095u, 0x8A14A0A244ACC891u, 0x8C88BA4680B20495u}) {
    EXPECT_EQ(b.next(), expected);
  }
}

TEST(Random, SeedsThroughSplitMix) {
  uint64_t state = 99;
  std::array<uint64_t, 4> words{};
  for (uint64_t& word : words) word = splitmix64(state);
  Random expected(words);
  Random seeded(99);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seeded.next(), expected.next());
}

TEST(Random, SeedFromTellsCountersApart) {
  EXPECT_EQ(seed_from(1, 2, 3), seed_from(uint64_t{1}, 2u, int64_t{3}));
  std::set<uint64_t> seen = {seed_from()};
  size_t n = 1;
  for (uint64_t a = 0; a < 40; ++a) {
    seen.insert(seed_from(a));
    ++n;
    for (uint64_t b = 0; b < 40; ++b) {
      seen.insert(seed_from(a, b));
      ++n;
      for (uint64_t c = 0; c < 40; ++c, ++n) seen.insert(seed_from(a, b, c));
    }
  }
  EXPECT_EQ(seen.size(), n);
}

TEST(Random, SeedFromSpreadsEveryInputBit) {
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (uint64_t x = 0; x < 100; ++x) {
      flipped += std::popcount(seed_from(x, 5) ^ seed_from(x ^ uint64_t{1} << bit, 5));
    }
    EXPECT_NEAR(flipped / 100.0, 32, 5 * 4.0 / 10) << bit;  // binomial(64, 1/2): sd 4, over 100 pairs
  }
}

TEST(Random, NeighbouringSeedsAreIndependent) {
  constexpr int kN = 20000;
  double correlation = 0;
  for (int i = 0; i < kN; ++i) {
    Random a(seed_from(3, i));
    Random b(seed_from(3, i + 1));
    correlation += a.gaussian() * b.gaussian();
  }
  EXPECT_LT(std::abs(correlation / kN), 5 / std::sqrt(double{kN}));
}

TEST(Random, UniformMoments) {
  Random random(11);
  constexpr int kN = 1000000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kN; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kN, 0.5, 5 * std::sqrt(1 / 12.0 / kN));
  EXPECT_NEAR(squares / kN, 1 / 3.0, 5 * std::sqrt(4 / 45.0 / kN));
}

TEST(Random, BelowIsUniform) {
  Random random(12);
  EXPECT_EQ(random.below(1), 0u);
  for (const uint64_t n : {2u, 3u, 7u, 10u, 100u}) {
    std::vector<int> counts(n);
    const int draws = 20000 * static_cast<int>(n);
    for (int i = 0; i < draws; ++i) {
      const uint64_t value = random.below(n);
      ASSERT_LT(value, n);
      ++counts[value];
    }
    double chi2 = 0;
    for (const int count : counts) chi2 += (count - 20000.0) * (count - 20000.0) / 20000.0;
    const auto degrees = static_cast<double>(n - 1);
    EXPECT_LT(std::abs(chi2 - degrees), 5 * std::sqrt(2 * degrees)) << n;
  }
  // Where a product without rejection is off by a third: n = 3/4 of 2^64 must not favour every third value.
  const uint64_t large = uint64_t{3} << 62;
  int low_half = 0;
  constexpr int kN = 100000;
  for (int i = 0; i < kN; ++i) {
    const uint64_t value = random.below(large);
    ASSERT_LT(value, large);
    low_half += value % 3 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(low_half / double{kN}, 1 / 3.0, 5 * std::sqrt(2 / 9.0 / kN));
}

TEST(Random, GaussianMoments) {
  Random random(13);
  constexpr int kN = 1000000;
  double m1 = 0;
  double m2 = 0;
  double m3 = 0;
  double m4 = 0;
  double serial = 0;
  double before = 0;
  for (int i = 0; i < kN; ++i) {
    const double x = random.gaussian();
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
    serial += x * before;
    before = x;
  }
  const double root = std::sqrt(double{kN});
  EXPECT_NEAR(m1 / kN, 0, 5 / root);
  EXPECT_NEAR(m2 / kN, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(m3 / kN, 0, 5 * std::sqrt(15.0) / root);
  EXPECT_NEAR(m4 / kN, 3, 5 * std::sqrt(96.0) / root);
  EXPECT_NEAR(serial / kN, 0, 5 / root);
}

// Against the normal distribution function at many points, the layers' borders and the tail included.
TEST(Random, GaussianDistribution) {
  Random random(14);
  constexpr size_t kN = 1000000;
  std::vector<double> x(kN);
  for (double& value : x) value = random.gaussian();
  std::sort(x.begin(), x.end());
  for (double t = -5; t <= 5; t += 0.01) {
    const double p = std::erfc(-t / std::sqrt(2.0)) / 2;
    const auto below = static_cast<double>(std::lower_bound(x.begin(), x.end(), t) - x.begin());
    ASSERT_NEAR(below / kN, p, 5.5 * std::sqrt(p * (1 - p) / kN) + 1.0 / kN) << t;
  }
  EXPECT_GT(x.back(), 4.5);  // the tail is there
  EXPECT_LT(x.front(), -4.5);
  EXPECT_LT(x.back(), 7);
}

// Draws beyond the last layer come from other code: how many there are, and how far beyond on average.
TEST(Random, GaussianTail) {
  constexpr double kTail = 3.6541528853610088;
  constexpr int kN = 20000000;
  const double probability = std::erfc(kTail / std::sqrt(2.0));  // both sides
  const double density = std::sqrt(2 / std::acos(-1.0)) * std::exp(-kTail * kTail / 2);
  Random random(15);
  int n_tail = 0;
  double beyond = 0;
  for (int i = 0; i < kN; ++i) {
    const double x = std::abs(random.gaussian());
    if (x <= kTail) continue;
    ++n_tail;
    beyond += x - kTail;
  }
  EXPECT_NEAR(n_tail, probability * kN, 5 * std::sqrt(probability * kN));
  EXPECT_NEAR(beyond / n_tail, density / probability - kTail, 5 * 0.25 / std::sqrt(n_tail));  // sd below 0.25
}

TEST(Random, SameBitsEverywhere) {
  Random random(seed_from(2026, 1));
  std::vector<double> x(1000000);
  for (double& value : x) value = random.gaussian();
  EXPECT_EQ(x[0], 0x1.21b5a6ebc7b11p+0);
  // Little-endian bytes of a million draws; wedges and tails are among them.
  EXPECT_EQ(hash_of_bytes({reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double)}),
            "xxh3:e2e5cba185fe23d8ec2d26c1c9962023");
}

}  // namespace
}  // namespace ripplekv
