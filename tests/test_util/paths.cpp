// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/paths.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace ripplekv::test {
namespace {

std::string if_there(const std::string& path) { return std::filesystem::exists(path) ? path : ""; }

struct TempDirs {
  std::vector<std::string> paths;
  ~TempDirs() {
    std::error_code ignored;
    for (const auto& path : paths) std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

std::string program_path() { return RIPPLEKV_PROGRAM; }
std::string source_dir() { return RIPPLEKV_SOURCE_DIR; }
std::string model_path() { return if_there(RIPPLEKV_MODEL); }
std::string gemma_path() { return if_there(RIPPLEKV_GEMMA_MODEL); }
std::string reference_path(const std::string& name) {
  return if_there(std::string(RIPPLEKV_SHARED_DIR) + "/reference/" + name);
}
std::string data_path(const std::string& name) { return if_there(std::string(RIPPLEKV_SHARED_DIR) + "/data/" + name); }

std::string temp_dir() {
  static TempDirs dirs;
  std::string path = (std::filesystem::temp_directory_path() / "ripplekv_test_XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) std::abort();
  dirs.paths.push_back(path);
  return path;
}

}  // namespace ripplekv::test
