// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Divergences against plain loops in long double, by hand, at the extremes that logits take, and near 0.
#include "profiling/divergence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace ripplekv {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_logits(size_t n, double scale, Random& random) {
  std::vector<float> logits(n);
  for (float& x : logits) x = static_cast<float>(scale * random.gaussian());
  return logits;
}

std::vector<long double> log_probabilities(std::span<const float> logits) {
  long double top = -std::numeric_limits<long double>::infinity();
  for (const float x : logits) top = std::max(top, static_cast<long double>(x));
  long double sum = 0;
  for (const float x : logits) sum += std::exp(x - top);
  std::vector<long double> result;
  for (const float x : logits) result.push_back(x - top - std::log(sum));
  return result;
}

long double plain_kl(std::span<const float> logits_p, std::span<const float> logits_q) {
  const auto p = log_probabilities(logits_p);
  const auto q = log_probabilities(logits_q);
  long double kl = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (std::exp(p[i]) > 0) kl += std::exp(p[i]) * (p[i] - q[i]);
  }
  return kl;
}

TEST(Divergence, KlByHand) {
  // p = (1/2, 1/2), q = (1/4, 3/4): log 2 - log(3) / 2.
  const std::vector<float> p = {0, 0};
  const std::vector<float> q = {0, std::log(3.0F)};
  EXPECT_NEAR(kl_divergence(p, q), std::log(2.0) - std::log(3.0) / 2, 1e-7);
  // The other way: 3/4 log(3/2) + 1/4 log(1/2).
  EXPECT_NEAR(kl_divergence(q, p), 0.75 * std::log(1.5) - 0.25 * std::log(2.0), 1e-7);
  EXPECT_EQ(kl_divergence(std::vector<float>{3}, std::vector<float>{-7}), 0);  // one token: always certain
}

TEST(Divergence, KlMatchesThePlainLoop) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<size_t>(2 + random.below(3000));
    const std::vector<float> p = random_logits(n, 0.1 + 10 * random.uniform(), random);
    std::vector<float> q = p;
    const double change = std::pow(10.0, -6 + 7 * random.uniform());  // from 1e-6 to 10
    for (float& x : q) x += static_cast<float>(change * random.gaussian());
    const auto expected = static_cast<double>(plain_kl(p, q));
    ASSERT_NEAR(kl_divergence(p, q), expected, 1e-14 + 1e-11 * expected) << "change " << change;
  }
}

TEST(Divergence, SmallDamageOfALargeVocabularyIsNotLost) {
  Random random(2);
  const std::vector<float> p = random_logits(50000, 2, random);
  for (const double change : {1e-2, 1e-3, 1e-4}) {  // KL is about change^2 / 2
    std::vector<float> q = p;
    for (float& x : q) x += static_cast<float>(change * random.gaussian());
    const auto expected = static_cast<double>(plain_kl(p, q));
    ASSERT_GT(expected, change * change / 4);
    EXPECT_NEAR(kl_divergence(p, q) / expected, 1, 1e-3) << "change " << change;
  }
}

TEST(Divergence, EqualLogitsGiveZeroExactly) {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<float> p = random_logits(2 + random.below(5000), std::pow(10.0, 4 * random.uniform()), random);
    EXPECT_EQ(kl_divergence(p, p), 0.0);
    p[0] = -kInfinity;  // ruled out by both
    EXPECT_EQ(kl_divergence(p, p), 0.0);
  }
}

TEST(Divergence, NeverNegative) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const std::vector<float> p = random_logits(1000, 3, random);
    std::vector<float> q = p;
    for (float& x : q) x += static_cast<float>(1e-7 * random.gaussian());
    EXPECT_GE(kl_divergence(p, q), 0);
    // The same distribution in other numbers: every logit moved alike.
    for (size_t i = 0; i < q.size(); ++i) q[i] = p[i] + 3.3F;
    EXPECT_GE(kl_divergence(p, q), 0);
    EXPECT_LT(kl_divergence(p, q), 1e-12);
  }
}

TEST(Divergence, ExtremeLogits) {
  const std::vector<float> low = {-1e4F, 1e4F, 0};
  const std::vector<float> high = {1e4F, -1e4F, 0};
  EXPECT_DOUBLE_EQ(kl_divergence(low, high), 2e4);
  EXPECT_DOUBLE_EQ(kl_divergence(high, low), 2e4);
  const std::vector<float> flat = {1e4F, 1e4F, 1e4F};
  EXPECT_NEAR(kl_divergence(flat, std::vector<float>{-1e4F, -1e4F, -1e4F}), 0, 1e-11);
  const std::vector<float> largest = {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()};
  EXPECT_EQ(kl_divergence(largest, largest), 0);
  EXPECT_TRUE(std::isfinite(kl_divergence(largest, std::vector<float>{0, 0})));
}

TEST(Divergence, RuledOutTokens) {
  const std::vector<float> all = {0, 0, 0};
  const std::vector<float> without = {0, -kInfinity, 0};
  EXPECT_EQ(kl_divergence(all, without), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(kl_divergence(without, all), std::log(3.0 / 2), 1e-12);
  EXPECT_EQ(kl_divergence(without, without), 0);
  EXPECT_NEAR(kl_divergence(without, std::vector<float>{std::log(3.0F), -kInfinity, 0}),
              std::log(2.0) - std::log(3.0) / 2, 1e-7);
  // Too unlikely for p to be told from ruled out: counts nothing either.
  EXPECT_EQ(kl_divergence(std::vector<float>{0, -1e4F}, std::vector<float>{0, -kInfinity}), 0);
}

TEST(Divergence, NanIsNotTakenForNoDamage) {
  const std::vector<float> good = {1, 2, 3};
  for (size_t i = 0; i < 3; ++i) {
    std::vector<float> bad = good;
    bad[i] = kNan;
    EXPECT_TRUE(std::isnan(kl_divergence(good, bad))) << i;
    EXPECT_TRUE(std::isnan(kl_divergence(bad, good))) << i;
    EXPECT_TRUE(std::isnan(mean_kl(good, bad, 3))) << i;
  }
}

TEST(Divergence, MeanKlIsTheMeanOverTokens) {
  Random random(5);
  constexpr int kVocab = 37;
  for (const size_t n_token : {1, 2, 9}) {
    const std::vector<float> p = random_logits(kVocab * n_token, 2, random);
    const std::vector<float> q = random_logits(kVocab * n_token, 2, random);
    double sum = 0;
    for (size_t t = 0; t < n_token; ++t) {
      sum += kl_divergence(std::span(p).subspan(t * kVocab, kVocab), std::span(q).subspan(t * kVocab, kVocab));
    }
    EXPECT_NEAR(mean_kl(p, q, kVocab), sum / static_cast<double>(n_token), 1e-12);
    EXPECT_EQ(mean_kl(p, p, kVocab), 0);
  }
}

TEST(DivergenceDeathTest, BrokenRequirements) {
  const std::vector<float> three = {1, 2, 3};
  const std::vector<float> two = {1, 2};
  EXPECT_DEATH((void)kl_divergence(three, two), "check failed");
  EXPECT_DEATH((void)kl_divergence({}, {}), "check failed");
  EXPECT_DEATH((void)mean_kl(three, two, 1), "check failed");
  EXPECT_DEATH((void)mean_kl(three, three, 2), "check failed");  // one token and a half
  EXPECT_DEATH((void)mean_kl(three, three, 0), "check failed");
}

TEST(Divergence, LogSoftmax) {
  Random random(6);
  for (const double scale : {0.1, 5.0, 3000.0}) {
    const std::vector<float> logits = random_logits(2000, scale, random);
    const std::vector<float> result = log_softmax(logits);
    const auto expected = log_probabilities(logits);
    ASSERT_EQ(result.size(), logits.size());
    double sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      ASSERT_NEAR(result[i], static_cast<double>(expected[i]), 1e-6 * std::max(1.0, std::abs(double{result[i]})));
      sum += std::exp(static_cast<double>(result[i]));
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_EQ(log_softmax(std::vector<float>{-1e4F}), std::vector<float>{0});
  EXPECT_EQ(log_softmax(std::vector<float>{0, -kInfinity}), (std::vector<float>{0, -kInfinity}));
}

TEST(Divergence, ArgmaxTakesTheLowerOfEqualOnes) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(std::vector<float>{0, 0}), 0);
  EXPECT_EQ(argmax(std::vector<float>{-kInfinity, -1e30F}), 1);
  EXPECT_EQ(argmax(std::vector<float>{5}), 0);
}

TEST(Divergence, TopKByHand) {
  const std::vector<float> logits = {1, 2, 0, 2, 1};
  const auto three = top_k(logits, 3);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[0].first, 1);  // ties to the lower token
  EXPECT_EQ(three[1].first, 3);
  EXPECT_EQ(three[2].first, 0);
  const auto all = top_k(logits, 100);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[3].first, 4);
  EXPECT_EQ(all[4].first, 2);
  EXPECT_TRUE(top_k(logits, 0).empty());
}

TEST(Divergence, TopKMatchesAFullSort) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> logits(1 + random.below(400));
    for (float& x : logits) x = static_cast<float>(random.below(30)) - 15;  // many ties
    std::vector<int32_t> order;
    for (size_t i = 0; i < logits.size(); ++i) order.push_back(static_cast<int32_t>(i));
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    const int k = static_cast<int>(1 + random.below(20));
    const auto top = top_k(logits, k);
    const std::vector<float> log_p = log_softmax(logits);
    ASSERT_EQ(top.size(), std::min(logits.size(), static_cast<size_t>(k)));
    for (size_t i = 0; i < top.size(); ++i) {
      EXPECT_EQ(top[i].first, order[i]);
      EXPECT_EQ(top[i].second, log_p[static_cast<size_t>(top[i].first)]);
    }
    EXPECT_EQ(top[0].first, argmax(logits));
  }
}

}  // namespace
}  // namespace ripplekv
