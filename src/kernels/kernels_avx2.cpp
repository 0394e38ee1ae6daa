// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The kernels for AVX2, FMA and F16C; CMakeLists.txt has the compiler's flags.
#if defined(__x86_64__)
#include "kernels/compiled_set.h"

namespace ripplekv {

extern const KernelSet kAvx2Kernels;
const KernelSet kAvx2Kernels = compiled_set("avx2");

}  // namespace ripplekv
#endif
