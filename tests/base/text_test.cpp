// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Text: parsers against tables of good and bad input, words for people.
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

TEST(Quoted, ShowsWhatATerminalShouldNotGet) {
  EXPECT_EQ(ripplekv::quoted("plain"), "'plain'");
  EXPECT_EQ(ripplekv::quoted("a\nb\x1b[2J"), "'a\\x0ab\\x1b[2J'");
  EXPECT_EQ(ripplekv::quoted("\xC2\x9B[2J"), "'\\xc2\\x9b[2J'");  // one character to a terminal: ESC [
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

TEST(Human, Counts) {
  EXPECT_EQ(counted(0, "sample"), "0 samples");
  EXPECT_EQ(counted(1, "sample"), "1 sample");
  EXPECT_EQ(counted(size_t{12}, "token"), "12 tokens");
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
