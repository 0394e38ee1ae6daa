// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Lines of a file: ends, byte order mark, lengths around the limit and around the size of a piece.
#include "base/line_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "test_util/paths.h"

namespace ripplekv {
namespace {

std::string put(const std::string& text) {
  static int n = 0;
  const std::string path = test::temp_dir() + "/lines" + std::to_string(n++);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::vector<std::string> lines_of(const std::string& text) {
  LineFile file(put(text), 1 << 20);
  std::vector<std::string> lines;
  while (true) {
    const auto line = file.next();
    EXPECT_TRUE(line.ok()) << line.status().message();
    if (!line.ok() || !*line) return lines;
    lines.push_back(**line);
    EXPECT_EQ(file.n_line(), static_cast<int64_t>(lines.size()));
  }
}

TEST(LineFile, EndsAndMark) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines());
  EXPECT_EQ(lines_of("\n"), Lines({""}));
  EXPECT_EQ(lines_of("a\nb"), Lines({"a", "b"}));
  EXPECT_EQ(lines_of("a\n\nb\n"), Lines({"a", "", "b"}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo"), Lines({"one", "\xEF\xBB\xBFtwo"}));
  EXPECT_EQ(lines_of(std::string("a\0b\nc", 5)), Lines({std::string("a\0b", 3), "c"}));
}

TEST(LineFile, LinesLongerThanAPiece) {
  constexpr size_t kPiece = size_t{1} << 16;
  for (const size_t n : {kPiece - 2, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece - 2, 3 * kPiece}) {
    const std::string a(n, 'a');
    const std::string b(n, 'b');
    EXPECT_EQ(lines_of(a + "\n" + b), std::vector<std::string>({a, b})) << n;
    EXPECT_EQ(lines_of(a + "\n" + b + "\n"), std::vector<std::string>({a, b})) << n;
  }
}

TEST(LineFile, ALineThatIsTooLongIsNamed) {
  const std::string path = put("ok\n" + std::string(11, 'x') + "\n");
  LineFile file(path, 10);
  ASSERT_TRUE(file.next().ok());
  EXPECT_EQ(file.where(), path + " line 1");
  const auto line = file.next();
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.status().message(), "too long: got more than 10 bytes, expected at most that in " + path + " line 2");
}

TEST(LineFile, NoFile) {
  EXPECT_EQ(LineFile(test::temp_dir() + "/none", 10).next().status().code(), StatusCode::kIo);
  EXPECT_FALSE(LineFile(test::temp_dir(), 10).next().ok());
}

}  // namespace
}  // namespace ripplekv
