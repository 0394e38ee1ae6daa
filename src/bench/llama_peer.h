// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LlamaPeer: the work of `bench` through libllama, with its own full cache, in several settings. Each call makes a
// fresh context; only the work itself is timed. Shares ggml's thread pool with whatever else runs in the process: one
// call at a time. What ours does and how the two compare is bench.h's business.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ripplekv/kv_type.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

struct llama_model;

namespace ripplekv {

struct LlamaSetting {
  std::string name;
  bool flash_attention = false;
  KvFormat format;
};

// All that are tried. Without flash attention libllama quantises no V.
const std::vector<LlamaSetting>& llama_settings();

struct LlamaPeerOptions {
  std::string path;  // of the model file, read as it is
  int n_threads = 1;
  int n_ubatch = 512;
  int n_gpu_layers = 0;
  const std::atomic<bool>* cancel = nullptr;  // must outlive the peer
};

class LlamaPeer {
 public:
  static Result<std::unique_ptr<LlamaPeer>> load(const LlamaPeerOptions& options);
  ~LlamaPeer();
  LlamaPeer(const LlamaPeer&) = delete;
  LlamaPeer& operator=(const LlamaPeer&) = delete;

  // Bytes of cache and scores that a context of n tokens takes, about.
  static int64_t bytes_needed(const ModelConfig& config, const LlamaSetting& setting, int64_t n, int n_ubatch);

  // Seconds from the prompt to the logits of its last token. Errors of all: a context that cannot be made, cancelled.
  Result<double> prefill(std::span<const int32_t> prompt, const LlamaSetting& setting) const;

  // Seconds of one token after the other behind a prompt. Rows beyond the first chunk of the prompt are copies of it:
  // what attention costs does not hang on what they hold. Models with sliding windows read the whole prompt.
  Result<double> decode(std::span<const int32_t> prompt, std::span<const int32_t> tokens,
                        const LlamaSetting& setting) const;

  // The last chunk of a prompt, behind copies as above: the memory of prefilling all of it.
  Status prefill_end(std::span<const int32_t> prompt, const LlamaSetting& setting) const;

 private:
  class Context;
  explicit LlamaPeer(const LlamaPeerOptions& options) : options_(options) {}
  const LlamaPeerOptions options_;
  llama_model* model_ = nullptr;
};

}  // namespace ripplekv
