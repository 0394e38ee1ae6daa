// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The budget as text and as rows: accepted forms, refused forms, round trips, and rounding that takes no row.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"
#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

using Kind = KvBudget::Kind;

struct Accepted {
  const char* text;
  Kind kind;
  double value;
  const char* canonical;
};

TEST(KvBudget, AcceptedForms) {
  const Accepted cases[] = {
      {"10%", Kind::kFraction, 0.1, "10%"},
      {"0.5%", Kind::kFraction, 0.005, "0.5%"},
      {"100%", Kind::kFraction, 1, "100%"},
      {"100.0%", Kind::kFraction, 1, "100%"},
      {".5%", Kind::kFraction, 0.005, "0.5%"},
      {"5.%", Kind::kFraction, 0.05, "5%"},
      {"12.5%", Kind::kFraction, 0.125, "12.5%"},
      {"29%", Kind::kFraction, 0.29, "29%"},
      {"0.00001%", Kind::kFraction, 1e-7, "0.00001%"},
      {"1", Kind::kRowsPerLayer, 1, "1"},
      {"512", Kind::kRowsPerLayer, 512, "512"},
      {"0512", Kind::kRowsPerLayer, 512, "512"},
      {"512.5", Kind::kRowsPerLayer, 512.5, "512.5"},
      {"8k", Kind::kRowsPerLayer, 8192, "8192"},
      {"8K", Kind::kRowsPerLayer, 8192, "8192"},
      {"1.5k", Kind::kRowsPerLayer, 1536, "1536"},
      {"1m", Kind::kRowsPerLayer, 1048576, "1048576"},
      {"1g", Kind::kRowsPerLayer, 1073741824, "1073741824"},
      {"256MiB", Kind::kBytes, 268435456, "256MiB"},
      {"256mib", Kind::kBytes, 268435456, "256MiB"},
      {"2GiB", Kind::kBytes, 2147483648, "2GiB"},
      {"1024MiB", Kind::kBytes, 1073741824, "1GiB"},
      {"0.5GiB", Kind::kBytes, 536870912, "512MiB"},
      {"100MB", Kind::kBytes, 1e8, "100MB"},
      {"2gb", Kind::kBytes, 2e9, "2GB"},
      {"8kb", Kind::kBytes, 8000, "8KB"},
      {"8KiB", Kind::kBytes, 8192, "8KiB"},
      {"4095B", Kind::kBytes, 4095, "4095B"},
      {"1b", Kind::kBytes, 1, "1B"},
  };
  for (const Accepted& c : cases) {
    const auto budget = parse_kv_budget(c.text);
    ASSERT_TRUE(budget.ok()) << c.text << ": " << budget.status().message();
    EXPECT_EQ(budget->kind, c.kind) << c.text;
    EXPECT_EQ(budget->value, c.value) << c.text;
    EXPECT_EQ(budget->to_string(), c.canonical);
  }
}

TEST(KvBudget, RefusedFormsShowWhatIsAccepted) {
  const std::string cases[] = {
      "",
      " ",
      "%",
      "k",
      "MiB",
      "abc",
      "10 %",
      " 10%",
      "10% ",
      "10%%",
      "10%k",
      "-10%",
      "+10%",
      "0%",
      "0.0%",
      "100.01%",
      "150%",
      "1000%",
      "0",
      "0.5",
      "0k",
      "-512",
      "+512",
      "5e3",
      "1e2%",
      "0x10",
      "0x1p4",
      "nan",
      "NaN",
      "inf",
      "inf%",
      "infinity",
      "nan%",
      "1.2.3",
      ".",
      "..",
      "1,000",
      "512 ",
      "512rows",
      "512\n",
      "8kk",
      "8ki",
      "8t",
      "256 MiB",
      "256MiBs",
      "256Mi",
      "0MiB",
      "0.4B",
      "0.0001KB",
      "-1GB",
      "١٠%",
      "10％",
      std::string("10%\0", 4),
      std::string("\0", 1),
      std::string(400, '9'),
      std::string(400, '9') + "%",
      std::string(305, '9') + "GiB",
      std::string(305, '9') + "g",
      std::string(309, '9'),
      "0." + std::string(322, '0') + "5%",  // a hundredth of it is no number any more
      "0." + std::string(400, '0') + "1%",
  };
  for (const std::string& text : cases) {
    const auto budget = parse_kv_budget(text);
    ASSERT_FALSE(budget.ok()) << text;
    EXPECT_EQ(budget.status().code(), StatusCode::kInvalidArgument);
    const std::string& message = budget.status().message();
    EXPECT_EQ(message.rfind("kv budget: got '", 0), 0u) << message;
    for (const char* form : {"10%", "512", "8k", "256MiB"}) {
      EXPECT_NE(message.find(form), std::string::npos) << message;
    }
  }
}

// A view that is not followed by a terminating 0, as when it is cut out of a longer line.
TEST(KvBudget, ReadsNothingBehindTheView) {
  const auto budget = parse_kv_budget(std::string_view("51299%").substr(0, 3));
  ASSERT_TRUE(budget.ok());
  EXPECT_EQ(budget->kind, Kind::kRowsPerLayer);
  EXPECT_EQ(budget->value, 512);
}

TEST(KvBudget, TextParsesBackToTheSameBudget) {
  Random random(21);
  for (int repeat = 0; repeat < 20000; ++repeat) {
    KvBudget budget;
    budget.kind = static_cast<Kind>(random.below(3));
    if (budget.kind == Kind::kFraction) {
      budget.value = repeat % 2 ? 1 - random.uniform() : std::exp(-700 * random.uniform());
    } else {
      budget.value = std::exp(700 * random.uniform());
      if (repeat % 2) budget.value = std::ceil(budget.value);
    }
    const auto parsed = parse_kv_budget(budget.to_string());
    ASSERT_TRUE(parsed.ok()) << budget.to_string();
    ASSERT_EQ(parsed->kind, budget.kind) << budget.to_string();
    ASSERT_EQ(parsed->value, budget.value) << budget.to_string();
  }
  for (double value :
       {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(), std::nextafter(1.0, 0.0)}) {
    EXPECT_EQ(parse_kv_budget(KvBudget{Kind::kFraction, value}.to_string())->value, value);
  }
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(parse_kv_budget(KvBudget{Kind::kRowsPerLayer, most}.to_string())->value, most);
  EXPECT_EQ(parse_kv_budget(KvBudget{Kind::kBytes, most}.to_string())->value, most);
}

TEST(TotalRows, WorkedExamples) {
  EXPECT_EQ(total_rows({Kind::kFraction, 0.1}, 2048, 30, 512), 6144);
  EXPECT_EQ(total_rows({Kind::kFraction, 0.1}, 2049, 1, 512), 204);
  EXPECT_EQ(total_rows({Kind::kRowsPerLayer, 512}, 2048, 30, 512), 15360);
  EXPECT_EQ(total_rows({Kind::kRowsPerLayer, 512.5}, 2048, 3, 512), 1537);
  EXPECT_EQ(total_rows({Kind::kBytes, 10000}, 2048, 30, 384), 26);
  EXPECT_EQ(total_rows({Kind::kBytes, 384}, 2048, 30, 384), 1);
  EXPECT_EQ(total_rows({Kind::kBytes, 383}, 2048, 30, 384), 0);
}

TEST(TotalRows, NeverMoreThanTheWholeCache) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(total_rows({Kind::kFraction, 1}, 2048, 30, 512), 61440);
  EXPECT_EQ(total_rows({Kind::kRowsPerLayer, 2049}, 2048, 30, 512), 61440);
  EXPECT_EQ(total_rows({Kind::kRowsPerLayer, most}, 2048, 30, 512), 61440);
  EXPECT_EQ(total_rows({Kind::kBytes, most}, 2048, 30, 0.001), 61440);
  EXPECT_EQ(total_rows({Kind::kFraction, 0.5}, 0, 30, 512), 0);
  EXPECT_EQ(total_rows({Kind::kFraction, 0.5}, 100, 0, 512), 0);
}

// Per cent of multiples of 100 are whole numbers on paper; in doubles 0.29 * 100 is 28.999999999999996.
TEST(TotalRows, RoundingErrorTakesNoRow) {
  for (int64_t percent = 1; percent <= 100; ++percent) {
    const auto budget = parse_kv_budget(std::to_string(percent) + "%");
    ASSERT_TRUE(budget.ok());
    for (int64_t hundreds : {1, 2, 7, 41, 100000}) {
      for (int n_layer : {1, 3, 28, 200}) {
        EXPECT_EQ(total_rows(*budget, hundreds * 100, n_layer, 1), percent * hundreds * n_layer);
      }
    }
  }
}

TEST(TotalRows, LongestPromptDoesNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(total_rows({Kind::kFraction, 1}, kMost, 100000, 1), kMost * 100000);
  EXPECT_EQ(total_rows({Kind::kFraction, 0.5}, 10'000'000, 200, 1), 1'000'000'000);
}

}  // namespace
}  // namespace ripplekv
