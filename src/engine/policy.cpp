// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One branch per allocator; how weights are made is src/allocation's business.
#include "engine/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ripplekv {

Result<Budgets> make_budgets(const ModelId& model, const Policy& policy, const Profile* profile) {
  Budgets budgets;
  budgets.model = model;
  budgets.allocator = policy.allocator;
  budgets.budget = policy.budget;
  budgets.selector = policy.selector;
  budgets.selector_options = policy.selector_options;
  budgets.kv_format.assign(static_cast<size_t>(model.n_layer), policy.kv_format);
  const std::vector<int> layers = model.compressible_layers();
  const auto n_layer = static_cast<int>(layers.size());
  if (layers.empty())
    return unsupported("every layer of this model has a sliding window: there is nothing to allocate");
  nlohmann::json settings = nlohmann::json::object();
  if (policy.allocator == "uniform") {
    budgets.weights = uniform_weights(n_layer);
  } else if (policy.allocator == "pyramid") {
    PyramidOptions options = policy.pyramid;
    options.window = policy.selector_options.window;
    RKV_ASSIGN_OR_RETURN(budgets.weights, pyramid_weights(n_layer, options));
    settings["beta"] = options.beta;
  } else if (policy.allocator == "ripple") {
    if (profile == nullptr) {
      return not_found(
          "allocator 'ripple' needs a profile: make one with 'ripplekv profile', or name it with --profile");
    }
    RKV_RETURN_IF_ERROR(check_model(profile->model, model, "profile"));
    if (profile->samples.empty())
      return invalid_argument("the profile holds no sample yet; let 'ripplekv profile' finish");
    std::vector<double> sensitivity;
    const std::vector<LayerStatistic> measured = sensitivity_of(*profile);
    for (int il : layers) sensitivity.push_back(measured[static_cast<size_t>(il)].mean);
    RKV_ASSIGN_OR_RETURN(budgets.weights, ripple_weights(sensitivity, policy.ripple));
    settings["r"] = policy.ripple.r;
    settings["gamma"] = policy.ripple.gamma;
    settings["transform"] = to_string(policy.ripple.transform);
    budgets.profile_hash = hash_of(*profile);
  } else {
    std::string known;
    for (const AllocatorInfo& info : allocator_registry())
      known += (known.empty() ? "" : ", ") + std::string(info.name);
    return invalid_argument(fmt::format("allocator '{}' does not exist; there are {}", policy.allocator, known));
  }
  // Layers with a sliding window have no share.
  std::vector<double> shares(static_cast<size_t>(model.n_layer), 0.0);
  for (size_t i = 0; i < layers.size(); ++i) shares[static_cast<size_t>(layers[i])] = budgets.weights.weights[i];
  budgets.weights.weights = std::move(shares);
  budgets.settings = settings.dump();
  return budgets;
}

}  // namespace ripplekv
