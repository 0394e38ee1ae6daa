// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Which instruction sets this processor has.
#include "kernels/kernel_set.h"

#include <vector>

namespace ripplekv {

extern const KernelSet kPortableKernels;
#if defined(__x86_64__)
extern const KernelSet kAvx2Kernels;
extern const KernelSet kAvx512Kernels;
#endif

std::span<const KernelSet* const> kernel_sets() {
  static const std::vector<const KernelSet*> available = [] {
    std::vector<const KernelSet*> sets;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) {
      sets.push_back(&kAvx512Kernels);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
      sets.push_back(&kAvx2Kernels);
    }
#endif
    sets.push_back(&kPortableKernels);
    return sets;
  }();
  return available;
}

}  // namespace ripplekv
