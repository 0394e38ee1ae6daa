// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The attention kernels for any processor; CMakeLists.txt has the compiler's flags.
#include "kernels/attend_rows.h"
#include "kernels/attend_tile.h"

namespace ripplekv {

const AttentionKernels kPortableKernels = {"portable", kPanel, tile_bytes, attend_rows, attend_tile};

}  // namespace ripplekv
