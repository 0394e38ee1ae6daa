// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Where things lie that the user did not name: the cache folder, the default model, profiles by fingerprint. The only
// file that reads the environment (RIPPLEKV_CACHE_DIR, XDG_CACHE_HOME, HOME).
#pragma once

#include <string>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

std::string cache_dir();
// The path given, or the default model's. kNotFound: says how to fetch it.
Result<std::string> model_path_or_default(const std::string& given);
std::string profile_path(const std::string& fingerprint);  // may not be there
std::vector<std::string> models_in_cache();                // paths, sorted
std::vector<std::string> profiles_in_cache();              // paths, sorted

// Before the work for it begins, for every file a user names: makes its folder where it is missing, and checks that the
// file can be written. Errors: a folder, device or pipe stands there, no permission.
Status prepare_output(const std::string& path);

// Whether two paths name one file, be it there or not.
bool same_file(const std::string& a, const std::string& b);

// Whether a folder of samples would have this file among them (profiling/calibration.h).
bool is_sample_in(const std::string& path, const std::string& folder);

}  // namespace ripplekv
