// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Products with weights beside ggml_mul_mat, both as ops of a ggml graph on the CPU backend: the shapes of SmolLM2's
// feed-forward, which are most of its work (items/s: floating point operations). Names: tokens, weight type, who. Pairs
// with tests/kernels; run by ctest at toy size. docs/performance.md has the command and the numbers.
#include <benchmark/benchmark.h>
#include <ggml.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "cpu_graph.h"
#include "model/cpu_compute.h"
#include "model/product_op.h"

namespace ripplekv {
namespace {

constexpr int64_t kEmbd = 576;
constexpr int64_t kFf = 1536;
constexpr int kThreads = 2;

// Up (and, of the same shape, gate) and down, over the weights of several layers.
class Products {
 public:
  Products(CpuKernels by, ggml_type type, int64_t n_tokens, int64_t n_layers)
      : graph_(16 * static_cast<size_t>(n_layers + 1), kThreads) {
    ggml_tensor* x = ggml_new_tensor_2d(graph_.inputs(), GGML_TYPE_F32, kEmbd, n_tokens);
    std::vector<ggml_tensor*> weights;
    for (int64_t i = 0; i < n_layers; ++i) {
      weights.push_back(ggml_new_tensor_2d(graph_.inputs(), type, kEmbd, kFf));
      weights.push_back(ggml_new_tensor_2d(graph_.inputs(), type, kEmbd, kFf));
      weights.push_back(ggml_new_tensor_2d(graph_.inputs(), type, kFf, kEmbd));
    }
    graph_.place_inputs();
    CpuGraph::fill(x);
    for (ggml_tensor* weight : weights) CpuGraph::fill(weight);

    const auto product = [&](ggml_tensor* weight, ggml_tensor* input) {
      if (by == CpuKernels::kOurs && FewProductOp::supports(weight, input)) {
        return few_ops_.emplace_back().add(graph_.nodes(), {&weight, 1}, input, scratch_, kThreads);
      }
      if (by == CpuKernels::kGgml || !ProductOp::supports(weight, input))
        return ggml_mul_mat(graph_.nodes(), weight, input);
      if (packed_.empty() || packed_.back().tensor()->src[0] != input)
        packed_.emplace_back(graph_.nodes(), input, kThreads);
      return ops_.emplace_back(packed_.back()).add(graph_.nodes(), weight);
    };
    for (size_t i = 0; i < weights.size(); i += 3) {
      ggml_tensor* up = product(weights[i], x);
      ggml_tensor* gate = product(weights[i + 1], x);
      x = product(weights[i + 2], ggml_swiglu_split(graph_.nodes(), gate, up));
    }
    ggml_build_forward_expand(graph_.graph(), x);
    graph_.plan();
  }

  void compute() { graph_.compute(); }

 private:
  CpuGraph graph_;
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
