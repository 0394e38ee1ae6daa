// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Products of every instruction set this processor has, against plain loops in double over the very values that the
// weights store: all weight types, odd sizes, 1 to 8 threads, values that are not finite.
#include "kernels/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/on_threads.h"

namespace ripplekv {
namespace {

void read_f32(const void* row, float* to, int64_t n) { std::memcpy(to, row, static_cast<size_t>(n) * sizeof(float)); }

struct Weights {
  WeightType type = WeightType::kOther;
  int64_t n_in = 0;
  int64_t n_out = 0;
  std::vector<uint8_t> bytes;
  std::vector<float> values;  // [n_in, n_out]

  WeightRows rows() const { return {type, bytes.data(), static_cast<int64_t>(bytes.size()) / n_out, n_out, read_f32}; }
};

void append(std::vector<uint8_t>& bytes, const void* from, size_t n) {
  bytes.insert(bytes.end(), static_cast<const uint8_t*>(from), static_cast<const uint8_t*>(from) + n);
}

// A half of either sign in [2^-6, 2^-3), and what it stands for.
float random_half(Random& random, uint16_t& half) {
  const auto exponent = static_cast<int>(random.below(3));  // of 2^-6 to 2^-4
  const auto fraction = static_cast<int>(random.below(1024));
  const bool negative = random.below(2) == 1;
  half = static_cast<uint16_t>((negative ? 0x8000 : 0) | (exponent + 9) << 10 | fraction);
  const float magnitude = std::ldexp(1.0F + static_cast<float>(fraction) / 1024.0F, exponent - 6);
  return negative ? -magnitude : magnitude;
}

Weights make_weights(WeightType type, int64_t n_in, int64_t n_out, uint64_t seed) {
  Weights weights = {type, n_in, n_out, {}, {}};
  Random random(seed);
  for (int64_t block = 0; block < n_in / 32 * n_out; ++block) {
    if (type == WeightType::kOther) {
      for (int i = 0; i < 32; ++i) {
        weights.values.push_back(static_cast<float>(random.gaussian()));
        append(weights.bytes, &weights.values.back(), sizeof(float));
      }
      continue;
    }
    uint16_t half = 0;
    const float scale = random_half(random, half);
    append(weights.bytes, &half, sizeof(half));
    float shift = type == WeightType::kQ4_0 ? -8.0F * scale : 0.0F;
    if (type == WeightType::kQ4_1) {
      shift = random_half(random, half);
      append(weights.bytes, &half, sizeof(half));
    }
    int whole[32];
    const bool bytes = type == WeightType::kQ8_0;
    for (int& x : whole) x = bytes ? static_cast<int>(random.below(256)) - 128 : static_cast<int>(random.below(16));
    for (int i = 0; i < (bytes ? 32 : 16); ++i) {
      weights.bytes.push_back(static_cast<uint8_t>(bytes ? whole[i] : whole[i] | whole[i + 16] << 4));
    }
    for (const int x : whole) weights.values.push_back(scale * static_cast<float>(x) + shift);
  }
  return weights;
}

struct Tokens {
  int64_t n_in = 0;
  int64_t n_tokens = 0;
  int64_t stride = 0;
  std::vector<float> values;
};

// Some values are a hundred times the others, as in real activations.
Tokens make_tokens(int64_t n_in, int64_t n_tokens, uint64_t seed) {
  Tokens tokens = {n_in, n_tokens, n_in + 7, {}};
  Random random(seed);
  for (int64_t i = 0; i < n_tokens * tokens.stride; ++i) {
    tokens.values.push_back(static_cast<float>(random.gaussian() * (random.below(100) == 0 ? 100.0 : 1.0)));
  }
  return tokens;
}

std::vector<float> multiply_many(const Weights& weights, const Tokens& tokens, const KernelSet& kernels,
                                 int n_threads) {
  const ProductPlan plan = plan_product(tokens.n_in, tokens.n_tokens, n_threads, kernels);
  std::vector<uint8_t> scratch(static_cast<size_t>(plan.scratch_bytes), 0xa5);
  std::vector<float> out(static_cast<size_t>(weights.n_out * tokens.n_tokens), NAN);
  on_threads(n_threads,
             [&](int thread) { pack_inputs(plan, tokens.values.data(), tokens.stride, scratch, thread, n_threads); });
  std::atomic<int64_t> next_panel = 0;
  on_threads(n_threads, [&](int thread) { multiply(plan, weights.rows(), out.data(), scratch, next_panel, thread); });
  return out;
}

std::vector<float> multiply_some(const Weights& weights, const Tokens& tokens, const KernelSet& kernels,
                                 int n_threads) {
  const FewTokens few = {tokens.n_in, tokens.n_tokens, &kernels};
  std::vector<float> out(static_cast<size_t>(weights.n_out * tokens.n_tokens), NAN);
  std::vector<uint8_t> scratch(static_cast<size_t>(few.scratch_bytes(n_threads)), 0xa5);
  const WeightRows rows = weights.rows();
  on_threads(n_threads, [&](int thread) {
    multiply_few(few, tokens.values.data(), tokens.stride, {&rows, 1}, out.data(), scratch, thread, n_threads);
  });
  return out;
}

double length_of(const float* values, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

// Rounding a vector of n values to integers, at least 32767 long, moves it by sqrt(n) / 2 at most. Blocks have 256
// values or fewer; f32 sums of n_in / 32 blocks add a few units in the last place of the longest partial sum.
void expect_product(const std::vector<float>& got, const Weights& weights, const Tokens& tokens, int n_rounded,
                    const std::string& where) {
  const int64_t n_in = tokens.n_in;
  ASSERT_EQ(got.size(), static_cast<size_t>(weights.n_out * tokens.n_tokens)) << where;
  for (int64_t token = 0; token < tokens.n_tokens; ++token) {
    const float* x = tokens.values.data() + token * tokens.stride;
    for (int64_t row = 0; row < weights.n_out; ++row) {
      const float* w = weights.values.data() + row * n_in;
      double expected = 0.0;
      for (int64_t i = 0; i < n_in; ++i) expected += static_cast<double>(x[i]) * w[i];
      const double bound = length_of(x, n_in) * length_of(w, n_in) * (n_rounded * 8.0 / 32767.0 + 1e-6);
      ASSERT_NEAR(got[static_cast<size_t>(token * weights.n_out + row)], expected, bound)
          << where << " token " << token << " row " << row;
    }
  }
}

constexpr WeightType kTypes[] = {WeightType::kQ4_0, WeightType::kQ4_1, WeightType::kQ8_0, WeightType::kOther};
std::string text(const KernelSet& kernels, WeightType type, int64_t n_in, int64_t n_out, int64_t n_tokens) {
  const char* names[] = {"q4_0", "q4_1", "q8_0", "f32"};
  return std::string(kernels.name) + " " + names[static_cast<size_t>(type)] + " " + std::to_string(n_in) + " x " +
         std::to_string(n_out) + ", tokens " + std::to_string(n_tokens);
}

TEST(Product, ManyTokensMatchPlainLoops) {
  for (const KernelSet* kernels : kernel_sets()) {
    for (const WeightType type : kTypes) {
      for (const int64_t n_in : {32, 96, 352, 576}) {  // blocks of 32, 96, 32 and 192
        for (const int64_t n_out : {1, 47, 48, 100}) {
          const Weights weights = make_weights(type, n_in, n_out, 3);
          for (const int64_t n_tokens : {1, 8, 37}) {
            const Tokens tokens = make_tokens(n_in, n_tokens, 4);
            ASSERT_NO_FATAL_FAILURE(expect_product(multiply_many(weights, tokens, *kernels, 2), weights, tokens, 2,
                                                   text(*kernels, type, n_in, n_out, n_tokens)));
          }
        }
      }
    }
  }
}

TEST(Product, FewTokensMatchPlainLoops) {
  for (const KernelSet* kernels : kernel_sets()) {
    for (const WeightType type : {WeightType::kQ4_0, WeightType::kQ4_1, WeightType::kQ8_0}) {
      for (const int64_t n_in : {32, 96, 576}) {
        for (const int64_t n_out : {1, 15, 16, 100}) {
          const Weights weights = make_weights(type, n_in, n_out, 3);
          for (const int64_t n_tokens : {1, 2, 3, 8, 11}) {
            const Tokens tokens = make_tokens(n_in, n_tokens, 4);
            ASSERT_NO_FATAL_FAILURE(expect_product(multiply_some(weights, tokens, *kernels, 2), weights, tokens, 1,
                                                   text(*kernels, type, n_in, n_out, n_tokens)));
          }
        }
      }
    }
  }
}

TEST(Product, MatricesTogetherAreThoseApart) {
  for (const KernelSet* kernels : kernel_sets()) {
    const Tokens tokens = make_tokens(96, 5, 4);
    const Weights matrices[] = {make_weights(WeightType::kQ4_1, 96, 33, 1), make_weights(WeightType::kQ8_0, 96, 3, 2),
                                make_weights(WeightType::kQ4_0, 96, 64, 3)};
    std::vector<WeightRows> rows;
    for (const Weights& weights : matrices) rows.push_back(weights.rows());
    const FewTokens few = {96, 5, kernels};
    for (const int n_threads : {1, 2, 5}) {
      std::vector<float> out(100 * 5, NAN);
      std::vector<uint8_t> scratch(static_cast<size_t>(few.scratch_bytes(n_threads)), 0xa5);
      on_threads(n_threads, [&](int thread) {
        multiply_few(few, tokens.values.data(), tokens.stride, rows, out.data(), scratch, thread, n_threads);
      });
      size_t first = 0;
      for (const Weights& weights : matrices) {
        const std::vector<float> apart = multiply_some(weights, tokens, *kernels, 1);
        const auto n_out = static_cast<size_t>(weights.n_out);
        for (size_t token = 0; token < 5; ++token) {
          for (size_t row = 0; row < n_out; ++row) {
            ASSERT_EQ(out[token * 100 + first + row], apart[token * n_out + row]) << kernels->name << " " << n_threads;
          }
        }
        first += n_out;
      }
    }
  }
}

// Neither threads nor how many tokens come with it change a token's bits.
TEST(Product, ThreadsAndOtherTokensChangeNothing) {
  for (const KernelSet* kernels : kernel_sets()) {
    for (const WeightType type : kTypes) {
      const Weights weights = make_weights(type, 160, 70, 5);
      Tokens tokens = make_tokens(160, 13, 6);
      const std::vector<float> many = multiply_many(weights, tokens, *kernels, 1);
      for (const int n_threads : {2, 3, 8}) EXPECT_EQ(many, multiply_many(weights, tokens, *kernels, n_threads));
      std::vector<float> some;
      if (type != WeightType::kOther) {
        some = multiply_some(weights, tokens, *kernels, 1);
        for (const int n_threads : {2, 3, 8}) EXPECT_EQ(some, multiply_some(weights, tokens, *kernels, n_threads));
      }
      tokens.n_tokens = 5;
      EXPECT_EQ(multiply_many(weights, tokens, *kernels, 2), std::vector<float>(many.begin(), many.begin() + 5 * 70));
      if (type == WeightType::kOther) continue;
      EXPECT_EQ(multiply_some(weights, tokens, *kernels, 2), std::vector<float>(some.begin(), some.begin() + 5 * 70));
    }
  }
}

// Rows and tokens that point the same way, in blocks of 256: the largest sums there are.
TEST(Product, LongestSumsFitTheirIntegers) {
  const int64_t n_in = 512;
  for (const KernelSet* kernels : kernel_sets()) {
    for (const double spike : {0.0, 1.0, 15.0, 1e4}) {
      for (const double size : {1e-13, 1.0, 1e8}) {
        Weights weights = {WeightType::kOther, n_in, 2, {}, {}};
        Tokens tokens = {n_in, 2, n_in, {}};
        for (int64_t i = 0; i < 2 * n_in; ++i) {
          const double sign = i < n_in ? 1.0 : -1.0;
          tokens.values.push_back(static_cast<float>(sign * size * (i % 256 == 40 ? 1.0 + spike : 1.0)));
        }
        weights.values = tokens.values;
        append(weights.bytes, weights.values.data(), weights.values.size() * sizeof(float));
        ASSERT_NO_FATAL_FAILURE(expect_product(multiply_many(weights, tokens, *kernels, 1), weights, tokens, 2,
                                               std::string(kernels->name) + " spike " + std::to_string(spike)));
      }
    }
  }
}

TEST(Product, ZerosGiveZero) {
  for (const KernelSet* kernels : kernel_sets()) {
    const Weights weights = make_weights(WeightType::kQ4_0, 96, 20, 7);
    Tokens tokens = make_tokens(96, 3, 8);
    std::fill(tokens.values.begin(), tokens.values.end(), 0.0F);
    const std::vector<float> zeros(60, 0.0F);
    EXPECT_EQ(multiply_many(weights, tokens, *kernels, 1), zeros) << kernels->name;
    EXPECT_EQ(multiply_some(weights, tokens, *kernels, 1), zeros) << kernels->name;
  }
}

// A token that is not finite is seen in all its results, and in no other token's.
TEST(Product, WhatIsNotFiniteShows) {
  for (const KernelSet* kernels : kernel_sets()) {
    const Weights weights = make_weights(WeightType::kQ8_0, 96, 50, 9);
    const Tokens good = make_tokens(96, 3, 10);
    for (const float bad : {NAN, INFINITY, -INFINITY, 1e30F}) {
      Tokens tokens = good;
      tokens.values[static_cast<size_t>(tokens.stride) + 40] = bad;
      for (const auto& multiply_by : {multiply_many, multiply_some}) {
        const std::vector<float> clean = multiply_by(weights, good, *kernels, 1);
        const std::vector<float> got = multiply_by(weights, tokens, *kernels, 1);
        for (size_t i = 0; i < got.size(); ++i) {
          if (i / 50 == 1) {
            EXPECT_FALSE(std::isfinite(got[i])) << kernels->name << " " << bad << " at " << i;
          } else {
            EXPECT_EQ(got[i], clean[i]) << kernels->name << " " << bad << " at " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
