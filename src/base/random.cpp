// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The generator and the normal distribution on it. Bit-identical everywhere: besides integers only IEEE operations
// that are correctly rounded (+ - * / sqrt fma), no libm function whose last bit varies, and every sum of a product is
// a std::fma, which leaves a compiler that contracts (the default on ARM, -march=native on x86) nothing to contract.
#include "base/random.h"

#include <bit>
#include <cmath>

#include "ripplekv/status.h"

namespace ripplekv {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, SplitMix64's step

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Natural logarithm of a positive normal number, to about one unit in the last place: x = m 2^e with m near 1, then
// log m = 2 artanh((m - 1) / (m + 1)) as a series in the square of the argument (below 0.03, so 11 terms).
double portable_log(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 1.0 / 21;
  for (int k = 19; k >= 1; k -= 2) series = std::fma(series, s2, 1.0 / k);
  return std::fma(static_cast<double>(exponent), kLn2, 2 * s * series);
}

// Ziggurat of 256 layers of equal area under exp(-x^2 / 2) (Marsaglia and Tsang 2000, with Doornik 2005's use of
// separate bits for layer and abscissa). Layer i spans [0, x[i]] at heights f[i] to f[i + 1]; layer 0 is the base
// strip with the tail beyond kTail, as wide as a rectangle of its area would be.
struct Ziggurat {
  static constexpr int kLayers = 256;
  static constexpr double kTail = 0x1.d3bb48209ad33p+1;         // 3.6541528853610087716: makes the top layer close at 1
  static constexpr double kArea = 0x1.43016a5a43732p-8;         // of one layer
  static constexpr double kTailHeight = 0x1.4a605b6b9f70dp-10;  // exp(-kTail^2 / 2)

  std::array<double, kLayers> scale;       // x[i] / 2^53
  std::array<uint64_t, kLayers> inside;    // 53-bit abscissae below this lie under the curve without further tests
  std::array<double, kLayers + 1> height;  // f[i]

  Ziggurat() {
    std::array<double, kLayers + 1> x{};
    x[0] = kArea / kTailHeight;
    x[1] = kTail;
    height[0] = 0;
    height[1] = kTailHeight;
    for (size_t i = 1; i + 1 < kLayers; ++i) {
      height[i + 1] = height[i] + kArea / x[i];
      x[i + 1] = std::sqrt(-2 * portable_log(height[i + 1]));
    }
    x[kLayers] = 0;
    height[kLayers] = 1;
    for (size_t i = 0; i < kLayers; ++i) {
      scale[i] = x[i] * 0x1p-53;
      inside[i] = static_cast<uint64_t>(x[i + 1] / x[i] * 0x1p53);
    }
  }
};

}  // namespace

uint64_t splitmix64(uint64_t& state) {
  state += kGolden;
  return mix(state);
}

uint64_t seed_from_list(std::initializer_list<uint64_t> values) {
  uint64_t seed = values.size();
  for (const uint64_t value : values) seed = mix((seed ^ value) + kGolden);
  return seed;
}

Random::Random(uint64_t seed) : state_() {
  for (uint64_t& word : state_) word = splitmix64(seed);
}

uint64_t Random::next() {
  auto& s = state_;
  const uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

// Lemire 2019: the high half of next() * n, redrawn in the rare case that the low half shows an over-full bucket.
uint64_t Random::below(uint64_t n) {
  RKV_CHECK(n > 0);
  __extension__ using Wide = unsigned __int128;
  const uint64_t threshold = (0 - n) % n;
  for (;;) {
    const Wide product = static_cast<Wide>(next()) * n;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

double Random::gaussian() {
  static const Ziggurat zig;
  for (;;) {
    const uint64_t bits = next();
    const size_t layer = bits & 255;
    const double sign = (bits & 256) != 0 ? -1.0 : 1.0;
    const uint64_t abscissa = bits >> 11;
    const double x = static_cast<double>(abscissa) * zig.scale[layer];
    if (abscissa < zig.inside[layer]) return sign * x;
    if (layer == 0) {  // the tail: Marsaglia 1964
      double beyond = 0;
      double y = 0;
      do {
        beyond = -portable_log(1 - uniform()) / Ziggurat::kTail;
        y = -portable_log(1 - uniform());
      } while (2 * y <= beyond * beyond);
      return sign * (Ziggurat::kTail + beyond);
    }
    const double y = std::fma(uniform(), zig.height[layer + 1] - zig.height[layer], zig.height[layer]);
    if (-2 * portable_log(y) > x * x) return sign * x;
  }
}

}  // namespace ripplekv
