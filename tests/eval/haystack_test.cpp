// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Haystacks, names, and the search for a length.
#include "eval/haystack.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ripplekv {
namespace {

TEST(Haystack, SentencesStandAtTheirDepth) {
  const Haystack haystack = {"One. Two. Three.", {0, 4, 9, 16}};
  const auto with = [&](int64_t n_unit, double depth) { return with_sentences(haystack, n_unit, {"N."}, {depth}); };
  EXPECT_EQ(with(3, 0), "N.\nOne. Two. Three.");
  EXPECT_EQ(with(3, 0.25), "One. N. Two. Three.");
  EXPECT_EQ(with(3, 0.5), "One. Two. N. Three.");
  EXPECT_EQ(with(3, 1), "One. Two. Three. N.");
  EXPECT_EQ(with(1, 1), "One. N.");
  EXPECT_EQ(with_sentences(haystack, 2, {"B.", "A.", "C."}, {1, 0, 1}), "A.\nOne. Two. B. C.");
}

TEST(Haystack, ProseHasPlacesBetweenSentences) {
  const Haystack haystack = prose_haystack(3, 20000);
  EXPECT_GE(haystack.text.size(), 20000U);
  EXPECT_GT(haystack.n_unit(), 50);
  EXPECT_TRUE(std::is_sorted(haystack.places.begin(), haystack.places.end()));
  for (size_t i = 1; i + 1 < haystack.places.size(); ++i) {
    EXPECT_EQ(haystack.text.substr(haystack.places[i] - 1, 2), ". ");
  }
  EXPECT_EQ(prose_haystack(3, 20000).text, haystack.text);
  EXPECT_NE(prose_haystack(4, 20000).text, haystack.text);
}

TEST(Names, AreNotDrawnTwice) {
  Names names(1);
  std::set<std::string> drawn;
  for (int i = 0; i < 6000; ++i) EXPECT_TRUE(drawn.insert(names.word()).second);
  const auto n_part = [](const std::string& word) { return 1 + std::count(word.begin(), word.end(), '-'); };
  EXPECT_EQ(n_part(Names(1).word()), 2);
  EXPECT_EQ(n_part(names.word()), 3);                                              // pairs have run short
  for (int i = 0; i < 90; ++i) EXPECT_TRUE(drawn.insert(names.number(2)).second);  // every one there is
  const std::string uuid = names.uuid();
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos);
  EXPECT_EQ(names.letters('A', 5).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos);
}

TEST(Names, ShortWordsAreNoPartsOfOneAnother) {
  Names names(2);
  std::vector<std::string> words(119);
  for (std::string& word : words) word = names.short_word();
  EXPECT_NE(names.short_word().find('-'), std::string::npos);  // three quarters are drawn
  for (const std::string& a : words) {
    EXPECT_GE(a.size(), 5U);
    for (const std::string& b : words) EXPECT_EQ(a.find(b) != std::string::npos, a == b) << a << " " << b;
  }
}

TEST(FitDraft, FillsTheLength) {
  const auto draft = [](int64_t n_unit) { return Draft{std::string(static_cast<size_t>(n_unit) * 7, 'x'), "??", {}}; };
  const auto count = [](std::string_view text) { return static_cast<int64_t>(text.size()); };
  for (const int64_t n_max : {2, 8, 9, 100, 1000, 12345, 100000}) {
    const auto made = fit_draft(draft, 0, 1 << 20, n_max, count);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const int64_t n = count(made->document + made->question);
    EXPECT_LE(n, n_max);
    EXPECT_GT(n, n_max - std::max<int64_t>(7, n_max / 100 + 1)) << n_max;
  }
  const auto short_of = fit_draft(draft, 3, 10, 20, count);
  ASSERT_FALSE(short_of.ok());
  EXPECT_EQ(short_of.status().message(), "too short: got room for 20 tokens, expected at least 23");
  const auto beyond = fit_draft(draft, 0, 10, 1000, count);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.status().message(), "too long: got room for 1000 tokens, expected at most 72");
}

}  // namespace
}  // namespace ripplekv
