// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The stop filter against hand-made streams, and against a plain search of the whole text over random cuts.
#include "engine/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace ripplekv {
namespace {

using Strings = std::vector<std::string>;

StopFilter filter_of(Strings stop_strings) { return StopFilter::create(std::move(stop_strings)).value(); }

// What each piece lets out, then what flush lets out, joined by '|'.
std::string trace(StopFilter& filter, const Strings& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += filter.feed(piece) + "|";
  return out + filter.flush();
}

TEST(StopFilter, WithoutStopStringsTextPassesAtOnce) {
  StopFilter filter = filter_of({});
  EXPECT_EQ(trace(filter, {"Hello", "", " world"}), "Hello|| world|");
  EXPECT_FALSE(filter.stopped_by());
}

TEST(StopFilter, StopsInsideAPieceAndDropsTheRest) {
  StopFilter filter = filter_of({"</s>"});
  EXPECT_EQ(trace(filter, {"one</s>two", "three"}), "one||");
  EXPECT_EQ(filter.stopped_by(), "</s>");
}

TEST(StopFilter, StopsWhenSplitOverPieces) {
  StopFilter filter = filter_of({"<|im_end|>"});
  EXPECT_EQ(trace(filter, {"Hi <", "|im", "_end|", ">more"}), "Hi ||||");
  EXPECT_EQ(filter.stopped_by(), "<|im_end|>");
}

TEST(StopFilter, ReleasesAFalseStartAtOnce) {
  StopFilter filter = filter_of({"<end>"});
  EXPECT_EQ(trace(filter, {"a<en", "x<", "<en"}), "a|<enx|<|<en");
  EXPECT_FALSE(filter.stopped_by());
}

TEST(StopFilter, FindsAMatchThatBeginsInsideAFalseStart) {
  StopFilter filter = filter_of({"aab"});
  EXPECT_EQ(trace(filter, {"a", "a", "a", "b"}), "||a||");
  EXPECT_EQ(filter.stopped_by(), "aab");
}

TEST(StopFilter, TheEarliestEndWinsThenTheLongest) {
  StopFilter inner = filter_of({"abcd", "bc"});
  EXPECT_EQ(trace(inner, {"abcd"}), "a|");
  EXPECT_EQ(inner.stopped_by(), "bc");
  StopFilter suffix = filter_of({"c", "bc", "abc"});
  EXPECT_EQ(trace(suffix, {"xabc"}), "x|");
  EXPECT_EQ(suffix.stopped_by(), "abc");
}

TEST(StopFilter, HoldsBackUnfinishedCharacters) {
  StopFilter filter = filter_of({"END"});
  EXPECT_EQ(trace(filter, {"\xF0\x9F", "\x99", "\x82!"}), "||\xF0\x9F\x99\x82!|");
}

TEST(StopFilter, AStopStringMayEndInTheMiddleOfPieceBytes) {
  StopFilter filter = filter_of({"\xE2\x82\xAC"});
  EXPECT_EQ(trace(filter, {"5 \xE2", "\x82", "\xAC rest"}), "5 |||");
  EXPECT_EQ(filter.stopped_by(), "\xE2\x82\xAC");
}

TEST(StopFilter, WhatNeverBecomesACharacterIsReplaced) {
  StopFilter at_end = filter_of({"END"});
  EXPECT_EQ(trace(at_end, {"a\xF0\x9F"}), "a|\xEF\xBF\xBD");
  StopFilter before_stop = filter_of({"END"});
  EXPECT_EQ(trace(before_stop, {"a\xF0\x9F", "END"}), "a|\xEF\xBF\xBD|");
  StopFilter before_text = filter_of({"END"});
  EXPECT_EQ(trace(before_text, {"\xC3", "Ex"}),
            "|\xEF\xBF\xBD"
            "Ex|");
}

TEST(StopFilter, RefusesAnEmptyStopString) {
  const auto filter = StopFilter::create({"a", ""});
  ASSERT_FALSE(filter.ok());
  EXPECT_EQ(filter.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(filter.status().message().find("number 2 of 2"), std::string::npos) << filter.status().message();
}

TEST(StopFilterDeathTest, FeedAfterFlushIsABug) {
  StopFilter filter = filter_of({});
  EXPECT_EQ(filter.flush(), "");
  EXPECT_DEATH((void)filter.feed("x"), "check failed");
}

// The definition, over the whole text: the smallest end, then the longest stop string that ends there.
struct Expected {
  std::string text;
  std::optional<std::string> stopped_by;
};

Expected search(const std::string& text, const Strings& stop_strings) {
  std::string shown = text;
  std::optional<std::string> stopped_by;
  for (size_t end = 1; end <= text.size() && !stopped_by; ++end) {
    for (const std::string& stop : stop_strings) {
      if (stop.size() > end || text.compare(end - stop.size(), stop.size(), stop) != 0) continue;
      if (!stopped_by || stop.size() > stopped_by->size()) stopped_by = stop;
    }
    if (stopped_by) shown = text.substr(0, end - stopped_by->size());
  }
  std::string valid;
  if (append_utf8(shown, valid) < shown.size()) valid += kReplacementCharacter;
  return {valid, stopped_by};
}

void expect_search_result(std::mt19937& rng, const std::string& alphabet, int n_rounds) {
  int n_stopped = 0;
  for (int round = 0; round < n_rounds; ++round) {
    const auto random_text = [&](size_t n) {
      std::string text;
      for (; n > 0; --n) text += alphabet[rng() % alphabet.size()];
      return text;
    };
    Strings stop_strings;
    for (size_t n = rng() % 4; n > 0; --n) stop_strings.push_back(random_text(1 + rng() % 5));
    size_t n_longest = 0;
    for (const std::string& stop : stop_strings) n_longest = std::max(n_longest, stop.size());
    const std::string text = random_text(rng() % 24);

    StopFilter filter = filter_of(stop_strings);
    std::string shown;
    size_t n_fed = 0;
    while (n_fed < text.size()) {
      const size_t n = std::min(text.size() - n_fed, static_cast<size_t>(rng() % 5));
      shown += filter.feed(std::string_view(text).substr(n_fed, n));
      n_fed += n;
      std::string again;
      ASSERT_EQ(append_utf8(shown, again), shown.size()) << "not valid UTF-8 in between";
      ASSERT_EQ(again, shown) << "not valid UTF-8 in between";
      // A replaced byte grows, so this holds for all streams: no more is held back than promised.
      if (!filter.stopped_by()) {
        ASSERT_LE(n_fed, shown.size() + (n_longest > 0 ? n_longest - 1 : 0) + 3);
      }
    }
    shown += filter.flush();
    const Expected expected = search(text, stop_strings);
    ASSERT_EQ(shown, expected.text);
    ASSERT_EQ(filter.stopped_by(), expected.stopped_by);
    n_stopped += filter.stopped_by() ? 1 : 0;
  }
  EXPECT_GT(n_stopped, n_rounds / 20);
  EXPECT_LT(n_stopped, n_rounds * 19 / 20);
}

TEST(StopFilter, AgreesWithASearchOfTheWholeTextHoweverItIsCut) {
  std::mt19937 rng(11);
  expect_search_result(rng, "ab", 4000);
  expect_search_result(rng, "abc", 4000);
  // Stop strings that begin or end inside a character, and bytes that are none.
  expect_search_result(rng, "a\xC3\xA9\xE2\x82\xF0\x9F", 4000);
}

}  // namespace
}  // namespace ripplekv
