// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/validation.h"

#include <functional>

namespace ripplekv {
namespace {

using PerSample = std::function<double(size_t sample, size_t layer)>;

std::vector<double> means(const std::vector<int>& layers, std::span<const size_t> samples, const PerSample& value) {
  std::vector<double> result;
  for (int il : layers) {
    double sum = 0;
    for (size_t sample : samples) sum += value(sample, static_cast<size_t>(il));
    result.push_back(sum / static_cast<double>(samples.size()));
  }
  return result;
}

}  // namespace

std::vector<Perturbation> perturbations() {
  return {{"all/row", "all", "row"},
          {"all/head", "all", "head"},
          {"evictable/row", "evictable", "row"},
          {"evictable/head", "evictable", "head"}};
}

std::vector<Correlation> correlate(const std::vector<Profile>& measured, const Profile* given) {
  const Profile& with_damage = measured[0];
  const std::vector<int> layers = with_damage.model.compressible_layers();
  const std::vector<double>& fractions = with_damage.settings.curve_fractions;
  std::vector<std::pair<std::string, PerSample>> signals;
  for (size_t i = 0; i < measured.size(); ++i) {
    signals.emplace_back(perturbations()[i].name, [&measured, i](size_t sample, size_t layer) {
      return mean_of_repeats(measured[i].samples[sample].sensitivity, layer);
    });
  }
  signals.emplace_back("local response", [&](size_t sample, size_t layer) {
    return mean_of_repeats(with_damage.samples[sample].local_response, layer);
  });
  signals.emplace_back("index", [](size_t, size_t layer) { return static_cast<double>(layer); });
  if (given != nullptr) {
    const std::vector<LayerStatistic> sensitivity = sensitivity_of(*given);
    signals.emplace_back("profile", [sensitivity](size_t, size_t layer) { return sensitivity[layer].mean; });
  }
  std::vector<Correlation> correlations;
  for (size_t f = 0; f < fractions.size(); ++f) {
    const PerSample damage = [&](size_t sample, size_t layer) { return with_damage.samples[sample].damage[f][layer]; };
    for (const auto& named : signals) {
      const PerSample& signal = named.second;  // a binding cannot be captured before clang 16
      const auto rho = [&](std::span<const size_t> samples) {
        return spearman(means(layers, samples, signal), means(layers, samples, damage));
      };
      correlations.push_back(
          {named.first, fractions[f], bootstrap(with_damage.samples.size(), rho, /*n_resample=*/1000)});
    }
  }
  return correlations;
}

}  // namespace ripplekv
