// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// CpuGraph: a ggml graph of the CPU backend over inputs with random values, to be computed again and again. Inputs are
// made in inputs() and placed, then nodes in nodes(), added to graph() and planned.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <vector>

#include "base/random.h"
#include "ripplekv/status.h"

namespace ripplekv {

class CpuGraph {
 public:
  // n_tensors: upper bound of the inputs, and of the nodes.
  CpuGraph(size_t n_tensors, int n_threads) : backend_(ggml_backend_cpu_init()) {
    ggml_backend_cpu_set_n_threads(backend_, n_threads);
    const size_t overhead = ggml_tensor_overhead() * n_tensors + ggml_graph_overhead();
    inputs_ = ggml_init({overhead, nullptr, /*no_alloc=*/true});
    nodes_ = ggml_init({overhead, nullptr, /*no_alloc=*/true});
    graph_ = ggml_new_graph(nodes_);
  }
  ~CpuGraph() {
    ggml_gallocr_free(allocator_);
    ggml_free(nodes_);
    ggml_backend_buffer_free(buffer_);
    ggml_free(inputs_);
    ggml_backend_free(backend_);
  }
  CpuGraph(const CpuGraph&) = delete;
  CpuGraph& operator=(const CpuGraph&) = delete;

  ggml_context* inputs() { return inputs_; }
  ggml_context* nodes() { return nodes_; }
  ggml_cgraph* graph() { return graph_; }
  void place_inputs() { buffer_ = ggml_backend_alloc_ctx_tensors(inputs_, backend_); }
  void plan() {
    allocator_ = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    RKV_CHECK(ggml_gallocr_alloc_graph(allocator_, graph_));
  }
  void compute() { RKV_CHECK(ggml_backend_graph_compute(backend_, graph_) == GGML_STATUS_SUCCESS); }

  // From -1 to 1, rounded to the tensor's type.
  static void fill(ggml_tensor* tensor) {
    Random random(1);
    std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
    for (float& value : values) value = static_cast<float>(2.0 * random.uniform() - 1.0);
    if (tensor->type == GGML_TYPE_F32) {
      ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    } else {
      ggml_quantize_chunk(tensor->type, values.data(), tensor->data, 0, ggml_nrows(tensor), tensor->ne[0], nullptr);
    }
  }

 private:
  ggml_backend_t backend_;
  ggml_context* inputs_ = nullptr;
  ggml_context* nodes_ = nullptr;
  ggml_backend_buffer_t buffer_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
  ggml_gallocr_t allocator_ = nullptr;
};

}  // namespace ripplekv
