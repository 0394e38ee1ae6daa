// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What compression costs beside the model: scoring, top-k, rows per layer. Pairs with tests/selection and
// tests/allocation; run by ctest at toy size so that it cannot rot. build/bench/prune_bench prints real numbers.
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "base/random.h"
#include "ripplekv/allocation.h"
#include "ripplekv/selection.h"

namespace ripplekv {
namespace {

std::vector<float> random_values(int64_t n) {
  Random random(1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = static_cast<float>(random.uniform());
  return values;
}

// Rows of one layer with 3 KV heads, a tenth kept.
void prune_rows(benchmark::State& state) {
  const int64_t n_rows = state.range(0);
  const std::vector<float> scores = random_values(n_rows * 3);
  for (auto _ : state) benchmark::DoNotOptimize(prune(scores, n_rows, 3, n_rows / 10, {.n_sink = 0, .n_window = 32}));
  state.SetItemsProcessed(state.iterations() * n_rows * 3);
}
BENCHMARK(prune_rows)->Arg(2048)->Arg(8192)->Arg(131072);

void snapkv_score(benchmark::State& state) {
  LayerTaps taps;
  taps.n_rows = state.range(0);
  taps.n_head = 9;
  taps.n_head_kv = 3;
  taps.n_window = 32;
  const std::vector<float> attention = random_values(taps.n_rows * taps.n_head);
  taps.window_attention = attention;
  const auto selector = make_selector("snapkv", {});
  for (auto _ : state) benchmark::DoNotOptimize((*selector)->score(taps));
  state.SetItemsProcessed(state.iterations() * taps.n_rows * taps.n_head);
}
BENCHMARK(snapkv_score)->Arg(2048)->Arg(8192)->Arg(131072);

void rows_of_layers(benchmark::State& state) {
  const auto n_layer = static_cast<int>(state.range(0));
  std::vector<double> sensitivity(static_cast<size_t>(n_layer));
  std::iota(sensitivity.begin(), sensitivity.end(), 1.0);
  const auto weights = ripple_weights(sensitivity, {});
  for (auto _ : state) benchmark::DoNotOptimize(rows_for(*weights, 819 * n_layer, 40, 8192));
}
BENCHMARK(rows_of_layers)->Arg(30)->Arg(80);

}  // namespace
}  // namespace ripplekv

BENCHMARK_MAIN();
