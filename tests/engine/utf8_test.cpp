// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// append_utf8 against hand-made cases and random bytes cut anywhere; one_line against text that attacks a terminal.
#include "engine/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace ripplekv {
namespace {

std::string all_of(std::string_view bytes) {
  std::string out;
  const size_t n_used = append_utf8(bytes, out);
  return out + (n_used < bytes.size() ? "|" + std::to_string(bytes.size() - n_used) : "");
}

TEST(Utf8, KeepsEveryCharacterLength) {
  EXPECT_EQ(all_of(""), "");
  EXPECT_EQ(all_of("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82z"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82z");
  EXPECT_EQ(all_of(std::string_view("\0x", 2)), std::string("\0x", 2));
  EXPECT_EQ(all_of("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"), "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF");
}

TEST(Utf8, LeavesOverAnUnfinishedCharacterAtTheEnd) {
  EXPECT_EQ(all_of("a\xC3"), "a|1");
  EXPECT_EQ(all_of("a\xE2\x82"), "a|2");
  EXPECT_EQ(all_of("a\xF0\x9F\x99"), "a|3");
}

TEST(Utf8, ReplacesWhatIsNoCharacter) {
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(all_of("\x80z"), r + "z");                             // continuation without a lead
  EXPECT_EQ(all_of("\xC0\xAF"), r + r);                            // overlong '/'
  EXPECT_EQ(all_of("\xE0\x80\xAF"), r + r + r);                    // overlong in three bytes
  EXPECT_EQ(all_of("\xED\xA0\x80"), r + r + r);                    // a surrogate
  EXPECT_EQ(all_of("\xF4\x90\x80\x80"), r + r + r + r);            // past U+10FFFF
  EXPECT_EQ(all_of("\xF5\xFF"), r + r);                            // never a byte of UTF-8
  EXPECT_EQ(all_of("\xE2\x82(\xF0\x9F\x99("), r + "(" + r + "(");  // one per longest valid beginning
}

TEST(Utf8, TheCutNeverMatters) {
  std::mt19937 rng(7);
  // Bytes that often belong together: leads, edges of the second byte's ranges, continuations, ASCII.
  const std::string alphabet = "a\x80\x8F\x90\x9F\xA0\xBF\xC2\xE0\xE2\xED\xF0\xF4\xF5";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (size_t n = rng() % 12; n > 0; --n) bytes += alphabet[rng() % alphabet.size()];
    std::string whole;
    const size_t n_whole = append_utf8(bytes, whole);
    std::string pieces;
    std::string held;
    for (const char byte : bytes) {
      held += byte;
      held.erase(0, append_utf8(held, pieces));
      ASSERT_LE(held.size(), 3u);
    }
    ASSERT_EQ(pieces, whole);
    ASSERT_EQ(held.size(), bytes.size() - n_whole);
    std::string again;
    ASSERT_EQ(append_utf8(whole, again), whole.size());
    ASSERT_EQ(again, whole) << "the result is not valid UTF-8";
  }
}

TEST(Utf8, OneLineIsOneShortPrintableLine) {
  EXPECT_EQ(one_line("  two\n\n words\t", 20), "two words");
  EXPECT_EQ(one_line("red \x1B[31m \xC2\x9B"
                     "31m \x7F.",
                     40),
            "red [31m  31m .");
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdefg", 6), "abc...");
  EXPECT_EQ(one_line("ab\xE2\x82\xAC\xE2\x82\xAC", 7), "ab...");  // never half a character
  EXPECT_EQ(one_line("\xFF\xFF", 20), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(one_line("a\xE2\x82", 20), "a\xEF\xBF\xBD");
}

TEST(Utf8, OneLineHoldsItsBoundOnRandomBytes) {
  std::mt19937 rng(8);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (size_t n = rng() % 40; n > 0; --n) bytes += static_cast<char>(rng() % 256);
    const size_t n_bytes_max = 3 + rng() % 30;
    const std::string line = one_line(bytes, n_bytes_max);
    ASSERT_LE(line.size(), n_bytes_max);
    std::string again;
    ASSERT_EQ(append_utf8(line, again), line.size());
    ASSERT_EQ(again, line);
    for (const char c : line) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  }
}

}  // namespace
}  // namespace ripplekv
