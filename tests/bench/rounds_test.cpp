// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/rounds.h"

#include <gtest/gtest.h>

#include <string>

namespace ripplekv {
namespace {

// One of ours and two settings of the peer, of which the second takes twice as long.
class RoundsTest : public ::testing::Test {
 protected:
  Contestant contestant(char name, double seconds, const LlamaSetting* setting = nullptr) {
    return {[this, name, seconds]() -> Result<double> {
              order_ += name;
              return seconds + static_cast<double>(order_.size());  // so that runs differ
            },
            setting};
  }
  std::vector<Contestant> contestants_ = {contestant('a', 10), contestant('b', 20, llama_settings().data()),
                                          contestant('c', 40, &llama_settings()[1])};
  std::string order_;
  int n_run_ = 0;
};

TEST_F(RoundsTest, EachRoundIsWholeWhenItIsSaid) {
  BenchRecord record;
  record.work = "first_token";
  std::vector<BenchRecord> said;
  const Status status = hold_rounds(
      contestants_, 3, [&] { ++n_run_; },
      [&] {
        said.push_back(with_times({record}, contestants_)[0]);
        return ok_status();
      });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(order_, "abcbaab") << "every other round backwards; c is out after the first";
  EXPECT_EQ(n_run_, 9) << "those that are out are counted";
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0].seconds, std::vector<double>{11});
  EXPECT_EQ(said[1].seconds, (std::vector<double>{11, 15}));
  EXPECT_EQ(said[2].peer_seconds, (std::vector<double>{22, 24, 27}));
  EXPECT_EQ(said[2].peer_setting, llama_settings()[0].name);
  EXPECT_EQ(said[2].peer_settings.size(), 2U);
}

TEST_F(RoundsTest, AnErrorEndsThemAtOnce) {
  EXPECT_EQ(hold_rounds(
                contestants_, 3, [&] { ++n_run_; }, [] { return io_error("no space"); })
                .message(),
            "no space");
  EXPECT_EQ(order_, "abc");
  contestants_[1].seconds_of_a_run = []() -> Result<double> { return cancelled("stop"); };
  order_.clear();
  EXPECT_EQ(hold_rounds(
                contestants_, 3, [&] { ++n_run_; }, [] { return ok_status(); })
                .code(),
            StatusCode::kCancelled);
  EXPECT_EQ(order_, "a");
}

}  // namespace
}  // namespace ripplekv
