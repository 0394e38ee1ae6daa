// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/apart.h"

#include <gtest/gtest.h>

#include <csignal>
#include <new>
#include <nlohmann/json.hpp>

namespace ripplekv {
namespace {

using nlohmann::json;

TEST(Apart, ReturnsTheValueAndLeavesThisProcessAlone) {
  int touched = 0;
  const auto result = run_apart([&]() -> Result<json> {
    touched = 1;
    return json{{"text", std::string(100000, 'x')}, {"touched", touched}};
  });
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ((*result)["text"].get<std::string>().size(), 100000U);
  EXPECT_EQ((*result)["touched"], 1);
  EXPECT_EQ(touched, 0);
}

TEST(Apart, ErrorsAreTheChilds) {
  const auto result = run_apart([]() -> Result<json> { return unsupported("no such head size \xff"); });
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(result.status().message(), "no such head size \xEF\xBF\xBD");
}

TEST(Apart, ExceptionsAndDeathAreErrors) {
  const auto thrown = run_apart([]() -> Result<json> { throw std::bad_alloc(); });
  EXPECT_EQ(thrown.status().code(), StatusCode::kResourceExhausted);
  const auto killed = run_apart([]() -> Result<json> {
    std::raise(SIGKILL);
    return json();
  });
  EXPECT_EQ(killed.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(killed.status().message().find("signal 9"), std::string::npos);
}

}  // namespace
}  // namespace ripplekv
