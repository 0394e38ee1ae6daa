// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A multiple-choice knapsack, solved on its convex relaxation: per layer the lower convex hull of damage over bytes
// across all formats, then the steepest edge of all hulls first (Sinha and Zoltners 1979; Shoham and Gersho 1988 for
// bits). An edge between two formats cannot be taken in part; what is done where one does not fit is at solve().
#include "allocation/format_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>

namespace ripplekv {
namespace {

constexpr double kSlack = 1 + 1e-12;  // of sums of bytes that are equal on paper

// A layer in one format with a fraction of its rows.
struct Option {
  double bytes = 0;
  double damage = 0;
  size_t format = 0;
  double kept = 0;
};

// Options of one layer by ascending bytes; `hull` are the places of those on the falling part of the lower hull.
struct Layer {
  std::vector<Option> options;
  std::vector<size_t> hull;
};

void make_hull(Layer& layer) {
  std::vector<Option>& options = layer.options;
  std::sort(options.begin(), options.end(), [](const Option& a, const Option& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.damage < b.damage;
  });
  const auto steep = [&](size_t a, size_t b) {  // damage saved per byte
    return (options[a].damage - options[b].damage) / (options[b].bytes - options[a].bytes);
  };
  std::vector<size_t>& hull = layer.hull;
  for (size_t i = 0; i < options.size(); ++i) {
    if (!hull.empty() && options[i].damage >= options[hull.back()].damage) continue;
    while (hull.size() > 1 && steep(hull[hull.size() - 2], hull.back()) < steep(hull.back(), i)) hull.pop_back();
    hull.push_back(i);
  }
}

double damage_of(const std::vector<Option>& chosen) {
  double damage = 0;
  for (const Option& option : chosen) damage += option.damage;
  return damage;
}

// Of two that both never foretell more damage for more bytes: the edges up to the first that does not fit, of which
// layer the best option that does takes its place; or all edges that fit, without those of layers where one did not.
// REQUIRES: options of every layer.
FormatChoice solve(const std::vector<Layer>& layers, double budget) {
  std::vector<size_t> at(layers.size(), 0);  // place on the hull
  struct Edge {
    double saved_per_byte;
    size_t layer;
    bool operator<(const Edge& other) const {
      return saved_per_byte != other.saved_per_byte ? saved_per_byte < other.saved_per_byte : layer > other.layer;
    }
  };
  std::priority_queue<Edge> edges;
  const auto push_next = [&](size_t il) {
    const Layer& layer = layers[il];
    if (at[il] + 1 >= layer.hull.size()) return;
    const Option& from = layer.options[layer.hull[at[il]]];
    const Option& to = layer.options[layer.hull[at[il] + 1]];
    edges.push({(from.damage - to.damage) / (to.bytes - from.bytes), il});
  };
  std::vector<Option> chosen;
  double used = 0;
  for (size_t il = 0; il < layers.size(); ++il) {
    chosen.push_back(layers[il].options[layers[il].hull[0]]);
    used += chosen.back().bytes;
    push_next(il);
  }
  std::vector<Option> with_other_option;
  while (!edges.empty()) {
    const size_t il = edges.top().layer;
    edges.pop();
    const Layer& layer = layers[il];
    const Option& to = layer.options[layer.hull[at[il] + 1]];
    const double room = budget * kSlack - (used - chosen[il].bytes);
    if (to.bytes > room) {
      if (!with_other_option.empty()) continue;
      with_other_option = chosen;
      for (const Option& option : layer.options) {
        if (option.bytes <= room && option.damage < with_other_option[il].damage) with_other_option[il] = option;
      }
      continue;
    }
    used += to.bytes - chosen[il].bytes;
    chosen[il] = to;
    ++at[il];
    push_next(il);
  }
  if (!with_other_option.empty() && damage_of(with_other_option) < damage_of(chosen)) chosen = with_other_option;
  FormatChoice choice;
  for (const Option& option : chosen) {
    choice.format.push_back(option.format);
    choice.kept.push_back(option.kept);
  }
  choice.damage = damage_of(chosen);
  return choice;
}

Status check(std::span<const FormatCurves> formats, double bytes, double kept_min, std::span<const double> held) {
  if (formats.empty()) return invalid_argument("formats: got none, expected at least one");
  for (const FormatCurves& of : formats) {
    if (of.at_full.size() != of.dropping.size() || of.at_full.size() != formats[0].at_full.size()) {
      return invalid_argument(
          fmt::format("formats: got damages of {} layers, expected {}", of.at_full.size(), formats[0].at_full.size()));
    }
    if (!std::isfinite(of.bytes_per_row) || of.bytes_per_row <= 0) {
      return invalid_argument(
          fmt::format("formats: got {} bytes per row, expected a finite number above 0", of.bytes_per_row));
    }
    for (size_t layer = 0; layer < of.at_full.size(); ++layer) {
      if (std::isfinite(of.at_full[layer]) && of.at_full[layer] >= 0) continue;
      return invalid_argument(fmt::format("formats: got damage {} in layer {}, expected a finite number of 0 or more",
                                          of.at_full[layer], layer));
    }
  }
  if (!std::isfinite(bytes) || bytes < 0) {
    return invalid_argument(
        fmt::format("formats: got a budget of {} bytes, expected a finite number of 0 or more", bytes));
  }
  if (!(kept_min >= 0 && kept_min <= 1)) {
    return invalid_argument(fmt::format("formats: got a least fraction of {}, expected 0 to 1", kept_min));
  }
  if (!held.empty() && held.size() != formats[0].at_full.size()) {
    return invalid_argument(
        fmt::format("formats: got what {} layers hold, expected {}", held.size(), formats[0].at_full.size()));
  }
  for (const double kept : held) {
    if (!(kept >= 0 && kept <= 1))
      return invalid_argument(fmt::format("formats: got a layer that holds {}, expected 0 to 1", kept));
  }
  return ok_status();
}

}  // namespace

Result<FormatChoice> choose_formats(std::span<const FormatCurves> formats, double bytes, double kept_min,
                                    std::span<const double> held) {
  RKV_RETURN_IF_ERROR(check(formats, bytes, kept_min, held));
  const size_t n_layer = formats[0].at_full.size();
  const auto first_step = static_cast<size_t>(std::clamp(std::ceil(kept_min * kHullSteps), 1.0, double{kHullSteps}));
  std::vector<Layer> all(n_layer);
  std::vector<std::vector<Layer>> of_format(formats.size(), std::vector<Layer>(n_layer));
  for (size_t f = 0; f < formats.size(); ++f) {
    for (size_t il = 0; il < n_layer; ++il) {
      std::vector<Option>& options = of_format[f][il].options;
      const auto add = [&](double kept, double dropping) {
        options.push_back({formats[f].bytes_per_row * kept, formats[f].at_full[il] + dropping, f, kept});
      };
      if (!held.empty() && held[il] > 0) {
        add(held[il], 0);
      } else {
        for (size_t step = first_step; step <= kHullSteps; ++step)
          add(static_cast<double>(step) / kHullSteps, formats[f].dropping[il][step - 1]);
      }
      all[il].options.insert(all[il].options.end(), options.begin(), options.end());
      make_hull(of_format[f][il]);
    }
  }
  for (Layer& layer : all) make_hull(layer);
  FormatChoice best = solve(all, bytes);
  // The edge that did not fit may have cost more than mixing formats gained: a single one for all is then better.
  for (size_t f = 0; f < formats.size(); ++f) {
    double least = 0;
    for (const Layer& layer : of_format[f]) least += layer.options[layer.hull[0]].bytes;
    if (least > bytes * kSlack) continue;
    FormatChoice single = solve(of_format[f], bytes);
    if (single.damage < best.damage) best = std::move(single);
  }
  return best;
}

}  // namespace ripplekv
