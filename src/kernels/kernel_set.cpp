// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Which instruction sets this processor has.
#include "kernels/kernel_set.h"

#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ripplekv {

extern const KernelSet kPortableKernels;
#if defined(__x86_64__)
extern const KernelSet kAvx2Kernels;
extern const KernelSet kAvx512Kernels;

namespace {

// clang 14 does not know f16c by name.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace
#endif

std::span<const KernelSet* const> kernel_sets() {
  static const std::vector<const KernelSet*> available = [] {
    std::vector<const KernelSet*> sets;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) {
      sets.push_back(&kAvx512Kernels);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) {
      sets.push_back(&kAvx2Kernels);
    }
#endif
    sets.push_back(&kPortableKernels);
    return sets;
  }();
  return available;
}

}  // namespace ripplekv
