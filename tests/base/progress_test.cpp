// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The progress line on a file that plays the terminal, with a clock that the test turns.
#include "base/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

namespace ripplekv {
namespace {

const std::string kErase = "\r\033[K";

class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(file_); }

  ProgressOutput output(bool is_terminal = true) {
    return {file_, is_terminal, [this] { return now_; }};
  }
  // What was written since the last call.
  std::string written() {
    std::fflush(file_);
    std::fseek(file_, read_, SEEK_SET);
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    read_ += static_cast<long>(text.size());
    std::fseek(file_, 0, SEEK_END);
    return text;
  }

  std::FILE* file_ = std::tmpfile();
  double now_ = 100;
  long read_ = 0;
};

TEST_F(ProgressTest, SilentInTheFirstSecondThenPercentAndEta) {
  {
    Progress progress("profiling", 200, 0, output());
    now_ = 100.9;
    progress.update(10);
    EXPECT_EQ(written(), "");
    now_ = 102;
    progress.update(20);
    EXPECT_EQ(written(), kErase + "profiling  10%  ETA 18s");
    now_ = 110;
    progress.update(200);
    EXPECT_EQ(written(), kErase + "profiling 100%");
  }
  EXPECT_EQ(written(), kErase);
}

TEST_F(ProgressTest, QuickWorkLeavesNoTrace) {
  {
    Progress progress("quick", 10, 0, output());
    for (int i = 0; i <= 10; ++i) {
      now_ += 0.09;
      progress.update(i);
    }
  }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, SilentUnlessATerminal) {
  {
    Progress progress("piped", 10, 0, output(false));
    now_ += 60;
    progress.update(5);
  }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, AtMostTenTimesASecond) {
  Progress progress("busy", 100000, 0, output());
  now_ += 2;
  int lines = 0;
  for (int i = 0; i < 10000; ++i) {  // ten seconds
    now_ += 0.001;
    progress.update(i);
    lines += written().empty() ? 0 : 1;
  }
  EXPECT_GE(lines, 90);
  EXPECT_LE(lines, 101);
}

TEST_F(ProgressTest, FinishErasesOnceAndEndsIt) {
  Progress progress("x", 10, 0, output());
  now_ += 2;
  progress.update(1);
  EXPECT_NE(written(), "");
  progress.finish();
  EXPECT_EQ(written(), kErase);
  now_ += 2;
  progress.update(2);
  progress.finish();
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, EarlierSittingsDoNotCountAsSpeed) {
  Progress progress("resumed", 100, 50, output());
  now_ += 10;
  progress.update(50);
  EXPECT_EQ(written(), kErase + "resumed  50%");  // nothing done yet: no ETA
  now_ += 10;
  progress.update(60);
  EXPECT_EQ(written(), kErase + "resumed  60%  ETA 1m 20s");
}

TEST_F(ProgressTest, UnknownTotalAndOddNumbers) {
  Progress unknown("reading", 0, 0, output());
  now_ += 75;
  unknown.update(7);
  EXPECT_EQ(written(), kErase + "reading  7  1m 15s");
  Progress odd("odd", 10, 0, output());
  now_ += 2;
  odd.update(-5);
  EXPECT_EQ(written(), kErase + "odd   0%");
  now_ += 2;
  odd.update(1000);
  EXPECT_EQ(written(), kErase + "odd 100%");
  Progress extreme("extreme", std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), output());
  now_ += 2;
  extreme.update(std::numeric_limits<int64_t>::max() - 1);
  EXPECT_NE(written(), "");
}

TEST_F(ProgressTest, ALineFitsEightyColumnsAndIsPlainText) {
  Progress progress("bad\n\033[2J\xC3 " + std::string(500, 'x'), 1000000, 0, output());
  now_ += 2000;
  progress.update(1);
  EXPECT_EQ(written(), kErase + "bad [2J\xEF\xBF\xBD " + std::string(30, 'x') + "...   0%  ETA 23148d 03h");
  Progress cut(std::string(43, 'x') + "\xC3\xBC", 1000000, 0, output());
  now_ += 2000;
  cut.update(1);
  const std::string line = written().substr(kErase.size());
  EXPECT_EQ(line.substr(0, 49), std::string(41, 'x') + "...   0%");
  EXPECT_LT(line.size(), 80u);
}

TEST_F(ProgressTest, NeverThrows) {
  Progress broken_clock("clock", 10, 0, {file_, true, []() -> double { throw std::runtime_error("no clock"); }});
  broken_clock.update(5);
  Progress no_clock("none", 10, 0, {file_, true, nullptr});
  no_clock.update(5);
  Progress no_file("none", 10, 0, {nullptr, true, [] { return 0.0; }});
  no_file.update(5);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"), &std::fclose);
  if (full != nullptr) {
    Progress no_space("full", 10, 0, {full.get(), true, [this] { return now_; }});
    now_ += 2;
    no_space.update(5);
  }
  EXPECT_EQ(written(), "");
}

TEST(ProgressOutputTest, TheDefaultGoesToStderr) {
  const ProgressOutput output = stderr_progress();
  EXPECT_EQ(output.file, stderr);
  const double before = output.seconds();
  EXPECT_LE(before, output.seconds());
}

}  // namespace
}  // namespace ripplekv
