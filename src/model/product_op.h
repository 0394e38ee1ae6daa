// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The products of src/kernels/product.h as ops of a ggml graph. Of many tokens one op packs the inputs, which any
// number of products share; the barrier between nodes separates these phases, and what the first makes is also the
// threads' scratch memory, so that ggml plans it with the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/product.h"

struct ggml_context;
struct ggml_tensor;

namespace ripplekv {

// What threads take panels from; begins anew when all have come to its end, since a graph may be computed again.
struct PanelCounter {
  std::atomic<int64_t> next = 0;
  std::atomic<int> n_done = 0;
  void done(int n_threads) {
    if (n_done.fetch_add(1) + 1 < n_threads) return;
    next.store(0);
    n_done.store(0);
  }
};

// Must stay where it is until the graph is computed; likewise below.
class PackedInputsOp {
 public:
  // x: F32 [n_in, n_tokens], rows may be strided.
  PackedInputsOp(ggml_context* context, ggml_tensor* x, int n_threads);
  ggml_tensor* tensor() const { return tensor_; }
  const ProductPlan& plan() const { return plan_; }

 private:
  static void run(ggml_tensor* packed, int thread, int n_threads, void* op);
  ProductPlan plan_;
  ggml_tensor* tensor_ = nullptr;
};

// Many tokens; weights of any type but F32, which is left exact.
class ProductOp {
 public:
  static bool supports(const ggml_tensor* weight, const ggml_tensor* x);

  explicit ProductOp(const PackedInputsOp& inputs) : inputs_(inputs) {}
  // weight: [n_in, n_out] -> F32 [n_out, n_tokens]
  ggml_tensor* add(ggml_context* context, ggml_tensor* weight);

 private:
  static void run(ggml_tensor* out, int thread, int n_threads, void* op);
  const PackedInputsOp& inputs_;
  PanelCounter counter_;
};

// A few tokens; weights of a WeightType. Several matrices may share a node, and with it a barrier of all threads and
// the packing of the tokens: their results lie one behind the other.
class FewProductOp {
 public:
  static bool supports(const ggml_tensor* weight, const ggml_tensor* x);

  // weights: [n_in, n_out_i], at most kWeightsMax -> F32 [sum of n_out_i, n_tokens].
  // scratch: shared by all ops of a graph, whose nodes run one after another; grows here.
  static constexpr size_t kWeightsMax = 3;
  ggml_tensor* add(ggml_context* context, std::span<ggml_tensor* const> weights, ggml_tensor* x,
                   std::vector<uint8_t>& scratch, int n_threads);

 private:
  static void run(ggml_tensor* out, int thread, int n_threads, void* op);
  FewTokens tokens_;
  std::vector<uint8_t>* scratch_ = nullptr;
};

}  // namespace ripplekv
