// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Text: parsers against tables of good and bad input, UTF-8 against an independent decoder, words for people.
#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

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

TEST(Quoted, ShowsWhatATerminalShouldNotGet) {
  EXPECT_EQ(ripplekv::quoted("plain"), "'plain'");
  EXPECT_EQ(ripplekv::quoted("a\nb\x1b[2J"), "'a\\x0ab\\x1b[2J'");
  EXPECT_EQ(ripplekv::quoted("\xFF\xC3\xBC"), "'\\xff\xC3\xBC'");
  EXPECT_EQ(ripplekv::quoted("a\0b"s), "'a\\x00b'");
  EXPECT_EQ(ripplekv::quoted(std::string(64, 'x')), "'" + std::string(64, 'x') + "'");
  EXPECT_EQ(ripplekv::quoted(std::string(65, 'x')), "'" + std::string(64, 'x') + "...'");
  // 63 bytes and a character of two: cut before it, never inside.
  EXPECT_EQ(ripplekv::quoted(std::string(63, 'x') + "\xC3\xBC"), "'" + std::string(63, 'x') + "...'");
}

TEST(ParseInt64, Table) {
  EXPECT_EQ(*parse_int64("0"), 0);
  EXPECT_EQ(*parse_int64("-42"), -42);
  EXPECT_EQ(*parse_int64("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*parse_int64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  for (const std::string& bad : {""s, " 1"s, "1 "s, "+1"s, "1.0"s, "0x10"s, "1e3"s, "ten"s, "-"s, "1\0"s,
                                 "9223372036854775808"s, "-9223372036854775809"s}) {
    const auto result = parse_int64(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(result.status().message().find("got " + ripplekv::quoted(bad)), std::string::npos)
        << result.status().message();
  }
}

TEST(ParseDouble, Table) {
  EXPECT_EQ(*parse_double("0.1"), 0.1);
  EXPECT_EQ(*parse_double("-2e-3"), -0.002);
  EXPECT_EQ(*parse_double("1.7976931348623157e308"), std::numeric_limits<double>::max());
  for (const std::string& bad : {""s, "nan"s, "inf"s, "-inf"s, "infinity"s, "1e999"s, "1e-999"s, "0x1p3"s, "1,5"s,
                                 " 1"s, "1 "s, "+1"s, "1.2.3"s, "."s, "e5"s, "1\0"s}) {
    EXPECT_FALSE(parse_double(bad).ok()) << bad;
  }
}

TEST(ParseSize, Table) {
  const std::vector<std::pair<std::string, int64_t>> good = {
      {"0", 0},
      {"512", 512},
      {"8k", 8192},
      {"8K", 8192},
      {"2m", 2 << 20},
      {"1g", 1 << 30},
      {"1t", int64_t{1} << 40},
      {"3KiB", 3072},
      {"2GiB", int64_t{2} << 30},
      {"2gib", int64_t{2} << 30},
      {"100MB", 100000000},
      {"7kB", 7000},
      {"1GB", 1000000000},
      {"2TB", 2000000000000},
      {"1.5GiB", 1610612736},
      {"0.1k", 102},
      {".5k", 512},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"9007199254740993", 9007199254740993},  // not a double: whole numbers must not go through one
      {"8388607t", int64_t{8388607} << 40},
  };
  for (const auto& [text, expected] : good) {
    const auto result = parse_size(text);
    ASSERT_TRUE(result.ok()) << text << ": " << result.status().message();
    EXPECT_EQ(*result, expected) << text;
  }
  for (const std::string& bad : {""s,         "k"s,           "-1"s,
                                 "-1k"s,      "+1"s,          "1 k"s,
                                 " 1k"s,      "1k "s,         "1x"s,
                                 "1kk"s,      "1KiBs"s,       "1e3"s,
                                 "1.5"s,      "1..5k"s,       ".k"s,
                                 "."s,        "0x10"s,        "nan"s,
                                 "inf"s,      "1k\0"s,        "9223372036854775808"s,
                                 "8388608t"s, "99999999.9t"s, std::string(1000, '9')}) {
    const auto result = parse_size(bad);
    EXPECT_FALSE(result.ok()) << bad;
    EXPECT_LT(result.status().message().size(), 200u);
  }
}

TEST(ParseFractionList, Table) {
  EXPECT_EQ(*parse_fraction_list("5%,10%,0.2"), (std::vector<double>{0.05, 0.1, 0.2}));
  EXPECT_EQ(*parse_fraction_list(" 20% , 1 "), (std::vector<double>{0.2, 1.0}));
  EXPECT_EQ(*parse_fraction_list("100%"), (std::vector<double>{1.0}));
  EXPECT_EQ(*parse_fraction_list("0.5%"), (std::vector<double>{0.005}));
  for (const std::string& bad : {""s, ","s, "5%,"s, ",5%"s, "5%,,10%"s, "0"s, "0%"s, "-5%"s, "101%"s, "1.1"s, "5%%"s,
                                 "%"s, "nan"s, "nan%"s, "inf%"s, "5 %"s, "five"s, "5%;10%"s, "0.05,5%"s}) {
    EXPECT_FALSE(parse_fraction_list(bad).ok()) << bad;
  }
  EXPECT_NE(parse_fraction_list("5%,120%").status().message().find("'120%'"), std::string::npos);
}

TEST(NearestName, FindsTypingErrorsAndNothingElse) {
  constexpr std::array<std::string_view, 6> kNames = {"snapkv", "h2o", "tova", "streaming_llm", "knorm", "random"};
  EXPECT_EQ(nearest_name(kNames, "snapkv"), "snapkv");
  EXPECT_EQ(nearest_name(kNames, "SnapKV"), "snapkv");
  EXPECT_EQ(nearest_name(kNames, "snpakv"), "snapkv");   // a swap is one edit
  EXPECT_EQ(nearest_name(kNames, "sanp"), "");           // a swap and two missing letters
  EXPECT_EQ(nearest_name(kNames, "snapk"), "snapkv");    // missing
  EXPECT_EQ(nearest_name(kNames, "snappkv"), "snapkv");  // added
  EXPECT_EQ(nearest_name(kNames, "h20"), "h2o");         // substituted
  EXPECT_EQ(nearest_name(kNames, "hoo"), "h2o");
  EXPECT_EQ(nearest_name(kNames, "oo"), "");  // two edits of three letters
  EXPECT_EQ(nearest_name(kNames, "streamingllm"), "streaming_llm");
  EXPECT_EQ(nearest_name(kNames, "pyramid"), "");
  EXPECT_EQ(nearest_name(kNames, ""), "");
  EXPECT_EQ(nearest_name(kNames, std::string(10000000, 's')), "");
  EXPECT_EQ(nearest_name({}, "snapkv"), "");
  constexpr std::array<std::string_view, 2> kTie = {"bat", "cat"};
  EXPECT_EQ(nearest_name(kTie, "rat"), "bat");
}

TEST(Human, Bytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(12897485), "12.3 MiB");
  EXPECT_EQ(human_bytes((1 << 20) - 1), "1.0 MiB");  // not "1024.0 KiB"
  EXPECT_EQ(human_bytes(int64_t{3} << 40), "3.0 TiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<int64_t>::max()), "8.0 EiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<int64_t>::min()), "-8.0 EiB");
  EXPECT_EQ(human_bytes(-2048), "-2.0 KiB");
}

TEST(Human, Duration) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0, "0ms"},         {0.0354, "35ms"}, {0.9996, "1.0s"}, {4.21, "4.2s"},      {9.949, "9.9s"},  {9.96, "10s"},
      {59.4, "59s"},      {59.6, "1m 00s"}, {83, "1m 23s"},   {3599.7, "1h 00m"},  {7500, "2h 05m"}, {86400, "1d 00h"},
      {273600, "3d 04h"}, {-1, "?"},        {1e300, "?"},     {std::nan(""), "?"}, {INFINITY, "?"}};
  for (const auto& [seconds, expected] : cases) EXPECT_EQ(human_duration(seconds), expected) << seconds;
}

}  // namespace
}  // namespace ripplekv
