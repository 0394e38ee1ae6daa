// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The attention kernels for AVX-512 with VNNI (Cascade Lake, Zen 4 and later); CMakeLists.txt has the compiler's flags.
#if defined(__x86_64__)
#include "kernels/attend_rows.h"
#include "kernels/attend_tile.h"

namespace ripplekv {

const AttentionKernels kAvx512Kernels = {"avx512", kPanel, tile_bytes, attend_rows, attend_tile};

}  // namespace ripplekv
#endif
