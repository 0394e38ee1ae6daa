// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Products with weights beside ggml_mul_mat, both as ops of a ggml graph on the CPU backend: the shapes of SmolLM2's
// feed-forward, which are most of its work (items/s: floating point operations). Names: tokens, weight type, who. Pairs
// with tests/kernels; run by ctest at toy size. docs/performance.md has the command and the numbers.
#include <benchmark/benchmark.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/cpu_compute.h"
#include "model/product_op.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

constexpr int64_t kEmbd = 576;
constexpr int64_t kFf = 1536;
constexpr int kThreads = 2;

// Up (and, of the same shape, gate) and down, over the weights of several layers.
class Products {
 public:
  Products(CpuKernels by, ggml_type type, int64_t n_tokens, int64_t n_layers) {
    backend_ = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend_, kThreads);
    const size_t overhead = ggml_tensor_overhead() * 16 * static_cast<size_t>(n_layers + 1) + ggml_graph_overhead();
    inputs_ = ggml_init({overhead, nullptr, /*no_alloc=*/true});
    context_ = ggml_init({overhead, nullptr, /*no_alloc=*/true});
    ggml_tensor* x = ggml_new_tensor_2d(inputs_, GGML_TYPE_F32, kEmbd, n_tokens);
    std::vector<ggml_tensor*> weights;
    for (int64_t i = 0; i < n_layers; ++i) {
      weights.push_back(ggml_new_tensor_2d(inputs_, type, kEmbd, kFf));
      weights.push_back(ggml_new_tensor_2d(inputs_, type, kEmbd, kFf));
      weights.push_back(ggml_new_tensor_2d(inputs_, type, kFf, kEmbd));
    }
    buffer_ = ggml_backend_alloc_ctx_tensors(inputs_, backend_);
    fill(x);
    for (ggml_tensor* weight : weights) fill(weight);

    graph_ = ggml_new_graph(context_);
    const auto product = [&](ggml_tensor* weight, ggml_tensor* input) {
      if (by == CpuKernels::kOurs && FewProductOp::supports(weight, input)) {
        return few_ops_.emplace_back().add(context_, weight, input, scratch_, kThreads);
      }
      if (by == CpuKernels::kGgml || !ProductOp::supports(weight, input)) return ggml_mul_mat(context_, weight, input);
      if (packed_.empty() || packed_.back().tensor()->src[0] != input) packed_.emplace_back(context_, input, kThreads);
      return ops_.emplace_back(packed_.back()).add(context_, weight);
    };
    for (size_t i = 0; i < weights.size(); i += 3) {
      ggml_tensor* up = product(weights[i], x);
      ggml_tensor* gate = product(weights[i + 1], x);
      x = product(weights[i + 2], ggml_swiglu_split(context_, gate, up));
    }
    ggml_build_forward_expand(graph_, x);
    allocator_ = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    RKV_CHECK(ggml_gallocr_alloc_graph(allocator_, graph_));
  }

  ~Products() {
    ggml_gallocr_free(allocator_);
    ggml_free(context_);
    ggml_backend_buffer_free(buffer_);
    ggml_free(inputs_);
    ggml_backend_free(backend_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void compute() { RKV_CHECK(ggml_backend_graph_compute(backend_, graph_) == GGML_STATUS_SUCCESS); }

 private:
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

  ggml_backend_t backend_ = nullptr;
  ggml_context* inputs_ = nullptr;
  ggml_context* context_ = nullptr;
  ggml_backend_buffer_t buffer_ = nullptr;
  ggml_gallocr_t allocator_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
  std::deque<PackedInputsOp> packed_;  // never moved: the graph points to them
  std::deque<ProductOp> ops_;
  std::deque<FewProductOp> few_ops_;
  std::vector<uint8_t> scratch_;
};

void multiply(benchmark::State& state, CpuKernels by, ggml_type type) {
  const int64_t n_layers = state.range(0) > 64 ? 4 : 30;
  Products products(by, type, state.range(0), n_layers);
  for (auto _ : state) products.compute();
  state.SetItemsProcessed(state.iterations() * n_layers * state.range(0) * 3 * 2 * kEmbd * kFf);
}

void register_all() {
  for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q8_0, GGML_TYPE_BF16}) {
    for (const CpuKernels by : {CpuKernels::kOurs, CpuKernels::kGgml}) {
      const std::string who = by == CpuKernels::kOurs ? "/ours" : "/ggml";
      benchmark::RegisterBenchmark((ggml_type_name(type) + who).c_str(), multiply, by, type)
          ->Arg(1)
          ->Arg(4)
          ->Arg(16)
          ->Arg(32)
          ->Arg(512)
          ->MeasureProcessCPUTime()
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace ripplekv

int main(int argc, char** argv) {
  ripplekv::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
