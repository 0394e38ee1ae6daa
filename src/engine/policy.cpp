// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One branch per allocator; how weights are made is src/allocation's business.
#include "engine/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "allocation/format_choice.h"
#include "allocation/head_hulls.h"
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

// What `what` needs in order to count bytes: rows of a known shape, which this format can hold.
Status check_row_bytes(const ModelId& model, const KvFormat& format, std::string_view what) {
  if (model.layer == LayerShape{}) {
    return invalid_argument(fmt::format(
        "{}: the profile is older than the shape of its model's rows, which bytes depend on, expected a model (-m)",
        what));
  }
  return check_kv_format(format, model.layer.head_dim);
}

// Of the prompt at hand, else the mean of those profiled.
double prompt_length(const Profile& profile, int64_t n_prompt) {
  if (n_prompt > 0) return static_cast<double>(n_prompt);
  double sum = 0;
  for (const ProfileSample& sample : profile.samples) sum += static_cast<double>(sample.n_prompt);
  return sum / static_cast<double>(profile.samples.size());
}

// Of a prompt's rows, what the window of a sliding layer holds.
double window_fraction(const Profile& profile, int64_t n_prompt) {
  const double rows = prompt_length(profile, n_prompt);
  return std::min(static_cast<double>(profile.model.sliding_window), rows) / rows;
}

// The mean fraction of rows that a budget keeps of a prompt: the one at hand, or one as long as those profiled. Bytes
// are the whole cache's: what the windows of sliding layers take is not there to be shared.
Result<double> fraction_of(const Policy& policy, const Profile& profile, const ModelId& model, int64_t n_prompt) {
  const KvBudget& budget = policy.budget;
  if (budget.kind == KvBudget::Kind::kFraction) return budget.value;
  double rows = budget.value;  // of a layer
  if (budget.kind == KvBudget::Kind::kBytes) {
    RKV_RETURN_IF_ERROR(check_row_bytes(model, policy.kv_format, fmt::format("a budget of {}", budget.to_string())));
    const double windows = static_cast<double>(model.sliding_layers.size()) * window_fraction(profile, n_prompt) *
                           prompt_length(profile, n_prompt);
    rows = budget.value / static_cast<double>(bytes_per_row(model.layer, policy.kv_format)) - windows;
    rows = std::max(1.0, rows / static_cast<double>(model.compressible_layers().size()));
  }
  return std::min(1.0, rows / prompt_length(profile, n_prompt));
}

// Its number among those measured, else 0.
size_t measured_format(const Profile& profile, const KvFormat& format) {
  const std::vector<KvFormat> formats = profile.settings.formats_of_curves();
  const auto found = std::find(formats.begin(), formats.end(), format);
  return found == formats.end() ? 0 : static_cast<size_t>(found - formats.begin());
}

// What dropping rows costs layers that share a budget, whose rows are as the full cache's.
DamageCurves curves_unrounded(const Profile& profile, const std::vector<int>& layers, size_t of_format) {
  const std::vector<double>& fractions = profile.settings.curve_fractions;
  DamageCurves curves;
  for (size_t i = 0; i < fractions.size() && fractions[i] < 1; ++i) {
    curves.kept.push_back(fractions[i]);
    curves.damage.push_back(means_of(damage_of(profile, of_format * fractions.size() + i), layers));
  }
  return curves;
}

// The same of format number `of_format`, and what rounding costs them while all rows stay.
struct RoundedCurves {
  std::vector<double> at_full;
  DamageCurves dropping;
};
RoundedCurves curves_of(const Profile& profile, const std::vector<int>& layers, size_t of_format) {
  const std::vector<double>& fractions = profile.settings.curve_fractions;
  RoundedCurves curves = {std::vector<double>(layers.size(), 0.0), curves_unrounded(profile, layers, of_format)};
  if (fractions.empty() || fractions.back() < 1) return curves;
  curves.at_full = means_of(damage_of(profile, (of_format + 1) * fractions.size() - 1), layers);
  const size_t unrounded = measured_format(profile, profile.settings.kv_format);
  if (of_format == unrounded) return curves;
  // Where rounding costs more than dropping, the difference says little: it is no less than with the rows as they are.
  const DamageCurves alone = curves_unrounded(profile, layers, unrounded);
  for (size_t f = 0; f < curves.dropping.damage.size(); ++f) {
    std::vector<double>& damage = curves.dropping.damage[f];
    for (size_t i = 0; i < damage.size(); ++i) damage[i] = std::max(alone.damage[f][i], damage[i] - curves.at_full[i]);
  }
  return curves;
}

// Of the KV heads of layers that share a budget, each compressed alone. Rounding is left out: beside dropping it adds
// up, and is the layer's.
Result<HeadHulls> heads_of(const Profile& profile, const std::vector<int>& layers) {
  if (profile.settings.head_fractions.empty()) {
    return invalid_argument(
        "allocator 'head_curves': the profile holds no damage of KV heads, expected one made with 'profile "
        "--head-curves'");
  }
  const int n_head = profile.model.layer.n_head_kv;
  std::vector<int> heads;
  for (int il : layers) {
    for (int head = 0; head < n_head; ++head) heads.push_back(il * n_head + head);
  }
  DamageCurves curves;
  for (size_t i = 0; i < profile.settings.head_fractions.size(); ++i) {
    curves.kept.push_back(profile.settings.head_fractions[i]);
    curves.damage.push_back(means_of(head_damage_of(profile, i), heads));
  }
  return head_hulls(curves, n_head);
}

// What a layer's rows cost in the eyes of the allocator: by layers, or by their heads.
Result<DamageHulls> hulls_of(const DamageCurves& dropping, const std::optional<HeadHulls>& heads) {
  if (heads) return heads->layers;
  return damage_hulls(dropping);
}

// What format number `of_format` costs the windows of sliding layers, which drop nothing. Empty: not measured.
std::vector<double> window_damage_of(const Profile& profile, size_t of_format) {
  const ProfileSettings& settings = profile.settings;
  const std::vector<int>& layers = profile.model.sliding_layers;
  if (settings.formats_of_curves()[of_format] == settings.kv_format) return std::vector<double>(layers.size(), 0.0);
  if (settings.curve_fractions.empty() || settings.curve_fractions.back() < 1) return {};
  const size_t n_fraction = settings.curve_fractions.size();
  std::vector<double> damage = means_of(damage_of(profile, of_format * n_fraction + n_fraction - 1), layers);
  const bool measured = std::any_of(damage.begin(), damage.end(), [](double nats) { return nats > 0; });
  return measured ? damage : std::vector<double>();
}

// Formats whose whole damage is known, that a layer of this shape can have: what rounding costs while all rows stay was
// measured, or is nothing as the format is the full cache's.
std::vector<size_t> formats_to_choose(const Profile& profile, const LayerShape& shape) {
  const ProfileSettings& settings = profile.settings;
  const bool has_full = !settings.curve_fractions.empty() && settings.curve_fractions.back() >= 1;
  const std::vector<KvFormat> formats = settings.formats_of_curves();
  std::vector<size_t> known;
  for (size_t f = 0; f < formats.size(); ++f) {
    if (!has_full && formats[f] != settings.kv_format) continue;
    if (check_kv_format(formats[f], shape.head_dim).ok()) known.push_back(f);
  }
  return known;
}

// Formats and shares at once; shares are the fractions of rows. The windows of sliding layers are part of the bytes and
// are rounded as the others are, if the profile says what that costs.
Status choose_formats_of(const Policy& policy, const Profile& profile, const ModelId& model, int64_t n_prompt,
                         const std::optional<HeadHulls>& heads, Budgets& budgets, nlohmann::json& settings) {
  const LayerShape& shape = model.layer;
  RKV_RETURN_IF_ERROR(check_row_bytes(model, policy.kv_format, "--kv-type auto"));
  const std::vector<int> sharing = model.compressible_layers();
  const std::vector<int>& sliding = model.sliding_layers;
  const std::vector<size_t> known = formats_to_choose(profile, shape);
  if (known.size() < 2) {
    return invalid_argument(
        "--kv-type auto: the profile's curves hold one kv format that this model's rows can have, expected several and "
        "what each costs while all rows stay: 'ripplekv profile --fresh' measures them");
  }
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(policy.selector, policy.selector_options));
  const double floor = static_cast<double>(selector->protected_rows().count() + budgets.rows_floor_extra);
  const std::vector<KvFormat> formats = profile.settings.formats_of_curves();
  const bool rounds_windows = std::none_of(
      known.begin(), known.end(), [&](size_t f) { return !sliding.empty() && window_damage_of(profile, f).empty(); });
  std::vector<int> layers = sharing;
  std::vector<double> held(layers.size(), 0.0);
  if (rounds_windows) {
    layers.insert(layers.end(), sliding.begin(), sliding.end());
    held.resize(layers.size(), window_fraction(profile, n_prompt));
  }
  std::vector<FormatCurves> curves;
  for (size_t f : known) {
    RoundedCurves of = curves_of(profile, sharing, f);
    RKV_ASSIGN_OR_RETURN(DamageHulls dropping, hulls_of(of.dropping, heads));
    if (rounds_windows) {
      const std::vector<double> windows = window_damage_of(profile, f);
      of.at_full.insert(of.at_full.end(), windows.begin(), windows.end());
      dropping.resize(layers.size(), std::vector<double>(kHullSteps, 0.0));
    }
    curves.push_back(
        {static_cast<double>(bytes_per_row(shape, formats[f])), std::move(of.at_full), std::move(dropping)});
  }
  const double length = prompt_length(profile, n_prompt);
  // Full rows of one layer, in f16: a budget that is no number of bytes is of the layers that share it, and windows in
  // f16 come on top.
  const double windows = static_cast<double>(sliding.size()) * window_fraction(profile, n_prompt);
  double rows = policy.budget.value / length / static_cast<double>(bytes_per_row(shape, policy.kv_format));
  if (policy.budget.kind != KvBudget::Kind::kBytes) {
    RKV_ASSIGN_OR_RETURN(const double fraction, fraction_of(policy, profile, model, n_prompt));
    rows = fraction * static_cast<double>(sharing.size()) + windows;
  }
  const double to_spend = std::max(0.0, rows - (rounds_windows ? 0 : windows));
  RKV_ASSIGN_OR_RETURN(const FormatChoice choice,
                       choose_formats(curves, to_spend * static_cast<double>(bytes_per_row(shape, policy.kv_format)),
                                      std::min(1.0, floor / length), held));
  budgets.of_bytes = true;
  budgets.weights = {std::vector<double>(choice.kept.begin(), choice.kept.begin() + std::ssize(sharing)), 0};
  for (size_t i = 0; i < layers.size(); ++i) {
    budgets.kv_format[static_cast<size_t>(layers[i])] = formats[known[choice.format[i]]];
  }
  settings["bytes_fraction"] = rows / (static_cast<double>(sharing.size()) + windows);
  settings["predicted_kl"] = choice.damage;
  return ok_status();
}

}  // namespace

Result<double> predicted_damage(const Profile& profile, std::string_view allocator, std::span<const KvFormat> formats,
                                std::span<const double> kept) {
  RKV_CHECK(formats.size() == kept.size() && std::cmp_equal(kept.size(), profile.model.n_layer));
  const std::vector<int> sharing = profile.model.compressible_layers();
  std::optional<HeadHulls> heads;
  if (allocator == "head_curves") {
    RKV_ASSIGN_OR_RETURN(heads, heads_of(profile, sharing));
  }
  double sum = 0;
  std::map<size_t, std::pair<RoundedCurves, DamageHulls>> of_formats;
  for (size_t i = 0; i < sharing.size(); ++i) {
    const auto il = static_cast<size_t>(sharing[i]);
    const size_t f = measured_format(profile, formats[il]);
    if (!of_formats.contains(f)) {
      RoundedCurves curves = curves_of(profile, sharing, f);
      RKV_ASSIGN_OR_RETURN(DamageHulls hulls, hulls_of(curves.dropping, heads));
      of_formats[f] = {std::move(curves), std::move(hulls)};
    }
    const auto& [curves, hulls] = of_formats[f];
    sum += curves.at_full[i] + damage_at(std::span(hulls).subspan(i, 1), kept.subspan(il, 1));
  }
  for (size_t i = 0; i < profile.model.sliding_layers.size(); ++i) {
    const auto il = static_cast<size_t>(profile.model.sliding_layers[i]);
    const std::vector<double> windows = window_damage_of(profile, measured_format(profile, formats[il]));
    if (!windows.empty()) sum += windows[i];
  }
  return sum;
}

Result<Budgets> make_budgets(const ModelId& model, const Policy& policy, const Profile* profile, int64_t n_prompt) {
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
  if (policy.auto_format && !goes_by_damage(policy.allocator)) {
    return invalid_argument(
        fmt::format("--kv-type auto: got the allocator {}, expected curves or head_curves", policy.allocator));
  }
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
  } else if (goes_by_damage(policy.allocator)) {
    RKV_RETURN_IF_ERROR(check_profile(profile, model, policy.allocator));
    std::optional<HeadHulls> heads;
    if (policy.allocator == "head_curves") {
      RKV_ASSIGN_OR_RETURN(heads, heads_of(*profile, layers));
    }
    if (policy.auto_format) {
      RKV_RETURN_IF_ERROR(choose_formats_of(policy, *profile, model, n_prompt, heads, budgets, settings));
    } else {
      RKV_ASSIGN_OR_RETURN(const double kept_fraction, fraction_of(policy, *profile, model, n_prompt));
      const RoundedCurves curves = curves_of(*profile, layers, measured_format(*profile, policy.kv_format));
      RKV_ASSIGN_OR_RETURN(const DamageHulls hulls, hulls_of(curves.dropping, heads));
      budgets.weights = weights_of_hulls(hulls, kept_fraction);
      settings["kept_fraction"] = kept_fraction;
    }
    if (heads) {
      budgets.head_shares.resize(static_cast<size_t>(model.n_layer));
      for (size_t i = 0; i < layers.size(); ++i) {
        budgets.head_shares[static_cast<size_t>(layers[i])] = heads->shares(i, budgets.weights.weights[i]);
      }
    }
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
