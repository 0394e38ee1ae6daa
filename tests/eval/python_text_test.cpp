// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Text as Python sees it: expected values are Python's own, from its documentation of str and re.
#include "eval/python_text.h"

#include <gtest/gtest.h>

namespace ripplekv {
namespace {

using Words = std::vector<std::string>;

TEST(PythonText, CharactersThereAndBack) {
  const std::string text = "a\u00e9\u4e2d\U0001F642";
  EXPECT_EQ(to_characters(text), U"a\u00e9\u4e2d\U0001F642");
  EXPECT_EQ(to_utf8(to_characters(text)), text);
  EXPECT_EQ(to_characters("a\xFF"
                          "b\xE4\xB8"),
            U"a\uFFFDb\uFFFD");
}

TEST(PythonText, LowerCaseIsUnicodes) {
  EXPECT_EQ(lower(std::string_view("AbC \u00c9\u0416\u0391 \u4e2d 1")), "abc \u00e9\u0436\u03b1 \u4e2d 1");
  EXPECT_EQ(lower(std::string_view("\u0130")), "i\u0307");
}

TEST(PythonText, WordsAreSplitAtUnicodeWhiteSpace) {
  EXPECT_EQ(words_of(" a\tb\u00a0c\u3000d\u2028e\x1c"
                     "f\n"),
            Words({"a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(words_of("a\u200bb"), Words({"a\u200bb"}));  // zero width, but no white space
  EXPECT_EQ(words_of(" \n"), Words());
}

TEST(PythonText, DigitRuns) {
  EXPECT_EQ(digit_runs("a12b3.4"), Words({"12", "3", "4"}));
  EXPECT_EQ(digit_runs("\u0664\u0662 \u00bd \u2460"), Words({"\u0664\u0662"}));  // fractions and circles are no \d
}

TEST(PythonText, WordCharacters) {
  for (const char32_t c : std::u32string_view(U"aZ_9\u00e9中\u00bd\u216b")) {
    EXPECT_TRUE(is_word_character(c)) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : std::u32string_view(U" -.\u0301\u2014\uFFFD")) {
    EXPECT_FALSE(is_word_character(c)) << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace ripplekv
