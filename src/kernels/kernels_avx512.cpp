// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The kernels for AVX-512 with VNNI (Cascade Lake, Zen 4 and later); CMakeLists.txt has the compiler's flags.
#if defined(__x86_64__)
#include "kernels/compiled_set.h"

namespace ripplekv {

extern const KernelSet kAvx512Kernels;
const KernelSet kAvx512Kernels = compiled_set("avx512");

}  // namespace ripplekv
#endif
