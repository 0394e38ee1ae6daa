// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What a profile says: sensitivities and how well they repeat, damage per layer and against the fraction kept.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "profiling/profiler.h"
#include "report/charts.h"
#include "report/report.h"

namespace ripplekv {
namespace {

void add(Section& section, const std::optional<Figure>& figure) {
  if (figure) section.figures.push_back(*figure);
}

std::string format_name(const KvFormat& format) {
  return fmt::format("K {}, V {}", to_string(format.k), to_string(format.v));
}

XyChart sensitivity_chart(const std::vector<int>& layers, const std::vector<LayerStatistic>& sensitivity) {
  XyChart chart = {.title = "Sensitivity of each layer",
                   .caption = "KL after nudging the Value rows of one layer; bars: standard error over the samples.",
                   .x = {.label = "layer"},
                   .y = {.label = "KL, nats"},
                   .mark = Mark::kBars,
                   .series = {{.name = "sensitivity"}},
                   .x_name = "layer "};
  for (const int il : layers) {
    const LayerStatistic& of = sensitivity[static_cast<size_t>(il)];
    const bool has_error = of.standard_error > 0;
    chart.series[0].points.push_back({static_cast<double>(il), of.mean,
                                      has_error ? std::max(0.0, of.mean - of.standard_error) : kNoValue,
                                      has_error ? of.mean + of.standard_error : kNoValue});
  }
  return chart;
}

// The means of every other sample against those of the rest.
XyChart halves_chart(const Profile& profile, const std::vector<int>& layers) {
  XyChart chart = {.title = "Do the samples agree?",
                   .caption =
                       "Sensitivities of the layers in one half of the samples against the other half: the "
                       "closer to the line, the less is noise.",
                   .x = {.label = "KL, first half of the samples", .scale = Scale::kLog},
                   .y = {.label = "KL, second half", .scale = Scale::kLog},
                   .mark = Mark::kPoints,
                   .series = {{.name = "layers"}},
                   .tips_by_x = false,
                   .diagonal = true};
  if (profile.samples.size() < 2) return chart;
  for (const int il : layers) {
    double sums[2] = {0, 0};
    double counts[2] = {0, 0};
    for (size_t i = 0; i < profile.samples.size(); ++i) {
      sums[i % 2] += mean_of_repeats(profile.samples[i].sensitivity, static_cast<size_t>(il));
      counts[i % 2] += 1;
    }
    const double x = sums[0] / counts[0];
    const double y = sums[1] / counts[1];
    chart.series[0].points.push_back(
        {.x = x, .y = y, .name = fmt::format("layer {}: {} and {}", il, shown_number(x), shown_number(y))});
  }
  return chart;
}

// Damage of all points of one kv format: [fraction][layer].
using Damage = std::vector<std::vector<LayerStatistic>>;

XyChart damage_chart(const Profile& profile, const std::vector<int>& layers, const Damage& damage,
                     const std::string& title) {
  XyChart chart = {.title = title,
                   .caption =
                       "KL when one layer alone is really compressed, all others full; a line for each "
                       "fraction of its rows kept.",
                   .x = {.label = "layer"},
                   .y = {.label = "KL, nats (log scale)", .scale = Scale::kLog},
                   .x_name = "layer "};
  for (size_t f = 0; f < damage.size(); ++f) {
    Series& series = chart.series.emplace_back();
    series.name = shown_percent(profile.settings.curve_fractions[f]) + " kept";
    for (const int il : layers) {
      series.points.push_back({static_cast<double>(il), damage[f][static_cast<size_t>(il)].mean});
    }
  }
  return chart;
}

XyChart curves_chart(const Profile& profile, const std::vector<int>& layers, const Damage& damage,
                     const std::string& title) {
  XyChart chart = {.title = title,
                   .caption = "A line for each layer: layers whose line is high and falls late need their rows most.",
                   .x = {.label = "rows of the layer kept (log scale)",
                         .scale = Scale::kLog,
                         .unit = Unit::kPercent,
                         .ticks = profile.settings.curve_fractions},
                   .y = {.label = "KL, nats (log scale)", .scale = Scale::kLog},
                   .by_depth = true};
  for (const int il : layers) {
    Series& series = chart.series.emplace_back();
    series.name = fmt::format("layer {}:", il);
    for (size_t f = 0; f < damage.size(); ++f) {
      const double mean = damage[f][static_cast<size_t>(il)].mean;
      series.points.push_back({profile.settings.curve_fractions[f], mean});
      series.name += " " + shown_number(mean, 2);
    }
  }
  return chart;
}

std::vector<Fact> facts_of(const Profile& profile) {
  const ProfileSettings& settings = profile.settings;
  int64_t shortest = profile.samples.empty() ? 0 : profile.samples[0].n_prompt;
  int64_t longest = shortest;
  for (const ProfileSample& sample : profile.samples) {
    shortest = std::min(shortest, sample.n_prompt);
    longest = std::max(longest, sample.n_prompt);
  }
  std::vector<Fact> facts = {
      {"Model", profile.model.name},
      {"Samples", fmt::format("{} of {} ({})", profile.samples.size(), profile.n_sample_planned, settings.calibration)},
      {"Prompt tokens", shortest == longest ? shown_whole(static_cast<double>(longest))
                                            : fmt::format("{} to {}", shown_whole(static_cast<double>(shortest)),
                                                          shown_whole(static_cast<double>(longest)))},
      {"Nudges", fmt::format("{} rows, one direction per {}, eps {:g}, {} draws", settings.rows, settings.direction,
                             settings.eps, settings.n_repeat)},
      {"Answer tokens", std::to_string(settings.n_answer)},
      {"Weights", settings.weights},
      {"Price", fmt::format("{}, {} layer-tokens", human_duration(profile.seconds),
                            shown_whole(static_cast<double>(profile.n_forward_tokens)))}};
  if (!settings.curve_fractions.empty()) facts.push_back({"Damage measured with", settings.selector});
  if (profile.samples.size() > 1) {
    facts.push_back({"Split-half reliability", fmt::format("{:.2f}", reliability_of(profile))});
  }
  return facts;
}

std::vector<std::string> warnings_of(const Profile& profile) {
  std::vector<std::string> warnings;
  if (!profile.complete()) {
    warnings.push_back(fmt::format("The profile is not finished: {} of {} samples.", profile.samples.size(),
                                   profile.n_sample_planned));
  }
  if (profile.samples.size() < 2) {
    warnings.emplace_back("Fewer than two samples say nothing about their noise.");
  } else if (reliability_of(profile) < kReliabilityMin) {
    warnings.push_back(
        fmt::format("Sensitivities repeat with a reliability of {:.2f} only (usable from {:g} on): plans "
                    "made from this profile stay close to uniform.",
                    reliability_of(profile), kReliabilityMin));
  }
  return warnings;
}

}  // namespace

Section profile_section(const Profile& profile) {
  Section section = {.title = "Which layers matter",
                     .lede =
                         "Each layer's cache is disturbed alone, and the KL divergence between the model's output "
                         "before and after is measured. Layers that move the output more deserve more rows.",
                     .facts = facts_of(profile),
                     .warnings = warnings_of(profile)};
  if (profile.samples.empty()) return section;
  const std::vector<int> layers = profile.model.compressible_layers();
  const std::vector<LayerStatistic> sensitivity = sensitivity_of(profile);
  const std::vector<LayerStatistic> local = local_response_of(profile);
  add(section, draw(sensitivity_chart(layers, sensitivity)));
  add(section, draw(halves_chart(profile, layers)));

  Table table = {.title = "Layers", .columns = {"layer", "sensitivity (KL)", "local response"}, .folded = true};
  for (const int il : layers) {
    const auto at = static_cast<size_t>(il);
    table.rows.push_back({whole_cell(il), error_cell(sensitivity[at].mean, sensitivity[at].standard_error),
                          error_cell(local[at].mean, local[at].standard_error)});
  }
  const std::vector<KvFormat> formats = profile.settings.formats_of_curves();
  const size_t n_fraction = profile.settings.curve_fractions.size();
  for (size_t i = 0; n_fraction > 0 && i < formats.size(); ++i) {
    const std::string suffix = formats.size() > 1 ? " with " + format_name(formats[i]) : "";
    Damage damage;
    for (size_t f = 0; f < n_fraction; ++f) {
      damage.push_back(damage_of(profile, i * n_fraction + f));
      table.columns.push_back(
          fmt::format("damage at {}{}", shown_percent(profile.settings.curve_fractions[f]), suffix));
      for (size_t row = 0; row < layers.size(); ++row) {
        const LayerStatistic& of = damage[f][static_cast<size_t>(layers[row])];
        table.rows[row].push_back(error_cell(of.mean, of.standard_error));
      }
    }
    add(section, draw(damage_chart(profile, layers, damage, "Damage of each layer" + suffix)));
    if (n_fraction > 1) add(section, draw(curves_chart(profile, layers, damage, "Damage curves" + suffix)));
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace ripplekv
