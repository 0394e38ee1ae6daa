// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the ops of our own kernels have in common: whether they are wanted, and whether a tensor is where they can be
// computed. Other backends keep ggml's ops.
#pragma once

struct ggml_tensor;

namespace ripplekv {

enum class CpuKernels { kOurs, kGgml };  // kGgml: the reference of tests and benchmarks

struct CpuCompute {
  CpuKernels kernels = CpuKernels::kOurs;
  int n_threads = 1;  // at most, of the CPU backend
};

// Its memory, or that of the tensor it is a view of, is the CPU backend's.
bool on_cpu(const ggml_tensor* tensor);

}  // namespace ripplekv
