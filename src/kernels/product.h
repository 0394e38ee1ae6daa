// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Products of tokens with a weight matrix on the CPU: out = W x. Weights stay as they are stored; tokens become 16-bit
// integers with a scale per block (of many tokens weights, too), so that a product differs from that of f32 values by
// 5e-4 of the lengths' product at most, a hundredth of that as a rule. Sums are 32-bit integers in a block and f32
// beyond. Pure: host memory and plain structs, owned by the caller; knows no graph. A token's result depends neither on
// threads nor on the tokens beside it. What is not finite makes the sums it is in NaN (a weight's scale at worst those
// of the row before, too). docs/performance.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "kernels/kernel_set.h"

namespace ripplekv {

// What kernels read by themselves, as ggml lays it out: blocks of 32 values.
enum class WeightType { kQ4_0, kQ4_1, kQ8_0, kOther };
constexpr int kWeightTypes = 3;

// Row r at data + r * row_bytes.
struct WeightRows {
  WeightType type = WeightType::kOther;
  const uint8_t* data = nullptr;
  int64_t row_bytes = 0;
  int64_t n_rows = 0;
  void (*read)(const void* row, float* to, int64_t n) = nullptr;  // of kOther: n values as f32
};

// Many tokens: weights are unpacked to 16-bit integers a panel of rows at a time. Two phases with a barrier between.
struct ProductShape {
  int64_t n_in = 0;  // values of a token and of a row of weights
  int64_t n_tokens = 0;
  int64_t n_block = 0;  // values that share a scale; divides n_in

  int64_t n_blocks() const { return n_in / n_block; }
};

bool product_supports(int64_t n_in);

// The inputs' layout in scratch memory, which has the threads' own memory behind them.
struct ProductPlan {
  ProductShape shape;
  const KernelSet* kernels = nullptr;
  int64_t work_bytes = 0;  // of one thread
  int64_t scratch_bytes = 0;
};
// REQUIRES: product_supports(n_in); n_tokens > 0.
ProductPlan plan_product(int64_t n_in, int64_t n_tokens, int n_threads, const KernelSet& kernels = *kernel_sets()[0]);

// Phase 1: this thread's share of the tokens, token i at x + i * stride (values).
void pack_inputs(const ProductPlan& plan, const float* x, int64_t stride, std::span<uint8_t> scratch, int thread,
                 int n_threads);

// Phase 2, any number of times for the same inputs: thread `thread` of at most the plan's n_threads takes panels until
// there are none. next_panel begins at 0. out: F32 [weights.n_rows, n_tokens].
void multiply(const ProductPlan& plan, const WeightRows& weights, float* out, std::span<uint8_t> scratch,
              std::atomic<int64_t>& next_panel, int thread);

// A few tokens: weights are multiplied as they are stored. One phase; every thread packs the tokens for itself.
// REQUIRES: weights of a type other than kOther; product_supports(n_in).
struct FewTokens {
  int64_t n_in = 0;
  int64_t n_tokens = 0;
  const KernelSet* kernels = kernel_sets()[0];

  int64_t scratch_bytes(int n_threads) const;
};
// This thread's share of the rows of each matrix, which lie one behind the other: memory is read in one stream. x,
// stride as above; out: F32 [rows of all matrices, n_tokens], those of the first before those of the second.
void multiply_few(const FewTokens& tokens, const float* x, int64_t stride, std::span<const WeightRows> weights,
                  float* out, std::span<uint8_t> scratch, int thread, int n_threads);

}  // namespace ripplekv
