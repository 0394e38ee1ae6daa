// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// All kernels as compiled for the instruction set of the including file.
#pragma once

#include "kernels/attend_rows.h"
#include "kernels/attend_tile.h"
#include "kernels/kernel_set.h"
#include "kernels/multiply_panel.h"
#include "kernels/multiply_rows.h"
#include "kernels/sum_tile.h"

namespace ripplekv {
namespace {

constexpr KernelSet compiled_set(const char* name) {
  return {
      .name = name,
      .lanes = kLanes,
      .panel_width = kPanel,
      .group_width = kBroadcasts,
      .tile_bytes = tile_bytes,
      .attend_rows = attend_rows,
      .attend_tile = attend_tile,
      .sum_bytes = sum_bytes,
      .score_sums = score_sums,
      .weight_sums = weight_sums,
      .to_integers = to_integers,
      .fill_panel = fill_panel,
      .fill_group = fill_group,
      .multiply_panel = multiply_panel,
      .token_bytes = token_bytes,
      .pack_tokens = pack_tokens,
      .multiply_rows = {multiply_rows<WeightType::kQ4_0>, multiply_rows<WeightType::kQ4_1>,
                        multiply_rows<WeightType::kQ8_0>},
      .read_weights = {read_weights<WeightType::kQ4_0>, read_weights<WeightType::kQ4_1>,
                       read_weights<WeightType::kQ8_0>},
  };
}

}  // namespace
}  // namespace ripplekv
