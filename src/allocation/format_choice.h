// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Rows and kv formats together: in which of several formats each layer is stored and what fraction of its rows stays,
// so that the summed damage is smallest for a number of bytes. Pure and free of lengths, as weights are: bytes are for
// each token of the prompt. Whole rows within a budget are plan_cache()'s business (engine.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "allocation/damage_hulls.h"

namespace ripplekv {

// A format that layers may be stored in, as a profile measured it. Damage is at_full + what dropping rows adds.
struct FormatCurves {
  double bytes_per_row = 0;     // of one layer; above 0
  std::vector<double> at_full;  // [n_layer] nats while all rows stay: what the format alone costs
  DamageHulls dropping;         // nats beyond at_full
};

struct FormatChoice {
  std::vector<size_t> format;  // [n_layer], of those given
  std::vector<double> kept;    // [n_layer] fraction of the rows, kept_min to 1, or as held
  double damage = 0;           // what the curves foretell: the layers' sum
};

// bytes: of all layers for each token of the prompt. kept_min: the least fraction of a layer. held: empty, or [n_layer]
// the fraction that a layer holds whatever the budget (a sliding window), whose format alone is chosen; 0: chosen.
// A larger budget is never foretold more damage, and no budget more than the best single format for all layers has.
// Where even kept_min in the cheapest format costs more than `bytes`, that is what is returned.
// Errors: no format given; numbers of layers that disagree; numbers not finite or < 0.
Result<FormatChoice> choose_formats(std::span<const FormatCurves> formats, double bytes, double kept_min,
                                    std::span<const double> held = {});

}  // namespace ripplekv
