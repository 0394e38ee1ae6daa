// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv models: what is found without being named.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "model/gguf_file.h"
#include "ripplekv/profile.h"

namespace ripplekv {

Status cmd_models(const ModelsArgs& args) {
  nlohmann::ordered_json models = nlohmann::json::array();
  nlohmann::ordered_json profiles = nlohmann::json::array();
  for (const std::string& path : models_in_cache()) {
    const auto file = GgufFile::open(path);
    nlohmann::ordered_json entry = {{"path", path}};
    if (file.ok()) {
      entry["architecture"] = (*file)->optional_text("general.architecture").ok()
                                  ? (*file)->optional_text("general.architecture")->value_or("")
                                  : "";
      entry["fingerprint"] = (*file)->fingerprint();
    } else {
      entry["error"] = file.status().message();
    }
    models.push_back(std::move(entry));
  }
  for (const std::string& path : profiles_in_cache()) {
    const auto profile = read_profile(path);
    nlohmann::ordered_json entry = {{"path", path}};
    if (profile.ok()) {
      entry["model"] = profile->model.name;
      entry["fingerprint"] = profile->model.fingerprint;
      entry["samples"] = profile->samples.size();
      entry["complete"] = profile->complete();
    } else {
      entry["error"] = profile.status().message();
    }
    profiles.push_back(std::move(entry));
  }
  if (args.output.json) {
    print("{}\n", json_text({{"models", models}, {"profiles", profiles}}));
    return ok_status();
  }
  print("cache folder  {}\n", cache_dir());
  for (const auto& model : models) {
    print("model         {}\n              {}\n", model["path"].get<std::string>(),
          model.contains("error")
              ? model["error"].get<std::string>()
              : model["architecture"].get<std::string>() + ", " + model["fingerprint"].get<std::string>());
  }
  for (const auto& profile : profiles) {
    print("profile       {}\n              {}\n", profile["path"].get<std::string>(),
          profile.contains("error") ? profile["error"].get<std::string>()
                                    : fmt::format("of {}, {}{}", profile["model"].get<std::string>(),
                                                  counted(profile["samples"].get<size_t>(), "sample"),
                                                  profile["complete"].get<bool>() ? "" : ", unfinished"));
  }
  if (models.empty()) print("no models: scripts/fetch_model.sh fetches the default one\n");
  if (profiles.empty()) print("no profiles: ripplekv profile makes one\n");
  return ok_status();
}

}  // namespace ripplekv
