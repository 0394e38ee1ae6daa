// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/llama_peer.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <chrono>

#include "cache/ggml_types.h"

namespace ripplekv {
namespace {

constexpr llama_seq_id kPrompt = 0;
constexpr llama_seq_id kPiece = 1;  // where a copy arrives, before its rows are handed to the prompt

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool cancel_requested(void* flag) {
  return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
}

}  // namespace

const std::vector<LlamaSetting>& llama_settings() {
  static const std::vector<LlamaSetting> settings = {
      {"flash attention, f16", true, {KvType::kF16, KvType::kF16}},
      {"flash attention, q8_0", true, {KvType::kQ8_0, KvType::kQ8_0}},
      {"no flash attention, f16", false, {KvType::kF16, KvType::kF16}},
      {"no flash attention, K q8_0, V f16", false, {KvType::kQ8_0, KvType::kF16}},
  };
  return settings;
}

// A llama_context and its one sequence.
class LlamaPeer::Context {
 public:
  Context(const LlamaPeer& peer, int64_t n_ctx, const LlamaSetting& setting) : peer_(peer) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(n_ctx);
    params.n_ubatch = static_cast<uint32_t>(peer.options_.n_ubatch);
    params.n_batch = std::max(params.n_batch, params.n_ubatch);
    params.n_seq_max = 2;
    params.kv_unified = true;  // so that rows change hands without being moved
    params.n_outputs_max = 2;
    params.n_threads = params.n_threads_batch = peer.options_.n_threads;
    params.flash_attn_type = setting.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.type_k = to_ggml(setting.format.k);
    params.type_v = to_ggml(setting.format.v);
    params.swa_full = false;
    if (peer.options_.cancel != nullptr) {
      params.abort_callback = cancel_requested;
      params.abort_callback_data = const_cast<std::atomic<bool>*>(peer.options_.cancel);
    }
    n_batch_ = params.n_batch;
    context_ = llama_init_from_model(peer.model_, params);
  }
  ~Context() {
    if (context_ != nullptr) llama_free(context_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Status check(int64_t n_ctx, const LlamaSetting& setting) const {
    if (context_ != nullptr) return ok_status();
    return resource_exhausted(
        fmt::format("llama.cpp: cannot make a context of {} tokens ({}); -v shows why", n_ctx, setting.name));
  }

  // Appends the tokens to a sequence; logits of the last one alone.
  Status append(std::span<const int32_t> tokens, llama_seq_id sequence) {
    llama_pos position = llama_memory_seq_pos_max(memory(), sequence) + 1;
    for (size_t first = 0; first < tokens.size(); first += n_batch_) {
      const auto part = tokens.subspan(first, std::min<size_t>(n_batch_, tokens.size() - first));
      llama_batch batch = llama_batch_init(static_cast<int32_t>(part.size()), 0, 1);
      batch.n_tokens = static_cast<int32_t>(part.size());
      for (size_t i = 0; i < part.size(); ++i) {
        batch.token[i] = part[i];
        batch.pos[i] = position++;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = sequence;
        batch.logits[i] = first + i + 1 == tokens.size() ? 1 : 0;
      }
      const int32_t failed = llama_decode(context_, batch);
      llama_batch_free(batch);
      const std::atomic<bool>* cancel = peer_.options_.cancel;
      if (cancel != nullptr && cancel->load()) return cancelled("stopped as asked");
      if (failed != 0) {
        return resource_exhausted(fmt::format("llama.cpp: llama_decode() of {} tokens at position {} fails with {}",
                                              part.size(), position - static_cast<llama_pos>(part.size()), failed));
      }
    }
    llama_synchronize(context_);
    return ok_status();
  }

  // The sequence then has as many rows as `tokens`: whole copies of its first chunk, and a part of it.
  Status fill(std::span<const int32_t> tokens) {
    const size_t n_piece = std::min(tokens.size(), static_cast<size_t>(peer_.options_.n_ubatch));
    if (llama_model_n_swa(peer_.model_) > 0 || tokens.size() == n_piece) return append(tokens, kPrompt);
    const size_t n_part = tokens.size() % n_piece;
    std::vector<uint8_t> part;
    if (n_part > 0) {
      RKV_RETURN_IF_ERROR(append(tokens.first(n_part), kPiece));
      part = state();
    }
    RKV_RETURN_IF_ERROR(append(tokens.subspan(n_part, n_piece - n_part), kPiece));
    const std::vector<uint8_t> piece = state();
    llama_memory_seq_rm(memory(), kPiece, -1, -1);
    for (size_t n = 0; n + n_piece <= tokens.size(); n += n_piece) RKV_RETURN_IF_ERROR(adopt(piece));
    return n_part > 0 ? adopt(part) : ok_status();
  }

 private:
  llama_memory_t memory() const { return llama_get_memory(context_); }

  std::vector<uint8_t> state() const {
    std::vector<uint8_t> bytes(llama_state_seq_get_size(context_, kPiece));
    bytes.resize(llama_state_seq_get_data(context_, bytes.data(), bytes.size(), kPiece));
    return bytes;
  }

  Status adopt(const std::vector<uint8_t>& rows) {
    if (llama_state_seq_set_data(context_, rows.data(), rows.size(), kPiece) == 0) {
      return resource_exhausted("llama.cpp: llama_state_seq_set_data() finds no room for rows that the context holds");
    }
    llama_memory_seq_cp(memory(), kPiece, kPrompt, -1, -1);
    llama_memory_seq_rm(memory(), kPiece, -1, -1);
    return ok_status();
  }

  const LlamaPeer& peer_;
  llama_context* context_ = nullptr;
  uint32_t n_batch_ = 0;
};

Result<std::unique_ptr<LlamaPeer>> LlamaPeer::load(const LlamaPeerOptions& options) {
  std::unique_ptr<LlamaPeer> peer(new LlamaPeer(options));
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = options.n_gpu_layers;
  peer->model_ = llama_model_load_from_file(options.path.c_str(), params);
  if (peer->model_ == nullptr) {
    return unsupported(fmt::format("llama.cpp: cannot load '{}'; -v shows why", options.path));
  }
  return peer;
}

LlamaPeer::~LlamaPeer() {
  if (model_ != nullptr) llama_model_free(model_);
}

int64_t LlamaPeer::bytes_needed(const ModelConfig& config, const LlamaSetting& setting, int64_t n, int n_ubatch) {
  const int64_t rows = n * config.n_layer * bytes_per_row(config.layer_shape(), setting.format);
  const int64_t queries = std::min<int64_t>(n, n_ubatch);
  const int64_t n_score = setting.flash_attention ? 1 : config.n_head;  // the mask alone, or all heads' scores
  return rows + n_score * queries * n * static_cast<int64_t>(sizeof(float));
}

Result<double> LlamaPeer::prefill(std::span<const int32_t> prompt, const LlamaSetting& setting) const {
  const auto n = static_cast<int64_t>(prompt.size());
  Context context(*this, n, setting);
  RKV_RETURN_IF_ERROR(context.check(n, setting));
  const auto begin = std::chrono::steady_clock::now();
  RKV_RETURN_IF_ERROR(context.append(prompt, kPrompt));
  return seconds_since(begin);
}

Result<double> LlamaPeer::decode(std::span<const int32_t> prompt, std::span<const int32_t> tokens,
                                 const LlamaSetting& setting) const {
  const auto n = static_cast<int64_t>(prompt.size() + tokens.size());
  Context context(*this, n, setting);
  RKV_RETURN_IF_ERROR(context.check(n, setting));
  RKV_RETURN_IF_ERROR(context.fill(prompt));
  RKV_RETURN_IF_ERROR(context.append(tokens.first(1), kPrompt));  // plans the graph
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 1; i < tokens.size(); ++i) RKV_RETURN_IF_ERROR(context.append(tokens.subspan(i, 1), kPrompt));
  return seconds_since(begin);
}

Status LlamaPeer::prefill_end(std::span<const int32_t> prompt, const LlamaSetting& setting) const {
  const auto n = static_cast<int64_t>(prompt.size());
  Context context(*this, n, setting);
  RKV_RETURN_IF_ERROR(context.check(n, setting));
  const size_t n_last = std::min(prompt.size(), static_cast<size_t>(options_.n_ubatch));
  RKV_RETURN_IF_ERROR(context.fill(prompt.first(prompt.size() - n_last)));
  return context.append(prompt.last(n_last), kPrompt);
}

}  // namespace ripplekv
