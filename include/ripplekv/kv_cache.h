// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LayerCache: K and V rows of one layer with its own capacity; KvCache: all layers of one sequence. They own their
// memory and the layout in it (no offset arithmetic elsewhere); they know neither selectors nor budgets. Dropping rows
// frees bytes: after compact() the allocation is as large as the rows kept. Copies are explicit (copy, fork) since they
// cost memory. Not thread-safe: one sequence belongs to one thread at a time. Sizes in bytes unless named otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ripplekv/keep_list.h"
#include "ripplekv/kv_type.h"
#include "ripplekv/status.h"

struct ggml_tensor;
struct ggml_backend_buffer_type;

namespace ripplekv {

class TensorArena;  // src/cache/tensor_arena.h: one device allocation and the tensors in it
struct TensorSpec;

// What one layer's cache really occupies.
struct LayerBytes {
  int64_t payload = 0;  // values of the rows held
  int64_t scales = 0;   // block scales of the rows held
  int64_t padding = 0;  // allocated but not holding a row: free capacity, alignment, page ends
  int64_t index = 0;    // true positions of the rows held
  int64_t allocated() const { return payload + scales + padding; }
  int64_t total() const { return allocated() + index; }
};

class LayerCache {
 public:
  // Rows added at once when a cache outgrows its capacity: kGrowRows or 1/16 of the capacity, whichever is more.
  static constexpr int64_t kGrowRows = 32;
  static constexpr int64_t kManyRows = int64_t{1} << 31;  // more than positions can count: nobody knows how many follow

  // Errors: the format does not fit head_dim; out of memory (names the size).
  static Result<LayerCache> create(ggml_backend_buffer_type* buffer_type, const LayerShape& shape,
                                   const KvFormat& format, int64_t capacity);
  // A cache of rows that were held before: positions per KV head (at least one each, ascending; in all a multiple of
  // the heads), and the bytes of read_k_bytes() and read_v_bytes(). Exactly their capacity. Errors: as create().
  static Result<LayerCache> from_rows(ggml_backend_buffer_type* buffer_type, const LayerShape& shape,
                                      const KvFormat& format, std::vector<std::vector<int32_t>> positions,
                                      std::span<const uint8_t> k, std::span<const uint8_t> v);
  LayerCache(LayerCache&&) noexcept;
  LayerCache& operator=(LayerCache&&) noexcept;
  ~LayerCache();

  // Rows per KV head, on the mean: heads may hold other numbers of rows than each other, whose sum is a multiple of
  // n_head_kv. Every head has room for the same number of rows more.
  int64_t n_rows() const { return n_rows_; }
  int64_t capacity() const { return capacity_; }
  int64_t n_rows(int head) const { return static_cast<int64_t>(positions(head).size()); }
  std::vector<int64_t> head_rows() const;   // [n_head_kv] of each head
  std::vector<int64_t> first_rows() const;  // [n_head_kv] where in k() and v() the rows of each head begin
  bool ragged() const;                      // not all heads hold n_rows()
  const LayerShape& shape() const { return shape_; }
  const KvFormat& format() const { return format_; }

  // format().k / .v [head_dim, capacity, n_head_kv], in which row r of a head is row first_rows()[head] + r of
  // capacity * n_head_kv. What lies behind a head's rows holds nothing. Unless ragged(), a head is a plane.
  ggml_tensor* k() const;
  ggml_tensor* v() const;

  // True positions of the rows of a head, ascending. [n_rows(head)]
  std::span<const int32_t> positions(int head) const;

  // Room for `n` more rows, and some of the `n_later` that may follow those; existing rows keep their place and bytes.
  // While they move, the old allocation stands beside the new one.
  Status reserve_more(int64_t n, int64_t n_later = kManyRows);

  // Declares that the n rows behind those of every head were written, for positions pos0, pos0 + 1, ...
  // REQUIRES: n_rows() + n <= capacity().
  void append_written(int64_t pos0, int64_t n);

  // Forgets the last n_rows() - n rows of every head. REQUIRES: every head has so many.
  void truncate(int64_t n);

  // A new cache with the kept rows, and exactly their capacity and n_room rows more. Bytes stay unchanged, or are
  // rounded to another format. Errors: as create().
  // REQUIRES: keep has one list per KV head, not empty, sorted, unique, each < n_rows(head); as long as each other, or
  // in all a multiple of the heads: bytes are those of equally many rows.
  Result<LayerCache> gather(const KeepList& keep, int64_t n_room = 0) const { return gather(keep, format_, n_room); }
  Result<LayerCache> gather(const KeepList& keep, const KvFormat& format, int64_t n_room = 0) const;

  // Becomes what gather(keep) would be. On host memory rows move in place and the pages behind them return to the
  // system: no second allocation, no failure. Elsewhere the kept rows stand beside the old ones for a moment; on error
  // nothing has changed.
  Status compact(const KeepList& keep);
  bool compacts_in_place() const;
  KeepList last_rows(int64_t n) const;  // of every head. REQUIRES: 1 <= n <= n_rows(head)
  KeepList all_rows() const;

  Result<LayerCache> copy() const;

  // K or V of the rows held, as F32 [head_dim, n_rows, n_head_kv], or [head_dim, n_rows(0)], [head_dim, n_rows(1)],
  // ...; dequantised or quantised on the way.
  std::vector<float> read_k() const;
  std::vector<float> read_v() const;
  void write_v(std::span<const float> values);
  // The raw bytes of the rows held, head by head, to be put back exactly. write_v_bytes REQUIRES: bytes of
  // read_v_bytes() of the same rows.
  std::vector<uint8_t> read_k_bytes() const;
  std::vector<uint8_t> read_v_bytes() const;
  void write_v_bytes(std::span<const uint8_t> bytes);

  LayerBytes bytes() const;

  // A mark of this moment. still_holds(mark, n): rows [0, n) are the ones that were there at the mark, so truncate(n)
  // goes back to it. False once the cache was compacted, or rows below n were truncated and written anew.
  struct Mark {
    uint64_t generation = 0;   // compactions so far
    uint64_t n_truncated = 0;  // truncations so far
  };
  Mark mark() const { return {generation_, n_truncated_}; }
  bool still_holds(const Mark& mark, int64_t n) const;

 private:
  LayerCache(ggml_backend_buffer_type* buffer_type, const LayerShape& shape, const KvFormat& format);
  std::array<TensorSpec, 2> specs(int64_t capacity) const;
  Result<std::unique_ptr<TensorArena>> allocate(int64_t capacity) const;
  void check_keep(const KeepList& keep) const;
  std::vector<uint8_t> read_bytes(const ggml_tensor* tensor) const;
  void write_bytes(ggml_tensor* tensor, std::span<const uint8_t> bytes);
  std::vector<float> read_values(const ggml_tensor* tensor) const;
  std::vector<std::vector<int32_t>> positions_of(const KeepList& keep) const;

  ggml_backend_buffer_type* buffer_type_;
  LayerShape shape_;
  KvFormat format_;
  int64_t capacity_ = 0;
  int64_t n_rows_ = 0;
  uint64_t generation_ = 0;
  uint64_t n_truncated_ = 0;
  // (number of the truncation, rows left), only those not undercut by a later one: rows left ascends.
  std::vector<std::pair<uint64_t, int64_t>> truncations_;
  std::unique_ptr<TensorArena> arena_;           // tensors 0: K, 1: V
  std::vector<std::vector<int32_t>> positions_;  // one list while all heads agree, else one per KV head
};

// How far a cache had been filled: rows per layer. Cheap; holds no rows.
struct KvSnapshot {
  int64_t n_pos = 0;
  std::vector<int64_t> n_rows;
  std::vector<LayerCache::Mark> marks;
};

class KvCache {
 public:
  KvCache() = default;
  explicit KvCache(std::vector<LayerCache> layers) : layers_(std::move(layers)) {}

  int n_layer() const { return static_cast<int>(layers_.size()); }
  LayerCache& layer(int il) { return layers_[static_cast<size_t>(il)]; }
  const LayerCache& layer(int il) const { return layers_[static_cast<size_t>(il)]; }
  void push_layer(LayerCache layer) { layers_.push_back(std::move(layer)); }

  // True position of the next token of the sequence.
  int64_t n_pos() const { return n_pos_; }
  void set_n_pos(int64_t n_pos) { n_pos_ = n_pos; }

  LayerBytes bytes() const;  // summed over the layers
  int64_t n_rows() const;    // summed over the layers

  KvSnapshot snapshot() const;
  // Back to the snapshot: rows written since are forgotten. kMismatch, with nothing changed, if a layer was compacted
  // since or its rows were overwritten: only a fork() survives that.
  Status restore(const KvSnapshot& snapshot);

  // An independent deep copy: both can grow, compact and be destroyed apart. Costs bytes().total() more memory.
  Result<KvCache> fork() const;

 private:
  std::vector<LayerCache> layers_;
  int64_t n_pos_ = 0;
};

}  // namespace ripplekv
