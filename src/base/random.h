// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Random numbers that are the same on every platform and compiler: one generator per (seed, sample, layer, ...), made
// by seed_from(), so that work can be reordered or resumed and still draw the same values. Not for secrets.
// Cheap to construct (32 bytes of state); one thread per generator.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace ripplekv {

// SplitMix64 (Steele, Lea, Flood 2014; https://prng.di.unimi.it/splitmix64.c): advances `state`, returns the next
// value.
uint64_t splitmix64(uint64_t& state);

uint64_t seed_from_list(std::initializer_list<uint64_t> values);

// One seed of several counters or names; order and number matter: (1, 2), (2, 1) and (1, 2, 0) differ.
template <class... Values>
uint64_t seed_from(Values... values) {
  return seed_from_list({static_cast<uint64_t>(values)...});
}

// xoshiro256++ (Blackman, Vigna 2019; https://prng.di.unimi.it/xoshiro256plusplus.c), seeded by SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed);
  explicit Random(const std::array<uint64_t, 4>& state) : state_(state) {}  // REQUIRES: not all zero

  uint64_t next();             // 64 uniform bits
  double uniform();            // in [0, 1), 53 bits
  uint64_t below(uint64_t n);  // in [0, n), unbiased. REQUIRES: n > 0
  double gaussian();           // mean 0, variance 1

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace ripplekv
