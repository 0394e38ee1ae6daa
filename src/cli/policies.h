// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What a list of policies (PolicyArgs) needs before it can be run: the engine's Policy, and the profiles it names.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/args.h"
#include "engine/policy.h"
#include "ripplekv/profile.h"

namespace ripplekv {

// Profiles are read once, however many policies share one. Owns them.
class Profiles {
 public:
  explicit Profiles(const ModelId& model) : model_(model) {}

  // Null where the policy needs none. fallback: the file of policies that name none.
  Result<const Profile*> of(const PolicyArgs& policy, const std::string& fallback);

 private:
  ModelId model_;
  std::map<std::string, std::optional<Profile>> read_;
};

// format: of K and V where the policy names none. "full" has that allocator.
Result<Policy> policy_of(const PolicyArgs& args, const KvFormat& format, const KvBudget& budget);

}  // namespace ripplekv
