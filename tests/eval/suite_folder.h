// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// For tests of the suites' readers: a folder of files made here.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "eval/suite.h"
#include "test_util/paths.h"

namespace ripplekv::test {

class SuiteFolder {
 public:
  SuiteFolder() : path_(temp_dir()) {}
  const std::string& path() const { return path_; }

  void put(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  Result<std::vector<EvalSample>> read(std::string_view suite, const std::vector<std::string>& tasks = {},
                                       int64_t n_samples = 0) const {
    SuiteOptions options;
    options.data_dir = path_;
    options.tasks = tasks;
    options.n_samples = n_samples;
    return read_suite(suite, options);
  }

  // The message must hold every one of `parts`.
  void expect_refused(std::string_view suite, const std::vector<std::string>& tasks,
                      const std::vector<std::string>& parts) const {
    const auto samples = read(suite, tasks);
    ASSERT_FALSE(samples.ok());
    for (const std::string& part : parts) {
      EXPECT_NE(samples.status().message().find(part), std::string::npos)
          << samples.status().message() << "\nlacks: " << part;
    }
  }

 private:
  std::string path_;
};

}  // namespace ripplekv::test
