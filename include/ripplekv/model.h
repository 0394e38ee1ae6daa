// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Model: weights, shape and tokenizer of one GGUF file. Immutable after load() and safe to share between threads and
// engines; owns the mapping of the file and every weight buffer. Running it is Engine's business (engine.h).
// Everything in the file is checked before ggml sees it: a bad file is a Status, never an abort.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ripplekv/kv_cache.h"
#include "ripplekv/model_id.h"
#include "ripplekv/status.h"

namespace ripplekv {

struct ModelWeights;  // src/model/weights.h
struct Architecture;  // src/model/architecture.h
class Vocab;          // src/model/vocab.h
class WeightStore;    // src/model/weights.h

enum class RopeScaling { kNone, kLinear, kYarn, kLongRope };

// Rotary position embedding (Su et al. 2021, arXiv:2104.09864), one set of layers that rotate alike.
struct RopeConfig {
  int mode = 0;   // ggml's: 0 pairs neighbours, 2 pairs halves
  int n_rot = 0;  // rotated values per head, the first ones
  float freq_base = 0;
  RopeScaling scaling = RopeScaling::kNone;
  float freq_scale = 1;    // 1 / scaling factor
  int64_t n_ctx_orig = 0;  // positions trained for before scaling
  float attn_factor = 1;   // of rotated Q and K, beside what YaRN itself multiplies them with
  bool operator==(const RopeConfig&) const = default;
};

struct ModelConfig {
  std::string architecture;
  int n_layer = 0;
  int n_embd = 0;
  int n_head = 0;     // query heads
  int n_head_kv = 0;  // KV heads; n_head is a multiple
  int head_dim = 0;   // of K and V
  int n_ff = 0;
  int n_vocab = 0;
  int64_t n_ctx_train = 0;
  int64_t n_ctx = 0;  // positions a sequence may have: ModelOptions::n_ctx, or n_ctx_train
  float norm_rms_eps = 0;
  float attention_scale = 0;
  float embedding_scale = 1;  // of the token embeddings, before the first layer
  RopeConfig rope;
  // Layers with a sliding window see the rows of their last so many positions, their own included, and rotate by
  // rope_sliding. [n_layer], 0: the layer sees all; empty: all layers do.
  std::vector<int64_t> windows;
  RopeConfig rope_sliding;
  int64_t window_of(int il) const { return windows.empty() ? 0 : windows[static_cast<size_t>(il)]; }
  const RopeConfig& rope_of(int il) const { return window_of(il) > 0 ? rope_sliding : rope; }
  LayerShape layer_shape() const { return {head_dim, n_head_kv}; }
};

// As in the file (mapped), or dequantised at load: F32, or BF16 for matrices (half the memory; norms stay F32).
enum class WeightsMode { kNative, kF32, kBf16 };

// Does this build have a GPU backend and this machine a device for it?
bool gpu_available();

struct ModelOptions {
  WeightsMode weights = WeightsMode::kNative;
  int n_gpu_layers = 0;  // last layers placed on the first GPU backend of this build; more than n_layer: the output too
  int64_t n_ctx = 0;  // positions a sequence may have; 0: as trained. LongRoPE's factors and what is refused hang on it
};

class Model {
 public:
  // Errors: not a readable GGUF file, unsupported architecture, dtype or feature (named), missing or misshapen tensors.
  static Result<std::shared_ptr<const Model>> load(const std::string& path, const ModelOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelConfig& config() const { return config_; }
  const ModelId& id() const { return id_; }
  const std::string& path() const { return path_; }
  const std::string& quantisation() const { return quantisation_; }  // dtypes of the weights: "Q4_1 x210, F32 x61"
  int64_t weights_bytes() const;                                     // as held, after dequantisation
  const Vocab& vocab() const { return *vocab_; }

  // For the graph code.
  const Architecture& architecture() const { return *architecture_; }
  const ModelWeights& weights() const { return *weights_; }
  const WeightStore& store() const { return *store_; }

 private:
  Model();

  std::string path_;
  std::string quantisation_;
  ModelConfig config_;
  ModelId id_;
  const Architecture* architecture_ = nullptr;
  std::unique_ptr<WeightStore> store_;
  std::unique_ptr<ModelWeights> weights_;
  std::unique_ptr<Vocab> vocab_;
};

}  // namespace ripplekv
