// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv validate: how well sensitivities foretell the damage of really compressing a layer. One profile for each
// perturbation on the same samples, kept beside the output until all are done, so that an interrupted run goes on.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "engine/validation.h"

namespace ripplekv {
namespace {

void print_table(const std::vector<Correlation>& correlations) {
  print("| signal | kept | Spearman's rho with damage [95%] |\n| --- | --- | --- |\n");
  for (const Correlation& of : correlations) {
    print("| {} | {:g}% | {:.2f} [{:.2f}, {:.2f}] |\n", of.signal, of.kept * 100, of.rho.value, of.rho.low,
          of.rho.high);
  }
}

nlohmann::ordered_json json_of(const std::vector<Correlation>& correlations, const Profile& damage) {
  nlohmann::ordered_json json = {{"model", damage.model.name},           {"fingerprint", damage.model.fingerprint},
                                 {"selector", damage.settings.selector}, {"samples", damage.samples.size()},
                                 {"spearman", nlohmann::json::array()},  {"damage", nlohmann::json::array()}};
  for (const Correlation& of : correlations) {
    json["spearman"].push_back(
        {{"signal", of.signal}, {"kept", of.kept}, {"rho", of.rho.value}, {"lo", of.rho.low}, {"hi", of.rho.high}});
  }
  for (size_t f = 0; f < damage.settings.curve_fractions.size(); ++f) {
    nlohmann::ordered_json entry = {{"kept", damage.settings.curve_fractions[f]}, {"mean", nlohmann::json::array()}};
    for (const LayerStatistic& layer : damage_of(damage, f)) entry["mean"].push_back(layer.mean);
    json["damage"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

Status cmd_validate(const ValidateArgs& args) {
  RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
  std::vector<Profile> measured;
  std::vector<std::string> parts;
  bool first_rank = true;
  for (const Perturbation& perturbation : perturbations()) {
    ProfileSettings settings = args.settings;
    settings.rows = perturbation.rows;
    settings.direction = perturbation.direction;
    if (!measured.empty()) settings.curve_fractions.clear();
    parts.push_back(fmt::format("{}.{}.part", args.output_file, measured.size()));
    const std::string announcement =
        fmt::format("{} of {}: {}", parts.size(), perturbations().size(), perturbation.name);
    RKV_ASSIGN_OR_RETURN(Profiled profiled,
                         profile_with_progress(args.model, settings, args.data, args.n_sample, parts.back(), args.fresh,
                                               ProfileFit(), announcement));
    first_rank = profiled.first_rank;
    measured.push_back(std::move(profiled.profile));
  }
  if (!first_rank) return ok_status();
  std::optional<Profile> given;
  if (!args.profile_file.empty()) {
    RKV_ASSIGN_OR_RETURN(given, find_profile(args.profile_file, measured[0].model));
  }
  const std::vector<Correlation> correlations = correlate(measured, given ? &*given : nullptr);
  RKV_RETURN_IF_ERROR(write_file_atomically(args.output_file, json_text(json_of(correlations, measured[0])) + "\n"));
  for (const std::string& part : parts) std::remove(part.c_str());
  print_table(correlations);
  return ok_status();
}

}  // namespace ripplekv
