// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ModelWeights: the tensors of a model by their role, with shapes. WeightBinder: hands them out by name, checking shape
// and dtype. WeightStore: owns their memory (the mapping, or buffers filled at load) and decides the device of a layer.
// Shapes are ggml order; dtype is the file's, or what ModelOptions::weights makes of it.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "model/gguf_file.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

struct ggml_tensor;
struct ggml_context;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;
struct ggml_backend_device;

namespace ripplekv {

struct LayerWeights {
  ggml_tensor* attn_norm = nullptr;    // [n_embd]
  ggml_tensor* attn_q = nullptr;       // [n_embd, head_dim * n_head]
  ggml_tensor* attn_k = nullptr;       // [n_embd, head_dim * n_head_kv]
  ggml_tensor* attn_v = nullptr;       // [n_embd, head_dim * n_head_kv]
  ggml_tensor* attn_q_bias = nullptr;  // [head_dim * n_head] or null; likewise below
  ggml_tensor* attn_k_bias = nullptr;
  ggml_tensor* attn_v_bias = nullptr;
  ggml_tensor* attn_qkv = nullptr;  // [n_embd, head_dim * (n_head + 2 * n_head_kv)] in place of the six above, or null
  ggml_tensor* attn_qkv_bias = nullptr;
  ggml_tensor* attn_q_norm = nullptr;  // [head_dim] or null: of each head, before the rotation
  ggml_tensor* attn_k_norm = nullptr;
  ggml_tensor* attn_out = nullptr;  // [head_dim * n_head, n_embd]
  ggml_tensor* attn_out_bias = nullptr;
  ggml_tensor* rope_factors = nullptr;    // F32 [n_rot / 2] or null: divisors of the rotation frequencies
  ggml_tensor* attn_post_norm = nullptr;  // [n_embd] or null: of what attention and feed-forward add to the residual
  ggml_tensor* ffn_post_norm = nullptr;
  ggml_tensor* ffn_norm = nullptr;  // [n_embd]
  ggml_tensor* ffn_gate = nullptr;  // [n_embd, n_ff]; null: in ffn_up
  ggml_tensor* ffn_up = nullptr;    // [n_embd, n_ff], or gate and up [n_embd, 2 * n_ff]
  ggml_tensor* ffn_down = nullptr;  // [n_ff, n_embd]
};

struct ModelWeights {
  ggml_tensor* token_embd = nullptr;   // [n_embd, n_vocab]
  ggml_tensor* output_norm = nullptr;  // [n_embd]
  ggml_tensor* output = nullptr;       // [n_embd, n_vocab]; token_embd where tied
  std::vector<LayerWeights> layers;
};

class WeightStore {
 public:
  // Takes over the file. Errors: GPU layers asked for in a build without a GPU backend.
  static Result<std::unique_ptr<WeightStore>> create(std::unique_ptr<GgufFile> file, const ModelOptions& options,
                                                     int n_layer);
  ~WeightStore();

  const GgufFile& file() const { return *file_; }
  int64_t bytes() const { return bytes_; }

  // Devices in use, the CPU last, and which of them a layer lies on (n_layer: the output head).
  const std::vector<ggml_backend_device*>& devices() const { return devices_; }
  ggml_backend_buffer_type* layer_buffer_type(int il) const;

  // Memory for everything bound so far, filled from the file.
  Status load();
  // GgufFile::check_size() where weights lie in the mapped file; ok where they do not.
  Status check_mapping() const { return is_mapped_ ? file_->check_size() : ok_status(); }

 private:
  friend class WeightBinder;
  struct Bound {
    ggml_tensor* tensor;
    int64_t id;
  };
  struct Place {  // tensors of one device
    ggml_backend_buffer_type* buffer_type = nullptr;
    ggml_context* context = nullptr;
    ggml_backend_buffer* buffer = nullptr;
    std::vector<Bound> bound;
  };

  WeightStore() = default;
  size_t place_of(int il) const;
  Status map_in_place(Place& place);
  Status fill(Place& place);

  std::unique_ptr<GgufFile> file_;
  ModelOptions options_;
  int n_layer_ = 0;
  int64_t bytes_ = 0;
  bool is_mapped_ = false;
  std::vector<ggml_backend_device*> devices_;
  std::vector<Place> places_;  // one per device
};

// Collects the first error; bind functions stay a list of names and shapes.
class WeightBinder {
 public:
  explicit WeightBinder(WeightStore& store) : store_(store) {}

  // il: the layer whose device the tensor goes to; kInput: always the CPU; kOutput: with the output head.
  static constexpr int kInput = -1;
  static constexpr int kOutput = -2;
  ggml_tensor* required(const std::string& name, std::initializer_list<int64_t> shape, int il);
  ggml_tensor* optional(const std::string& name, std::initializer_list<int64_t> shape, int il);

  // The first error; or a tensor of the file that nobody asked for: ignoring it would give wrong answers.
  Status finish() const;

 private:
  WeightStore& store_;
  Status status_;
};

}  // namespace ripplekv
