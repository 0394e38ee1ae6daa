// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The kernels for any processor; CMakeLists.txt has the compiler's flags.
#include "kernels/compiled_set.h"

namespace ripplekv {

extern const KernelSet kPortableKernels;
const KernelSet kPortableKernels = compiled_set("portable");

}  // namespace ripplekv
