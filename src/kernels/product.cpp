// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// How scratch memory is laid out, and how a panel of weights is unpacked and multiplied.
#include "kernels/product.h"

#include <algorithm>

#include "kernels/product_units.h"
#include "kernels/scratch.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

constexpr int64_t kGranule = 32;       // every vector length divides it
constexpr int64_t kBlockGranules = 8;  // longest block: its panel stays in the first cache, its integers keep 11 bits

int64_t groups_of(const ProductShape& shape, const KernelSet& kernels) {
  return (shape.n_tokens + kernels.group_width - 1) / kernels.group_width;
}

// The arrays of PackedInputs.
struct InputMemory {
  int64_t n_groups;
  int32_t* values;
  float* scales;
  int64_t bytes;

  InputMemory(const ProductShape& shape, const KernelSet& kernels, uint8_t* memory) {
    Arrays arrays(memory);
    n_groups = groups_of(shape, kernels);
    arrays.take(values, n_groups * kernels.group_width * shape.n_in / 2);
    arrays.take(scales, n_groups * kernels.group_width * shape.n_blocks());
    bytes = arrays.used();
  }
};

// Of one thread.
struct PanelMemory {
  float* row;         // [n_in]
  int16_t* integers;  // [n_in, lanes], before they are put side by side
  float* row_scales;  // [n_blocks]
  int32_t* panel;     // [panel_width, n_in / 2]
  float* scales;      // [panel_width, n_blocks]
  float* sums;        // [panel_width, tokens of all groups]
  int64_t bytes;

  PanelMemory(const ProductShape& shape, const KernelSet& kernels, uint8_t* memory) {
    const int64_t width = kernels.panel_width;
    Arrays arrays(memory);
    arrays.take(row, shape.n_in);
    arrays.take(integers, shape.n_in * kernels.lanes);
    arrays.take(row_scales, shape.n_blocks());
    arrays.take(panel, shape.n_in / 2 * width);
    arrays.take(scales, shape.n_blocks() * width);
    arrays.take(sums, width * groups_of(shape, kernels) * kernels.group_width);
    bytes = arrays.used();
  }
};

// Both in scratch memory, which is held against what was planned.
struct Memory {
  InputMemory inputs;
  PanelMemory panel;

  Memory(const ProductPlan& plan, std::span<uint8_t> scratch, int thread)
      : inputs(plan.shape, *plan.kernels, first_line(scratch)),
        panel(plan.shape, *plan.kernels, first_line(scratch) + inputs.bytes + thread * plan.work_bytes) {
    const uint8_t* end = first_line(scratch) + inputs.bytes + (thread + 1) * plan.work_bytes;
    RKV_CHECK(end <= scratch.data() + scratch.size());
  }
};

}  // namespace

bool product_supports(int64_t n_in) { return n_in > 0 && n_in % kGranule == 0; }

ProductPlan plan_product(int64_t n_in, int64_t n_tokens, int n_threads, const KernelSet& kernels) {
  RKV_CHECK(product_supports(n_in) && n_tokens > 0);
  int64_t granules = kBlockGranules;
  while (n_in / kGranule % granules != 0) --granules;
  ProductPlan plan;
  plan.shape = {n_in, n_tokens, granules * kGranule};
  plan.kernels = &kernels;
  plan.work_bytes = PanelMemory(plan.shape, kernels, nullptr).bytes;
  plan.scratch_bytes = kCacheLine + InputMemory(plan.shape, kernels, nullptr).bytes + n_threads * plan.work_bytes;
  return plan;
}

void pack_inputs(const ProductPlan& plan, const float* x, int64_t stride, std::span<uint8_t> scratch, int thread,
                 int n_threads) {
  const ProductShape& shape = plan.shape;
  const KernelSet& kernels = *plan.kernels;
  const int64_t width = kernels.group_width;
  const auto [inputs, memory] = Memory(plan, scratch, thread);
  for (int64_t i = inputs.n_groups * thread / n_threads; i < inputs.n_groups * (thread + 1) / n_threads; ++i) {
    float* scales = inputs.scales + i * shape.n_blocks() * width;
    for (int64_t a = 0; a < width; ++a) {
      const int64_t token = std::min(i * width + a, shape.n_tokens - 1);  // what fills the last group is not looked at
      kernels.to_integers(x + token * stride, shape.n_in, shape.n_block, memory.integers + a * shape.n_in,
                          memory.row_scales);
      for (int64_t block = 0; block < shape.n_blocks(); ++block) scales[block * width + a] = memory.row_scales[block];
    }
    kernels.fill_group(shape, memory.integers, inputs.values + i * shape.n_in / 2 * width);
  }
}

void multiply(const ProductPlan& plan, const WeightRows& weights, float* out, std::span<uint8_t> scratch,
              std::atomic<int64_t>& next_panel, int thread) {
  const ProductShape& shape = plan.shape;
  const KernelSet& kernels = *plan.kernels;
  const int64_t width = kernels.panel_width;
  const auto [inputs, memory] = Memory(plan, scratch, thread);

  const auto read =
      weights.type == WeightType::kOther ? weights.read : kernels.read_weights[static_cast<size_t>(weights.type)];
  const int64_t n_panels = (weights.n_rows + width - 1) / width;
  for (int64_t i = next_panel.fetch_add(1); i < n_panels; i = next_panel.fetch_add(1)) {
    const int64_t first_row = i * width;
    const int64_t n_rows = std::min(width, weights.n_rows - first_row);
    for (int64_t lane = 0; lane < width; ++lane) {
      int16_t* integers = memory.integers + lane % kernels.lanes * shape.n_in;
      if (lane < n_rows) {
        read(weights.data + (first_row + lane) * weights.row_bytes, memory.row, shape.n_in);
      } else {
        std::fill_n(memory.row, shape.n_in, 0.0F);
      }
      kernels.to_integers(memory.row, shape.n_in, shape.n_block, integers, memory.row_scales);
      for (int64_t block = 0; block < shape.n_blocks(); ++block) {
        memory.scales[block * width + lane] = memory.row_scales[block];
      }
      if ((lane + 1) % kernels.lanes == 0) {
        kernels.fill_panel(shape, memory.integers, lane + 1 - kernels.lanes, memory.panel);
      }
    }
    const PackedInputs packed = {inputs.n_groups, inputs.values, inputs.scales};
    if (n_rows == width) {
      kernels.multiply_panel(shape, packed, {memory.panel, memory.scales}, memory.sums, out + first_row,
                             weights.n_rows);
    } else {
      kernels.multiply_panel(shape, packed, {memory.panel, memory.scales}, memory.sums, memory.sums, width);
      for (int64_t token = 0; token < shape.n_tokens; ++token) {
        std::copy_n(memory.sums + token * width, n_rows, out + token * weights.n_rows + first_row);
      }
    }
  }
}

int64_t FewTokens::scratch_bytes(int n_threads) const {
  return kCacheLine + n_threads * kernels->token_bytes(n_in, n_tokens);
}

void multiply_few(const FewTokens& tokens, const float* x, int64_t stride, std::span<const WeightRows> weights,
                  float* out, std::span<uint8_t> scratch, int thread, int n_threads) {
  const KernelSet& kernels = *tokens.kernels;
  RKV_CHECK(tokens.scratch_bytes(thread + 1) <= static_cast<int64_t>(scratch.size()));
  uint8_t* work = first_line(scratch) + thread * kernels.token_bytes(tokens.n_in, tokens.n_tokens);
  int64_t n_out = 0;
  for (const WeightRows& matrix : weights) n_out += matrix.n_rows;
  bool packed = false;
  for (const WeightRows& matrix : weights) {
    const auto multiply_rows = kernels.multiply_rows[static_cast<size_t>(matrix.type)];
    const int64_t n_units = (matrix.n_rows + kernels.lanes - 1) / kernels.lanes;
    const int64_t end = n_units * (thread + 1) / n_threads;
    for (int64_t unit = n_units * thread / n_threads; unit < end; ++unit) {
      if (!packed) kernels.pack_tokens(tokens.n_in, tokens.n_tokens, x, stride, work);
      packed = true;
      const int64_t row = unit * kernels.lanes;
      multiply_rows(tokens.n_in, tokens.n_tokens, matrix.data + row * matrix.row_bytes,
                    std::min(kernels.lanes, matrix.n_rows - row), out + row, n_out, work);
    }
    out += matrix.n_rows;
  }
}

}  // namespace ripplekv
