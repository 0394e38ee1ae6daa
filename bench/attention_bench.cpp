// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Attention kernels beside ggml_flash_attn_ext, both as ops of a ggml graph on the CPU backend: SmolLM2's heads, decode
// (bytes/s: K and V) and prefill (items/s: floating point operations). Names: rows, kv type, who. Pairs with
// tests/kernels; run by ctest at toy size. docs/performance.md has the command and the numbers.
#include <benchmark/benchmark.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cpu_graph.h"
#include "model/attention_op.h"
#include "model/cpu_compute.h"

namespace ripplekv {
namespace {

constexpr int64_t kHeadDim = 64;
constexpr int64_t kHeads = 9;
constexpr int64_t kHeadsKv = 3;
constexpr int kThreads = 2;
// Rows of all layers together: as in a model, decode finds little of a layer in the processor's caches.
constexpr int64_t kRowsInAll = 65536;

// The same attention over the rows of several layers, in one graph.
class Attention {
 public:
  Attention(CpuKernels by, ggml_type type, int64_t n_rows, int64_t n_query, int64_t n_layers)
      : graph_(16 * static_cast<size_t>(n_layers + 1), kThreads) {
    ggml_tensor* q = ggml_new_tensor_3d(graph_.inputs(), GGML_TYPE_F32, kHeadDim, kHeads, n_query);
    ggml_tensor* mask = ggml_new_tensor_2d(graph_.inputs(), GGML_TYPE_F16, n_rows, n_query);
    std::vector<ggml_tensor*> rows;
    for (int64_t i = 0; i < 2 * n_layers; ++i) {
      rows.push_back(ggml_new_tensor_3d(graph_.inputs(), type, kHeadDim, n_rows, kHeadsKv));
    }
    graph_.place_inputs();
    CpuGraph::fill(q);
    CpuGraph::fill(rows[0]);
    for (ggml_tensor* tensor : rows) {
      if (tensor != rows[0]) std::memcpy(tensor->data, rows[0]->data, ggml_nbytes(tensor));
    }
    auto* seen = static_cast<ggml_fp16_t*>(mask->data);
    for (int64_t i = 0; i < n_query; ++i) {
      for (int64_t r = 0; r < n_rows; ++r) {
        *seen++ = ggml_fp32_to_fp16(r < n_rows - n_query + i + 1 ? 0.0F : -INFINITY);
      }
    }

    const float scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
    ops_ = std::vector<AttentionOp>(static_cast<size_t>(n_layers));
    for (int64_t i = 0; i < n_layers; ++i) {
      ggml_tensor* queries = ggml_permute(graph_.nodes(), q, 0, 2, 1, 3);
      const auto view = [&](ggml_tensor* x) {
        return ggml_view_3d(graph_.nodes(), x, x->ne[0], x->ne[1], x->ne[2], x->nb[1], x->nb[2], 0);
      };
      ggml_tensor* k = view(rows[static_cast<size_t>(2 * i)]);
      ggml_tensor* v = view(rows[static_cast<size_t>(2 * i + 1)]);
      ggml_tensor* out = nullptr;
      if (by == CpuKernels::kOurs) {
        out = ops_[static_cast<size_t>(i)].add(graph_.nodes(), queries, k, v, {}, scale, 0, {}, kThreads);
      } else {
        out = ggml_flash_attn_ext(graph_.nodes(), queries, k, v, n_query == 1 ? nullptr : mask, scale, 0.0F, 0.0F);
        ggml_prec_set_acc(out, GGML_PREC_F32);
      }
      ggml_build_forward_expand(graph_.graph(), out);
    }
    graph_.plan();
    kv_bytes_ = n_layers * 2 * static_cast<int64_t>(ggml_nbytes(rows[0]));
  }

  void compute() { graph_.compute(); }
  int64_t kv_bytes() const { return kv_bytes_; }

 private:
  CpuGraph graph_;
  std::vector<AttentionOp> ops_;
  int64_t kv_bytes_ = 0;
};

void decode(benchmark::State& state, CpuKernels by, ggml_type type) {
  Attention attention(by, type, state.range(0), 1, std::clamp<int64_t>(kRowsInAll / state.range(0), 1, 16));
  for (auto _ : state) attention.compute();
  state.SetBytesProcessed(state.iterations() * attention.kv_bytes());
}

void prefill(benchmark::State& state, CpuKernels by, ggml_type type) {
  const int64_t n_query = 512;
  const int64_t n_rows = state.range(0);
  Attention attention(by, type, n_rows, n_query, 1);
  for (auto _ : state) attention.compute();
  // Two products of 2 operations per query, visible row and value.
  const int64_t n_seen = n_query * (n_rows - n_query) + n_query * (n_query + 1) / 2;
  state.SetItemsProcessed(state.iterations() * 4 * n_seen * kHeadDim * kHeads);
}

void register_all() {
  for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
    for (const CpuKernels by : {CpuKernels::kOurs, CpuKernels::kGgml}) {
      const std::string name = std::string(ggml_type_name(type)) + (by == CpuKernels::kOurs ? "/ours" : "/ggml");
      benchmark::RegisterBenchmark(("decode/" + name).c_str(), decode, by, type)
          ->Arg(819)
          ->Arg(8192)
          ->Arg(32768)
          ->MeasureProcessCPUTime()
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
      if (type != GGML_TYPE_F16) continue;
      benchmark::RegisterBenchmark(("prefill/" + name).c_str(), prefill, by, type)
          ->Arg(512)
          ->Arg(8192)
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
