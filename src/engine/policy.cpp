// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One branch per allocator; how weights are made is src/allocation's business.
#include "engine/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace ripplekv {
namespace {

Status check_profile(const Profile* profile, const ModelId& model, std::string_view allocator) {
  if (profile == nullptr) {
    return not_found(fmt::format(
        "allocator '{}' needs a profile: make one with 'ripplekv profile', or name it with --profile", allocator));
  }
  RKV_RETURN_IF_ERROR(check_model(profile->model, model, "profile"));
  if (profile->samples.empty())
    return invalid_argument("the profile holds no sample yet; let 'ripplekv profile' finish");
  return ok_status();
}

std::vector<double> means_of(const std::vector<LayerStatistic>& all, const std::vector<int>& layers) {
  std::vector<LayerStatistic> of_layers;
  for (int il : layers) of_layers.push_back(all[static_cast<size_t>(il)]);
  return shrunk_means(of_layers);
}

// One number per compressible layer, whose order decides who gets most.
std::vector<double> signal_of(Signal signal, const Profile& profile, const std::vector<int>& layers) {
  switch (signal) {
    case Signal::kSensitivity:
      return means_of(sensitivity_of(profile), layers);
    case Signal::kLocal:
      return means_of(local_response_of(profile), layers);
    case Signal::kIndex:
      return {layers.begin(), layers.end()};
    case Signal::kRandom:
      break;
  }
  Random random(0);
  std::vector<double> values;
  for (size_t i = 0; i < layers.size(); ++i) values.push_back(random.uniform());
  return values;
}

// The mean fraction of rows that a budget keeps of a prompt: the one at hand, or one as long as those profiled.
Result<double> fraction_of(const Policy& policy, const Profile& profile, size_t n_layer, const PromptShape& prompt) {
  const KvBudget& budget = policy.budget;
  if (budget.kind == KvBudget::Kind::kFraction) return budget.value;
  double n_prompt = static_cast<double>(prompt.n_prompt);
  if (prompt.n_prompt == 0) {
    for (const ProfileSample& sample : profile.samples) n_prompt += static_cast<double>(sample.n_prompt);
    n_prompt /= static_cast<double>(profile.samples.size());
  }
  double rows = budget.value;  // of a layer
  if (budget.kind == KvBudget::Kind::kBytes) {
    if (prompt.layer.head_dim == 0) {
      return invalid_argument(fmt::format(
          "allocator 'curves': got a budget of {} and no model, whose shape says what a row takes, expected one (-m)",
          budget.to_string()));
    }
    rows = budget.value / static_cast<double>(bytes_per_row(prompt.layer, policy.kv_format)) /
           static_cast<double>(n_layer);
  }
  return std::min(1.0, rows / n_prompt);
}

}  // namespace

DamageCurves curves_of(const Profile& profile, const KvFormat& format) {
  const std::vector<int> layers = profile.model.compressible_layers();
  const std::vector<KvFormat> formats = profile.settings.formats_of_curves();
  const auto found = std::find(formats.begin(), formats.end(), format);
  const auto of_format = static_cast<size_t>(found == formats.end() ? 0 : found - formats.begin());
  const std::vector<double>& fractions = profile.settings.curve_fractions;
  DamageCurves curves;
  for (size_t i = 0; i < fractions.size(); ++i) {
    if (fractions[i] >= 1) continue;  // what a format costs while all rows stay
    curves.kept.push_back(fractions[i]);
    curves.damage.push_back(means_of(damage_of(profile, of_format * fractions.size() + i), layers));
  }
  return curves;
}

Result<Budgets> make_budgets(const ModelId& model, const Policy& policy, const Profile* profile,
                             const PromptShape& prompt) {
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
    RKV_RETURN_IF_ERROR(check_profile(profile, model, policy.allocator));
    RKV_ASSIGN_OR_RETURN(budgets.weights, ripple_weights(signal_of(policy.signal, *profile, layers), policy.ripple));
    settings["signal"] = to_string(policy.signal);
    settings["r"] = policy.ripple.r;
    settings["gamma"] = policy.ripple.gamma;
    settings["transform"] = to_string(policy.ripple.transform);
    budgets.profile_hash = hash_of(*profile);
  } else if (policy.allocator == "curves") {
    RKV_RETURN_IF_ERROR(check_profile(profile, model, policy.allocator));
    RKV_ASSIGN_OR_RETURN(const double kept_fraction, fraction_of(policy, *profile, layers.size(), prompt));
    RKV_ASSIGN_OR_RETURN(budgets.weights, curves_weights(curves_of(*profile, policy.kv_format), kept_fraction));
    settings["kept_fraction"] = kept_fraction;
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
