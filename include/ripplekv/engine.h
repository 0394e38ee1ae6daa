// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Engine: runs sequences of one model, each with its own compressed cache. Plans rows per layer, prefills and
// compresses, decodes several sequences in one batch. Owns backends and scratch memory; sequences are the caller's and
// may outlive calls, not the engine's model. One engine belongs to one thread at a time; no global state; cancellable.
// Text, sampling and chat are generate.h's and chat_template.h's business.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ripplekv/budgets.h"
#include "ripplekv/kv_cache.h"
#include "ripplekv/model.h"
#include "ripplekv/selection.h"
#include "ripplekv/status.h"

namespace ripplekv {

class Forward;          // src/model/forward.h
struct PrefillRequest;  // src/model/prefill.h
class TensorArena;      // src/cache/tensor_arena.h

// What one prompt's cache will look like: made before any work, held against afterwards.
struct CachePlan {
  int64_t n_prompt = 0;
  std::vector<int64_t> rows;     // [n_layer] after prefill
  std::vector<int64_t> windows;  // [n_layer] ModelConfig::windows: those layers keep their window, whatever the budget
  int64_t rows_floor = 1;        // no layer is compressed below this later (decode-time budget)
  int64_t decode_slack = 0;      // rows a layer may outgrow its budget by while decoding; 0: it grows without end
  std::vector<KvFormat> format;  // [n_layer]
  std::string selector;
  SelectorOptions selector_options;
  // [n_layer][n_head_kv] summing to rows[il] * n_head_kv: of heads that keep different numbers. Empty: of all layers,
  // or in place of one's: equally many.
  std::vector<std::vector<int64_t>> head_rows;
  // What each head of layer il keeps of `rows` a head; other rows than planned are equal parts.
  std::vector<int64_t> rows_of_heads(int il, int64_t rows, int n_head_kv) const;
  int64_t window_of(int il) const { return windows.empty() ? 0 : windows[static_cast<size_t>(il)]; }
  int64_t total_rows() const;  // of the layers that share the budget
  bool keeps_all() const;      // none of these is compressed
  // Most rows of layer il once n_decode tokens have followed the prompt.
  int64_t rows_after(int il, int64_t n_decode) const;
};

// Rows for a prompt of n_prompt tokens. A budget that counts bytes counts K, V and index bytes of the kv formats given.
// lift_fraction: a fraction too small for the rows that no layer may fall under counts as these (short conversations).
// Errors: of another model's layer count; too small (names the smallest that fits); selector options out of range.
Result<CachePlan> plan_cache(const Budgets& budgets, const ModelConfig& config, int64_t n_prompt,
                             bool lift_fraction = false);
// Its rows alone, [n_layer], of budgets without their model. Errors: as plan_cache(); bytes where budgets.model.layer
// is not known.
Result<std::vector<int64_t>> plan_rows(const Budgets& budgets, int64_t n_prompt);
// CachePlan::head_rows of these rows, planned for the same prompt; none where heads share by scores (head_floor < 1).
Result<std::vector<std::vector<int64_t>>> plan_head_rows(const Budgets& budgets, std::span<const int64_t> rows,
                                                         int64_t n_prompt);
// The full cache.
CachePlan plan_full(const ModelConfig& config, int64_t n_prompt, const KvFormat& format);

// What a plan must be before forecast_memory() and prefill: rows 1 to n_prompt (sliding layers: their window) and a kv
// format that fits the head size for every layer, a selector that exists. Plans of plan_cache() are.
Status check_plan(const CachePlan& plan, const ModelConfig& config);

// Bytes, before the run. KV figures are allocations (payload, scales, page ends), without index bytes.
struct MemoryForecast {
  std::vector<int64_t> layers;  // [n_layer] after prefill
  int64_t kv_after_prefill = 0;
  int64_t kv_peak = 0;    // in prefill: compressed layers + one full layer in its prefill_format()
  int64_t kv_decode = 0;  // never exceeded while the n_decode tokens follow: all layers grown, one of them moved
  int64_t kv_full = 0;    // of an uncompressed cache of the prompt; sliding layers hold their window there too
  int64_t scratch = 0;    // activations of the prompt and the query windows
};
// n_decode: tokens that will follow the prompt; LayerCache::kManyRows: nobody knows, and kv_decode counts them only as
// far as the plan's decode_slack bounds them. in_place: whether layers are compacted without a copy, as on host memory
// (LayerCache::compacts_in_place).
MemoryForecast forecast_memory(const CachePlan& plan, const ModelConfig& config, int64_t n_decode,
                               bool in_place = true);

// The same for n_new more tokens of a cache that holds rows: kv_peak counts the rows held and, where a layer is to be
// compressed, the new layers beside them; kv_full is an uncompressed cache of the whole conversation. `plan` is for all
// its tokens. REQUIRES: plan.n_prompt == cache.n_pos() + n_new.
MemoryForecast forecast_extension(const KvCache& cache, const CachePlan& plan, const ModelConfig& config, int64_t n_new,
                                  int64_t n_decode, bool in_place = true);

// Rows of layer il once n_new tokens were appended and it was compressed to the plan (no more than there are), and most
// rows once n_decode tokens have followed.
int64_t rows_extended(const KvCache& cache, const CachePlan& plan, int il, int64_t n_new, int64_t n_decode = 0);
// No layer has to drop a row for them, sliding windows apart, which can be cut afterwards.
bool appends_all(const KvCache& cache, const CachePlan& plan, int64_t n_new);

// One layer's line of the receipt.
struct ReceiptLine {
  int64_t rows_planned = 0;
  int64_t rows_held = 0;
  int64_t bytes_planned = 0;  // allocation of the rows planned
  KvFormat format;
  LayerBytes bytes;  // held
};

// What was planned and what is held after prefill, per layer.
struct Receipt {
  std::vector<ReceiptLine> lines;  // [n_layer]
  int64_t kv_peak_planned = 0;     // bytes
  int64_t kv_peak_held = 0;        // bytes, largest allocation of all layers together that prefill reached
  double compress_seconds = 0;     // of prefill's time: scores, top-k, compaction and rounding of all layers
  // kDataLoss naming the first layer whose held rows or allocation (within 0.5% and a page) are not the planned ones:
  // a compression that silently did not happen fails the run.
  Status check() const;
};

struct EngineOptions {
  int n_threads = 0;  // 0: all physical cores
  int n_chunk = 512;  // tokens of one prefill chunk
};

// One sequence: its cache, and what is needed to continue it.
struct Sequence {
  KvCache cache;
  CachePlan plan;
  std::vector<float> logits;  // of the next token, F32 [n_vocab]
  int64_t n_decode_left = 0;  // tokens that may still follow, as PrefillOptions::n_decode said; more are not refused
  Receipt receipt;
  std::vector<KeepList> kept;  // [n_layer], if asked for: the true positions kept

  Sequence();
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;
  ~Sequence();

  // Decode-time budget (CachePlan::decode_slack): the last queries of every layer.
  struct DecodeWindow;
  std::unique_ptr<DecodeWindow> decode_window;
};

struct PrefillOptions {
  int64_t n_decode = LayerCache::kManyRows;  // tokens that will follow at most; kManyRows: nobody knows
  bool record_kept = false;
  std::function<void(int64_t done, int64_t total)> on_progress;
};

// One token to put through a sequence.
struct DecodeStep {
  Sequence* sequence = nullptr;
  int32_t token = 0;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model, const EngineOptions& options);
  ~Engine();

  const Model& model() const { return *model_; }
  int n_threads() const;

  // The whole prompt, layer by layer; each layer is compressed to the plan, and rounded to its kv format, after its own
  // prefill attention. The receipt is checked. Errors: 0 tokens, ids out of range, memory that cannot fit the prompt
  // or, where n_decode is known, what follows (before any work), cancelled.
  Result<Sequence> prefill(std::span<const int32_t> tokens, const CachePlan& plan, const PrefillOptions& options = {});

  // Appends the tokens of a new turn to the rows held, layer by layer, each layer being compressed again to the plan
  // after its own attention, scored with the new tokens' queries. plan: rows for the whole conversation
  // (plan.n_prompt == n_pos + tokens.size()), so that a fraction grows with it; a layer that holds fewer rows than that
  // keeps all it has. Logits, plan and receipt become those of the extension.
  // After an error or a cancel the sequence is as it was. For that, where a layer must drop rows, the new layers stand
  // beside the old cache until all are done (most memory: both caches and one layer that holds all its rows); where
  // none must, rows are appended in place and forgotten again. Errors: as prefill, and a kv format other than the
  // sequence's. REQUIRES: a sequence of prefill().
  Status extend(Sequence& sequence, std::span<const int32_t> tokens, const CachePlan& plan,
                const PrefillOptions& options = {});

  // A deep copy that goes on by itself; costs its cache's bytes once more (checked before).
  // REQUIRES: no token was decoded since prefill() or extend().
  Result<Sequence> fork(const Sequence& sequence) const;

  // One token through each sequence, in one batch; each sequence's logits are replaced. Where the plan has a
  // decode_slack, a layer that then holds over plan.rows + decode_slack rows is compressed to plan.rows again, scored
  // with its last (up to W) decoded queries. REQUIRES: sequences distinct.
  Status decode(std::span<const DecodeStep> steps);

  // Teacher forcing: logits after each of the tokens, F32 [n_vocab, tokens.size()]. The cache is left as it was.
  Result<std::vector<float>> score(KvCache& cache, std::span<const int32_t> tokens);

  // See Forward::set_cancel.
  void set_cancel(const std::atomic<bool>* cancel);

  // For the commands that compose lower parts themselves (profile, trace).
  Forward& forward() { return *forward_; }
  int n_chunk() const { return options_.n_chunk; }

 private:
  Engine();
  // held: bytes of the forecast that are allocated already.
  Status check_memory(const CachePlan& plan, const MemoryForecast& forecast, int64_t n_decode, int64_t held) const;
  // What becomes of a layer once its rows are complete: all stay, sliding windows are cut, or it gets the plan's rows.
  enum class Fill { kAppend, kWindows, kPlan };
  // Prefills into request.cache; sets everything of `next` but its cache. beside: bytes of a cache that stands beside
  // the request's.
  Status fill(PrefillRequest request, Fill how, const MemoryForecast& forecast, const PrefillOptions& options,
              int64_t beside, Sequence& next);
  Status start_decode_window(Sequence& sequence) const;
  Status slide_windows(Sequence& sequence);
  Status compress_outgrown(Sequence& sequence);

  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  std::unique_ptr<Forward> forward_;
};

}  // namespace ripplekv
