// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Architecture: what differs between model families, one file each (arch_<name>.cpp): reading the configuration, naming
// the tensors, and the graph of one layer. Everything else (cache, chunks, batches, taps) is shared.
// To add one: write arch_<name>.cpp, add a line to architecture.cpp (CONTRIBUTING.md has the recipe).
#pragma once

#include <span>
#include <string_view>

#include "model/gguf_file.h"
#include "model/weights.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

struct ggml_tensor;

namespace ripplekv {

class LayerGraph;  // graph.h

struct Architecture {
  std::string_view name;     // general.architecture
  std::string_view summary;  // the models people know it by
  Status (*read_config)(const GgufFile& file, ModelConfig& config);
  void (*bind_weights)(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights);
  // x: F32 [n_embd, n_tokens], the input of layer il -> its output, same shape.
  ggml_tensor* (*build_layer)(LayerGraph& graph, int il, ggml_tensor* x);
};

std::span<const Architecture* const> architecture_registry();

// Errors: kUnsupported, naming the architecture and those that exist.
Result<const Architecture*> find_architecture(std::string_view name);

// Keys every decoder family shares, under "<architecture>.": sizes, heads, RoPE, norm. Refuses what no graph here does
// (experts, per-layer head counts, unknown RoPE scaling) by name.
Status read_common_config(const GgufFile& file, ModelConfig& config);

extern const Architecture kArchLlama;

}  // namespace ripplekv
