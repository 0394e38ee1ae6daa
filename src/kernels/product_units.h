// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What product.cpp and the kernels of each instruction set share. Included by files that are compiled for processors
// which others may not be: plain structs only.
#pragma once

#include <cstdint>

#include "kernels/product.h"

namespace ripplekv {

// Tokens side by side in groups of as many as are multiplied with a panel at once.
struct PackedInputs {
  int64_t n_groups = 0;
  const int32_t* values = nullptr;  // [group_width, n_in / 2, n_groups] pairs of a token's values
  const float* scales = nullptr;    // [group_width, n_blocks, n_groups]
};

// Rows of weights side by side, as many as a panel is wide.
struct PackedWeights {
  const int32_t* values = nullptr;  // [panel_width, n_in / 2] pairs of a row's values
  const float* scales = nullptr;    // [panel_width, n_blocks]
};

}  // namespace ripplekv
