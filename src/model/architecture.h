// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Architecture: what differs between model families, one file each (arch_<name>.cpp): reading the configuration, naming
// the tensors, and the graph of one layer. Everything else (cache, chunks, batches, taps) is shared.
// To add one: write arch_<name>.cpp, add a line to architecture.cpp (CONTRIBUTING.md has the recipe).
#pragma once

#include <span>
#include <string>
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

// For architectures whose graph attends to all rows: refuses a sliding window that a sequence of n_ctx would outgrow.
Status refuse_sliding_window(const GgufFile& file, const ModelConfig& config);

// For architectures whose weights have no LongRoPE factors.
Status refuse_long_rope(const GgufFile& file, const ModelConfig& config);

// Tensors that families share. Embedding, last norm and head; the embedding is the head too where the file has none.
void bind_embeddings(WeightBinder& binder, const ModelConfig& config, ModelWeights& weights);
// Q, K and V of a layer with the biases there are: one tensor each, or attn_qkv for all.
void bind_qkv(WeightBinder& binder, const ModelConfig& config, int il, LayerWeights& layer);
// LongRoPE's two tables -> the one for sequences of n_ctx; null if the file has neither.
ggml_tensor* bind_long_rope(WeightBinder& binder, const ModelConfig& config);

// "blk.<il>.<suffix>"
std::string layer_tensor(int il, std::string_view suffix);

extern const Architecture kArchGemma3;
extern const Architecture kArchLlama;
extern const Architecture kArchPhi3;
extern const Architecture kArchQwen2;
extern const Architecture kArchQwen3;

}  // namespace ripplekv
