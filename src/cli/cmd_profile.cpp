// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv profile: measure a model's layers, once.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "profiling/profiler.h"

namespace ripplekv {
namespace {

void print_table(const Profile& profile) {
  const auto sensitivity = sensitivity_of(profile);
  std::vector<std::vector<LayerStatistic>> damage;
  const std::vector<double>& fractions = profile.settings.curve_fractions;
  const std::vector<KvFormat> formats = profile.settings.formats_of_curves();
  double top = 0;
  for (const auto& layer : sensitivity) top = std::max(top, layer.mean);
  std::string head = fmt::format("{:>5}  {:>11}  {:>9}", "layer", "sensitivity", "+-");
  // Of the first format every fraction but all rows, of the others what they cost with all rows.
  for (size_t point = 0; point < profile.settings.n_curve_point(); ++point) {
    const KvFormat& format = formats[point / fractions.size()];
    const double fraction = fractions[point % fractions.size()];
    const bool first = point < fractions.size();
    if (first != (fraction < 1)) continue;
    damage.push_back(damage_of(profile, point));
    head += fmt::format("  {:>10}", first ? fmt::format("{:g}%", fraction * 100)
                                          : fmt::format("{}/{}", to_string(format.k), to_string(format.v)));
  }
  print("{}\n", head);
  for (size_t il = 0; il < sensitivity.size(); ++il) {
    std::string line =
        fmt::format("{:>5}  {:>11.3e}  {:>9.1e}", il, sensitivity[il].mean, sensitivity[il].standard_error);
    for (const auto& curve : damage) line += fmt::format("  {:>10.3e}", curve[il].mean);
    const auto width = top > 0 ? static_cast<size_t>(30 * sensitivity[il].mean / top + 0.5) : 0;
    print("{}  {}\n", line, std::string(width, '#'));
  }
}

}  // namespace

Status cmd_profile(const ProfileArgs& args) {
  RKV_ASSIGN_OR_RETURN(const Profiled profiled,
                       profile_with_progress(args.model, args.settings, args.calibration, args.n_sample,
                                             args.output_file, args.fresh, args.fit));
  if (!profiled.first_rank) return ok_status();
  const Profile& profile = profiled.profile;
  if (args.output.json) {
    nlohmann::ordered_json json = {{"path", profiled.path},
                                   {"samples", profile.samples.size()},
                                   {"seconds", profile.seconds},
                                   {"forward_tokens", profile.n_forward_tokens},
                                   {"reliability", reliability_of(profile)},
                                   {"sensitivity", nlohmann::json::array()}};
    for (const auto& layer : sensitivity_of(profile)) {
      json["sensitivity"].push_back({{"mean", layer.mean}, {"standard_error", layer.standard_error}});
    }
    print("{}\n", json_text(json));
    return ok_status();
  }
  print_table(profile);
  const double reliability = reliability_of(profile);
  if (profile.samples.size() > 1) print("reliability {:.2f} (halves of the samples, Spearman-Brown)\n", reliability);
  if (reliability < kReliabilityMin) {
    print_to_stderr(fmt::format("warning: {}: plans will stay close to uniform; --limit raises the number of samples",
                                profile.samples.size() > 1
                                    ? fmt::format("sensitivities repeat with a reliability of {:.2f} only", reliability)
                                    : std::string("one sample says nothing about its noise")));
  }
  print("{} in {}, {} layer-tokens; written to {}\n", counted(profile.samples.size(), "sample"),
        human_duration(profile.seconds), profile.n_forward_tokens, profiled.path);
  return ok_status();
}

}  // namespace ripplekv
