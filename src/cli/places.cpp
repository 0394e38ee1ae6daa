// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "profiling/calibration.h"

namespace ripplekv {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<std::string> files_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == extension) paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::string cache_dir() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string own = variable("RIPPLEKV_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/ripplekv";
  return variable("HOME") + "/.cache/ripplekv";
}

Result<std::string> model_path_or_default(const std::string& given) {
  if (!given.empty()) return given;
  const std::string path = cache_dir() + "/models/" + kDefaultModel;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return not_found(
        fmt::format("the default model is not at '{}': name one with -m, or run scripts/fetch_model.sh", path));
  }
  return path;
}

std::string profile_path(const std::string& fingerprint) {
  return cache_dir() + "/profiles/" + fingerprint.substr(fingerprint.find(':') + 1) + ".json";
}

std::vector<std::string> models_in_cache() { return files_in(fs::path(cache_dir()) / "models", ".gguf"); }
std::vector<std::string> profiles_in_cache() { return files_in(fs::path(cache_dir()) / "profiles", ".json"); }

Status prepare_output(const std::string& path) {
  if (fs::path(path).extension() == ".gguf") {
    return invalid_argument(
        fmt::format("output '{}': got the name of a model, expected one that does not end in .gguf", path));
  }
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) return io_error(fmt::format("folder '{}': cannot be made: {}", folder.string(), error.message()));
  return check_can_write(path);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;  // of a file that is not there
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::absolute(a, ignored).lexically_normal() == fs::absolute(b, ignored).lexically_normal();
}

bool is_sample_in(const std::string& path, const std::string& folder) {
  const fs::path file(path);
  return is_taken_from_folder(path) && same_file(file.has_parent_path() ? file.parent_path().string() : ".", folder);
}

}  // namespace ripplekv
