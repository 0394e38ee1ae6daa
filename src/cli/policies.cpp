// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/policies.h"

#include "cli/setup.h"

namespace ripplekv {

Result<const Profile*> Profiles::of(const PolicyArgs& policy, const std::string& fallback) {
  if (!needs_profile(policy.allocator.name)) return nullptr;
  const std::string& path = policy.allocator.profile_file.empty() ? fallback : policy.allocator.profile_file;
  if (!read_.contains(path)) {
    RKV_ASSIGN_OR_RETURN(read_[path], find_profile(path, model_));
  }
  const std::optional<Profile>& profile = read_[path];
  return profile ? &*profile : nullptr;
}

Result<Policy> policy_of(const PolicyArgs& args, const KvFormat& format, const KvBudget& budget) {
  if (args.full) {
    Policy policy;
    policy.allocator = "full";
    policy.kv_format = format;
    return policy;
  }
  KvTypeArgs type = args.type;
  if (!type.k) type.k = format.k;
  if (!type.v) type.v = format.v;
  return make_policy(budget, args.allocator, args.selector, type);
}

}  // namespace ripplekv
