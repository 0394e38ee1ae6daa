// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The attention kernels for AVX2, FMA and F16C; CMakeLists.txt has the compiler's flags.
#if defined(__x86_64__)
#include "kernels/attend_rows.h"
#include "kernels/attend_tile.h"

namespace ripplekv {

const AttentionKernels kAvx2Kernels = {"avx2", kPanel, tile_bytes, attend_rows, attend_tile};

}  // namespace ripplekv
#endif
