// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ROUGE-L and fuzz.ratio against values of rouge 1.0.1 and fuzzywuzzy 0.18.0 over difflib, and by hand.
#include "eval/similarity.h"

#include <gtest/gtest.h>

#include <string>

namespace ripplekv {
namespace {

constexpr double kExact = 1e-12;  // the same operations on the same doubles

double rouge(std::string_view prediction, std::string_view answer) {
  const auto score = rouge_l(prediction, answer);
  EXPECT_TRUE(score.ok());
  return score.ok() ? *score : -1;
}

int ratio(std::string_view a, std::string_view b) {
  const auto score = fuzz_ratio(a, b);
  EXPECT_TRUE(score.ok());
  return score.ok() ? *score : -1;
}

TEST(RougeL, ValuesOfThePackage) {
  EXPECT_NEAR(rouge("The ship left. It was late.", "It was late. The ship had left the quay."), 0.7999999952000001,
              kExact);
  EXPECT_NEAR(rouge("a b c d. c d e f.", "a c d f. b e."), 0.999999995, kExact);  // a union over sentences
  EXPECT_NEAR(rouge("one two three four", "four three two one"), 0.24999999500000009, kExact);
  EXPECT_NEAR(rouge(". a . b", " . b"), 0.4999999950000001, kExact);  // white space alone is a word
}

TEST(RougeL, NoSentenceIsNoScore) {
  EXPECT_EQ(rouge("...", "x"), 0);
  EXPECT_EQ(rouge("", "x"), 0);
  EXPECT_EQ(rouge("x", ""), 0);
}

TEST(RougeL, TextsTooLongAreRefused) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "w" + std::to_string(i % 100) + " ";
  const auto score = rouge_l(text, text);
  ASSERT_FALSE(score.ok());
  EXPECT_EQ(score.status().code(), StatusCode::kResourceExhausted);
}

TEST(FuzzRatio, ByHand) {
  EXPECT_EQ(ratio("abcd", "bcde"), 75);  // 2 * 3 / 8
  EXPECT_EQ(ratio("", ""), 100);
  EXPECT_EQ(ratio("", "x"), 0);
  EXPECT_EQ(ratio("same", "same"), 100);
  EXPECT_EQ(ratio("abc", "xyz"), 0);
  EXPECT_EQ(ratio("\u00e9\u00e8", "\u00e9"), 67);  // characters, not bytes
  EXPECT_EQ(ratio("abcdefgh", "a"), 22);
  EXPECT_EQ(ratio("abcdefghijklmno", "a"), 12);  // 12.5, to even
}

TEST(FuzzRatio, FrequentCharactersStartNoBlockInLongTexts) {
  std::string a;
  std::string b;
  for (int i = 0; i < 60; ++i) a += static_cast<char>('a' + (i * 7) % 26);
  for (int i = 0; i < 20; ++i) a += "ab";
  for (int i = 0; i < 60; ++i) b += "ab";
  for (int i = 0; i < 100; ++i) b += static_cast<char>('a' + i % 26);
  ASSERT_EQ(b.size(), 220U);
  EXPECT_EQ(ratio(a, b), 4);
  EXPECT_EQ(ratio(b, a), 25);
  EXPECT_EQ(ratio(a, b.substr(0, 199)), 27);
}

}  // namespace
}  // namespace ripplekv
