// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `ripple`: the published multipliers, its transforms, and sensitivities no profile should contain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Transform kTransforms[] = {Transform::kLinear, Transform::kSqrt, Transform::kLog, Transform::kRank};

std::vector<double> weights_of(const std::vector<double>& sensitivity, const RippleOptions& options) {
  const auto weights = ripple_weights(sensitivity, options);
  EXPECT_TRUE(weights.ok()) << weights.status().message();
  if (!weights.ok()) return {};
  EXPECT_EQ(weights->base_rows, 0);
  return weights->weights;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-9) << "layer " << i;
}

TEST(Ripple, PublishedMultipliers) {
  expect_near(weights_of({0.1, 0.2, 0.3}, {.r = 4, .gamma = 4}), {1, 2, 4});
  expect_near(weights_of({0.1, 0.2, 0.3}, {.r = 16, .gamma = 8}), {1, 4, 8});  // 16 is clipped
  expect_near(weights_of({5, 1}, {.r = 1, .gamma = 4}), {1, 1});
  expect_near(weights_of({5, 1}, {.r = 9, .gamma = 1}), {1, 1});
}

TEST(Ripple, TransformsByHand) {
  // sqrt: 0, 1/2, 1. log with a 0: its floor is a millionth of the maximum, so 1e-3 lies halfway but for 0.05%.
  expect_near(weights_of({0, 0.25, 1}, {.r = 4, .gamma = 4, .transform = Transform::kSqrt}), {1, 2, 4});
  const auto log = weights_of({0, 1e-3, 1}, {.r = 4, .gamma = 4, .transform = Transform::kLog});
  EXPECT_NEAR(log[0], 1, 1e-9);
  EXPECT_NEAR(log[1], 2, 1e-3);
  EXPECT_NEAR(log[2], 4, 1e-9);
  expect_near(weights_of({7, 1, 1000}, {.r = 4, .gamma = 4, .transform = Transform::kRank}), {2, 1, 4});
  // Equal values share their mean rank: 0, 1.5, 1.5, 3.
  expect_near(weights_of({1, 5, 5, 9}, {.r = 4, .gamma = 4, .transform = Transform::kRank}), {1, 2, 2, 4});
}

TEST(Ripple, AllEqualIsUniform) {
  for (Transform transform : kTransforms) {
    for (double s : {0.0, 0.3, 1e-320, 1e300}) {
      expect_near(weights_of({s, s, s}, {.transform = transform}), {1, 1, 1});
    }
    expect_near(weights_of({0.2}, {.transform = transform}), {1});
  }
}

TEST(Ripple, BoundsOrderAndUnitOverRandomProfiles) {
  Random random(11);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::vector<double> s(1 + random.below(40));
    for (double& value : s) {
      value = std::exp(random.gaussian() * 4);
      if (random.below(10) == 0) value = 0;
      if (random.below(10) == 0) value = s[0];
    }
    std::vector<double> scaled = s;
    const double unit = std::exp(random.gaussian() * 20);
    for (double& value : scaled) value *= unit;
    RippleOptions options;
    options.r = 1 + random.uniform() * 20;
    options.gamma = 1 + random.uniform() * 20;
    for (Transform transform : kTransforms) {
      options.transform = transform;
      const auto w = weights_of(s, options);
      const auto w_scaled = weights_of(scaled, options);
      ASSERT_EQ(w.size(), s.size());
      for (size_t a = 0; a < w.size(); ++a) {
        ASSERT_GE(w[a], 1 / options.gamma);
        ASSERT_LE(w[a], std::min(options.gamma, options.r * (1 + 1e-12)));
        ASSERT_NEAR(w[a], w_scaled[a], 1e-6);
        for (size_t b = 0; b < w.size(); ++b) {
          if (s[a] >= s[b]) {
            ASSERT_GE(w[a], w[b]) << to_string(transform);
          }
        }
      }
    }
  }
}

TEST(Ripple, ExtremeButFiniteSensitivities) {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (Transform transform : kTransforms) {
    for (const auto& s : {std::vector<double>{0, most}, {least, most}, {0, least}, {0, least, most}}) {
      for (double w : weights_of(s, {.r = most, .gamma = most, .transform = transform})) {
        EXPECT_TRUE(std::isfinite(w) && w >= 0) << to_string(transform);
      }
    }
  }
}

TEST(Ripple, BadSensitivitiesNameTheLayer) {
  for (double bad : {std::nan(""), kInf, -kInf, -1e-9}) {
    const auto weights = ripple_weights(std::vector<double>{0.1, 0.2, bad, 0.3}, {});
    ASSERT_FALSE(weights.ok()) << bad;
    EXPECT_EQ(weights.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(weights.status().message().find("in layer 2"), std::string::npos) << weights.status().message();
  }
  EXPECT_FALSE(ripple_weights({}, {}).ok());
}

TEST(Ripple, BadOptionsAreRefused) {
  const std::vector<double> s = {0.1, 0.2};
  for (double bad : {0.99, 0.0, -4.0, std::nan(""), kInf}) {
    const auto r = ripple_weights(s, {.r = bad});
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.status().message().rfind("ripple: got r ", 0), 0u);
    const auto gamma = ripple_weights(s, {.gamma = bad});
    ASSERT_FALSE(gamma.ok());
    EXPECT_EQ(gamma.status().message().rfind("ripple: got gamma ", 0), 0u);
  }
}

TEST(Ripple, TransformNamesRoundTrip) {
  for (Transform transform : kTransforms) {
    const auto parsed = parse_transform(to_string(transform));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, transform);
  }
  const auto unknown = parse_transform("Sqrt");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().message(), "transform: got 'Sqrt', expected linear, sqrt, log or rank");
  EXPECT_FALSE(parse_transform("").ok());
}

}  // namespace
}  // namespace ripplekv
