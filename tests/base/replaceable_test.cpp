// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/replaceable.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "test_util/paths.h"

namespace ripplekv {
namespace {

TEST(Replaceable, OnlyWhatIsOursNothingOrEmpty) {
  const std::string path = test::temp_dir() + "/x";
  const auto check = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return check_replaceable(path, R"({"format":"ours")", "one of ours");
  };
  EXPECT_TRUE(check_replaceable(path, "ours", "one of ours").ok());
  for (const char* ours : {"", R"({"format":"ours")", "{\n  \"format\": \"ours\",\n \"a\": 1}"}) {
    EXPECT_TRUE(check(ours).ok()) << ours;
  }
  EXPECT_TRUE(check(R"({"format":"ours")" + std::string(1000, 'x')).ok());
  for (const char* other : {"a document", R"({"format":"others"})", R"({"format":"our)", "\n", "{}"}) {
    const Status status = check(other);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << other;
    EXPECT_NE(status.message().find("/x: holds something else than one of ours, expected"), std::string::npos);
  }
}

}  // namespace
}  // namespace ripplekv
