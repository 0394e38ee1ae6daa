// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "base/replaceable.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

// What cannot be looked into is not ours to replace, though its folder would let us.
TEST(Replaceable, NotWhatCannotBeRead) {
  const std::string folder = test::temp_dir();
  const std::string path = folder + "/x";
  std::ofstream(path) << "a document";
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const bool is_root = ::geteuid() == 0;  // who may read everything
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const Status status = check_replaceable(path, "ours", "one of ours");
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("/x: cannot be read, expected one of ours"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace ripplekv
