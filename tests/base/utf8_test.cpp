// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// UTF-8 against an independent decoder, hand-made cases and random bytes cut anywhere; printable and one_line against
// text that attacks a terminal.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace ripplekv {
namespace {

using namespace std::string_literals;

std::string encoded(uint32_t code) {
  std::string out;
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 63));
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
  return out;
}

TEST(Utf8, EveryCodePointIsValidAndSurrogatesAreNot) {
  for (uint32_t code = 0; code <= 0x110010; ++code) {
    const bool expected = code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
    ASSERT_EQ(valid_utf8(encoded(code)), expected) << std::hex << code;
  }
}

TEST(Utf8, InvalidSequencesAreNamedByTheirFirstByte) {
  const std::vector<std::pair<std::string, std::optional<size_t>>> cases = {
      {"", std::nullopt},
      {"plain", std::nullopt},
      {"a\0b"s, std::nullopt},
      {"gr\xC3\xBC\xC3\x9F", std::nullopt},
      {"\x80", 0},                       // a continuation alone
      {"ab\xC3", 2},                     // cut
      {"ab\xE2\x82", 2},                 // cut
      {"ab\xF0\x9F\x98", 2},             // cut
      {"\xC0\x80", 0},                   // overlong zero
      {"\xC1\xBF", 0},                   // overlong
      {"\xE0\x9F\xBF", 0},               // overlong
      {"\xF0\x8F\xBF\xBF", 0},           // overlong
      {"\xF4\x90\x80\x80", 0},           // above U+10FFFF
      {"\xF5\x80\x80\x80", 0},           // never
      {"\xED\xA0\x80", 0},               // surrogate
      {"\xFF", 0},                       // never
      {"\xE2\x28\xA1", 0},               // second byte
      {"ok \xE2\x82\xAC \xE2\x82x", 7},  // third byte, after a good one
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(first_invalid_utf8(text), expected) << ripplekv::quoted(text);
    EXPECT_EQ(valid_utf8(text), !expected) << ripplekv::quoted(text);
  }
}

// Independent oracle: decode by the leading byte's length, then demand that encoding gives the same bytes back.
bool oracle_valid(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 63);
    if (encoded(code) != text.substr(i, length) || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += length;
  }
  return true;
}

TEST(Utf8, AgreesWithADecoderOnRandomBytes) {
  Random random(1);
  constexpr std::array<unsigned char, 16> kEdges = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                                    0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4};
  int n_valid = 0;
  for (int i = 0; i < 300000; ++i) {
    std::string text(1 + random.below(5), '\0');
    for (char& c : text) {
      c = static_cast<char>(random.below(2) == 0 ? kEdges[random.below(kEdges.size())] : random.below(256));
    }
    ASSERT_EQ(valid_utf8(text), oracle_valid(text)) << ripplekv::quoted(text);
    n_valid += valid_utf8(text) ? 1 : 0;
  }
  EXPECT_GT(n_valid, 1000);
}

std::string all_of(std::string_view bytes) {
  std::string out;
  const size_t n_used = append_utf8(bytes, out);
  return out + (n_used < bytes.size() ? "|" + std::to_string(bytes.size() - n_used) : "");
}

// Fewer than `n_max` bytes that often belong together: leads, edges of the second byte's ranges, continuations, ASCII.
std::string likely_bytes(std::mt19937& rng, size_t n_max) {
  constexpr std::string_view kAlphabet = "a\x80\x8F\x90\x9F\xA0\xBF\xC2\xE0\xE2\xED\xF0\xF4\xF5";
  std::string bytes;
  for (size_t n = rng() % n_max; n > 0; --n) bytes += kAlphabet[rng() % kAlphabet.size()];
  return bytes;
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
  for (int round = 0; round < 2000; ++round) {
    const std::string bytes = likely_bytes(rng, 12);
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

// Two ways to the same decision: what first_invalid_utf8 takes, append_utf8 leaves as it is, and nothing else.
TEST(Utf8, ReplacingAndFindingFaultsAgree) {
  std::mt19937 rng(9);
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = likely_bytes(rng, 8);
    std::string out;
    const bool same = append_utf8(bytes, out) == bytes.size() && out == bytes;
    ASSERT_EQ(valid_utf8(bytes), same) << ripplekv::quoted(bytes);
    const size_t n_first = utf8_length(bytes);
    ASSERT_EQ(n_first > 0, !bytes.empty() && first_invalid_utf8(bytes) != 0) << ripplekv::quoted(bytes);
    ASSERT_TRUE(valid_utf8(bytes.substr(0, n_first)));
  }
}

TEST(Utf8, LengthOfTheFirstCharacter) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length("\0"s), 1u);
  EXPECT_EQ(utf8_length("ab"), 1u);
  EXPECT_EQ(utf8_length("\xC3\xA9z"), 2u);
  EXPECT_EQ(utf8_length("\xE2\x82\xACz"), 3u);
  EXPECT_EQ(utf8_length("\xF0\x9F\x99\x82z"), 4u);
  EXPECT_EQ(utf8_length("\xE2\x82"), 0u);
  EXPECT_EQ(utf8_length("\x80z"), 0u);
}

TEST(Utf8, ControlCharacters) {
  for (uint32_t code = 0; code < 0x3000; ++code) {
    EXPECT_EQ(is_control(encoded(code)), code < 0x20 || (code >= 0x7F && code < 0xA0)) << code;
  }
}

TEST(Utf8, PrintableKeepsEverythingElse) {
  EXPECT_EQ(printable("a\nb\tc\r\x7F"
                      "d"),
            "a b c  d");
  EXPECT_EQ(printable("  two  spaces  "), "  two  spaces  ");  // of a file's name, say
  EXPECT_EQ(printable("\xE2\x82\xAC\xC2\xA0"), "\xE2\x82\xAC\xC2\xA0");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m\x1B[0m"),
            " 31m [0m");
  EXPECT_EQ(printable("\x9B"
                      "31m\xE2\x82"),
            "\xEF\xBF\xBD"
            "31m\xEF\xBF\xBD");
}

TEST(Utf8, OneLineIsOneShortPrintableLine) {
  EXPECT_EQ(one_line("  two\n\n words\t", 20), "two words");
  EXPECT_EQ(one_line("red \x1B[31m \xC2\x9B"
                     "31m \x7F.",
                     40),
            "red [31m 31m .");
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
    ASSERT_EQ(line.find("  "), std::string::npos);
  }
}

}  // namespace
}  // namespace ripplekv
