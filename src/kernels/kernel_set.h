// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// KernelSet: the kernels compiled for one instruction set. Included by files that are compiled for processors which
// others may not be: plain structs and pointers only. attention.h and product.h are the ways in.
#pragma once

#include <cstdint>
#include <span>

namespace ripplekv {

struct AttentionShape;
struct AttentionCall;
struct AttentionUnit;
struct PartialSums;
struct LogSums;
struct ProductShape;
struct PackedInputs;
struct PackedWeights;

struct KernelSet {
  const char* name;
  int64_t lanes;                                             // values of a vector
  int64_t panel_width;                                       // those that an inner loop takes together: some vectors
  int64_t group_width;                                       // tokens that are multiplied with a panel at once
  int64_t (*tile_bytes)(int64_t n_query, int64_t head_dim);  // memory of a thread for a tile of so many queries
  void (*attend_rows)(const AttentionShape&, const AttentionCall&, const AttentionUnit&, const PartialSums&, uint8_t*);
  void (*attend_tile)(const AttentionShape&, const AttentionCall&, const AttentionUnit&, const PartialSums&, uint8_t*);
  // Sums of attention (sum_tile.h): memory of a thread; the first pass and the second.
  int64_t (*sum_bytes)(int64_t n_query, int64_t n_group, int64_t head_dim);
  void (*score_sums)(const AttentionShape&, const AttentionCall&, const AttentionUnit&, float* largest, float* sum,
                     uint8_t* work);
  void (*weight_sums)(const AttentionShape&, const AttentionCall&, const AttentionUnit&, int64_t n_block_query,
                      const LogSums& log_sums, float* out, int64_t n_out, uint8_t* work);
  // Products: n values to integers with a scale per block of n_block; `lanes` rows of them to lanes of a panel;
  // `group_width` tokens to a group; all groups with a panel.
  void (*to_integers)(const float* values, int64_t n, int64_t n_block, int16_t* to, float* scales);
  void (*fill_panel)(const ProductShape&, const int16_t* rows, int64_t first_lane, int32_t* panel);
  void (*fill_group)(const ProductShape&, const int16_t* tokens, int32_t* group);
  void (*multiply_panel)(const ProductShape&, const PackedInputs&, const PackedWeights&, float* sums, float* out,
                         int64_t out_stride);
  // Those of a few tokens, and rows of weights as f32, by WeightType.
  int64_t (*token_bytes)(int64_t n_in, int64_t n_tokens);
  void (*pack_tokens)(int64_t n_in, int64_t n_tokens, const float* x, int64_t stride, uint8_t* work);
  void (*multiply_rows[3])(int64_t n_in, int64_t n_tokens, const uint8_t* row, int64_t n_rows, float* out,
                           int64_t out_stride, uint8_t* work);
  void (*read_weights[3])(const void* row, float* to, int64_t n);
};

// What this processor runs, the fastest first; never empty.
std::span<const KernelSet* const> kernel_sets();

}  // namespace ripplekv
