// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What attention.cpp and the kernels of each instruction set share: a unit of work and its partial result. Included by
// files that are compiled for processors which others may not be: no function of the standard library, nothing inline
// with external linkage beyond plain structs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"

namespace ripplekv {

// Rows of one block; partial results are rescaled at most once per block.
constexpr int64_t kBlockRows = 64;

// attend_tile's weights are up to 8191, whose logarithm this is.
constexpr float kLog2WeightMax = 12.9998239F;

// Queries [query_begin, query_end) of all heads of kv_head over rows [row_begin, row_end).
struct AttentionUnit {
  int64_t kv_head = 0;
  int64_t n_rows = 0;  // that the KV head has
  int64_t query_begin = 0;
  int64_t query_end = 0;
  int64_t row_begin = 0;  // a multiple of kBlockRows
  int64_t row_end = 0;
};

// Sums of one block of rows, before division: of query i of head h at [h * n_query + i].
struct PartialSums {
  float* weighted = nullptr;  // F32 [head_dim, n_query, n_head]: sum of w * V, w = 2^(s - max) up to a common factor
  float* max = nullptr;       // F32 [n_query, n_head]: largest score s, in units of log 2
  float* sum = nullptr;       // F32 [n_query, n_head]: sum of w; 0: saw no row
};

static inline int64_t blocks_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

int64_t rows_of(const AttentionCall& call, int64_t kv_head);  // attention.cpp: not for the kernels

// Rows [begin, end) that query i may see.
static inline int64_t visible_end(const AttentionShape& shape, const AttentionCall& call, const AttentionUnit& unit,
                                  int64_t i) {
  return call.causal ? unit.n_rows - shape.n_query + i + 1 : unit.n_rows;
}
static inline int64_t visible_begin(const AttentionCall& call, int64_t end) {
  return call.window > 0 && end > call.window ? end - call.window : 0;
}

static inline const uint8_t* row_at(const AttentionRows& rows, int64_t kv_head, int64_t row) {
  if (rows.first_rows != nullptr) return rows.data + (rows.first_rows[kv_head] + row) * rows.row_stride;
  return rows.data + kv_head * rows.head_stride + row * rows.row_stride;
}

static inline int64_t whole_panels(int64_t n, int64_t width) { return blocks_of(n, width) * width; }

}  // namespace ripplekv
