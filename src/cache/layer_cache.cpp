// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Layout: K then V in one arena, each [head_dim, capacity, n_head_kv]: the rows of one head are contiguous, so kept
// rows move as bytes and attention reads each head in one stream. Heads with fewer rows than others lie closer to each
// other, with the same room behind each, so that the size is that of equal heads. Rows are read and written
// through ggml's backend calls; on host memory those that are kept are picked where they lie.
#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cache/ggml_types.h"
#include "cache/tensor_arena.h"
#include "ripplekv/kv_cache.h"

namespace ripplekv {
namespace {

// REQUIRES: whole rows of head_dim values.
std::vector<float> to_floats(ggml_type type, std::span<const uint8_t> bytes, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  if (type == GGML_TYPE_F32) {
    std::copy_n(reinterpret_cast<const float*>(bytes.data()), n, values.data());
  } else {
    ggml_get_type_traits(type)->to_float(bytes.data(), values.data(), n);
  }
  return values;
}

std::vector<uint8_t> from_floats(ggml_type type, std::span<const float> values, int64_t head_dim) {
  const auto n = static_cast<int64_t>(values.size());
  std::vector<uint8_t> bytes(ggml_row_size(type, n));
  if (type == GGML_TYPE_F32) {
    std::copy_n(values.data(), n, reinterpret_cast<float*>(bytes.data()));
  } else {
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, n / head_dim, head_dim, nullptr);
  }
  return bytes;
}

// Copies rows of head after head from one tensor to another, whose types may differ. `keep[head]` lists source rows, in
// order; heads begin at the rows given.
void copy_rows(const ggml_tensor* from, std::span<const int64_t> from_first, ggml_tensor* to,
               std::span<const int64_t> to_first, const KeepList& keep) {
  const size_t row = from->nb[1];
  // From a device all rows of a head come at once; on host memory kept ones are picked where they lie.
  const bool on_host = ggml_backend_buffer_is_host(from->buffer);
  std::vector<uint8_t> read;
  std::vector<uint8_t> kept;
  for (size_t head = 0; head < keep.size(); ++head) {
    const std::vector<int32_t>& rows = keep[head];
    if (rows.empty()) continue;
    const size_t first = static_cast<size_t>(from_first[head]) * row;
    const uint8_t* source = static_cast<const uint8_t*>(from->data) + first;
    if (!on_host) {
      read.resize(row * (static_cast<size_t>(rows.back()) + 1));
      ggml_backend_tensor_get(from, read.data(), first, read.size());
      source = read.data();
    }
    kept.resize(row * rows.size());
    uint8_t* out = kept.data();
    for (const int32_t r : rows) {
      std::copy_n(source + row * static_cast<size_t>(r), row, out);
      out += row;
    }
    const size_t at = static_cast<size_t>(to_first[head]) * to->nb[1];
    if (from->type == to->type) {
      ggml_backend_tensor_set(to, kept.data(), at, kept.size());
    } else {
      const auto n = static_cast<int64_t>(rows.size()) * from->ne[0];
      const auto rounded = from_floats(to->type, to_floats(from->type, kept, n), from->ne[0]);
      ggml_backend_tensor_set(to, rounded.data(), at, rounded.size());
    }
  }
}

int64_t n_rows_of(const KeepList& lists) {
  size_t n = 0;
  for (const auto& list : lists) n += list.size();
  RKV_CHECK(n % lists.size() == 0);
  return static_cast<int64_t>(n / lists.size());
}

// Where heads begin that lie behind each other, each with room for n_room rows more.
std::vector<int64_t> first_rows_of(const KeepList& lists, int64_t n_room) {
  std::vector<int64_t> first;
  int64_t next = 0;
  for (const auto& list : lists) {
    first.push_back(next);
    next += static_cast<int64_t>(list.size()) + n_room;
  }
  return first;
}

}  // namespace

LayerCache::LayerCache(ggml_backend_buffer_type* buffer_type, const LayerShape& shape, const KvFormat& format)
    : buffer_type_(buffer_type), shape_(shape), format_(format), positions_(1) {}
LayerCache::LayerCache(LayerCache&&) noexcept = default;
LayerCache& LayerCache::operator=(LayerCache&&) noexcept = default;
LayerCache::~LayerCache() = default;

std::array<TensorSpec, 2> LayerCache::specs(int64_t capacity) const {
  std::array<TensorSpec, 2> specs;
  for (size_t i = 0; i < 2; ++i) {
    specs[i].type = to_ggml(i == 0 ? format_.k : format_.v);
    specs[i].ne[0] = shape_.head_dim;
    specs[i].ne[1] = capacity;
    specs[i].ne[2] = shape_.n_head_kv;
  }
  return specs;
}

Result<std::unique_ptr<TensorArena>> LayerCache::allocate(int64_t capacity) const {
  return TensorArena::create(buffer_type_, specs(capacity));
}

Result<LayerCache> LayerCache::create(ggml_backend_buffer_type* buffer_type, const LayerShape& shape,
                                      const KvFormat& format, int64_t capacity) {
  RKV_CHECK(capacity >= 1 && shape.head_dim >= 1 && shape.n_head_kv >= 1);
  RKV_RETURN_IF_ERROR(check_kv_format(format, shape.head_dim));
  LayerCache cache(buffer_type, shape, format);
  RKV_ASSIGN_OR_RETURN(cache.arena_, cache.allocate(capacity));
  cache.capacity_ = capacity;
  return cache;
}

Result<LayerCache> LayerCache::from_rows(ggml_backend_buffer_type* buffer_type, const LayerShape& shape,
                                         const KvFormat& format, std::vector<std::vector<int32_t>> positions,
                                         std::span<const uint8_t> k, std::span<const uint8_t> v) {
  RKV_CHECK(positions.size() == static_cast<size_t>(shape.n_head_kv));
  const int64_t n_rows = n_rows_of(positions);
  for (const auto& of_head : positions) {
    RKV_CHECK(!of_head.empty());
    RKV_CHECK(std::adjacent_find(of_head.begin(), of_head.end(), std::greater_equal<>()) == of_head.end());
  }
  RKV_ASSIGN_OR_RETURN(LayerCache cache, create(buffer_type, shape, format, n_rows));
  cache.n_rows_ = n_rows;
  const bool heads_agree =
      std::all_of(positions.begin(), positions.end(), [&](const auto& of_head) { return of_head == positions[0]; });
  positions.resize(heads_agree ? 1 : positions.size());
  cache.positions_ = std::move(positions);
  cache.write_bytes(cache.k(), k);
  cache.write_bytes(cache.v(), v);
  return cache;
}

ggml_tensor* LayerCache::k() const { return arena_->tensor(0); }
ggml_tensor* LayerCache::v() const { return arena_->tensor(1); }

std::span<const int32_t> LayerCache::positions(int head) const {
  return positions_.size() == 1 ? positions_[0] : positions_[static_cast<size_t>(head)];
}

std::vector<int64_t> LayerCache::head_rows() const {
  std::vector<int64_t> rows;
  for (int head = 0; head < shape_.n_head_kv; ++head) rows.push_back(n_rows(head));
  return rows;
}

std::vector<int64_t> LayerCache::first_rows() const {
  std::vector<int64_t> first;
  int64_t next = 0;
  for (int head = 0; head < shape_.n_head_kv; ++head) {
    first.push_back(next);
    next += n_rows(head) + capacity_ - n_rows_;
  }
  return first;
}

bool LayerCache::ragged() const {
  return std::any_of(positions_.begin(), positions_.end(),
                     [&](const auto& of_head) { return std::cmp_not_equal(of_head.size(), n_rows_); });
}

Status LayerCache::reserve_more(int64_t n, int64_t n_later) {
  const int64_t wanted = n_rows_ + n;
  if (wanted <= capacity_) return ok_status();
  const int64_t capacity = std::clamp(capacity_ + std::max(kGrowRows, capacity_ / 16), wanted, wanted + n_later);
  RKV_ASSIGN_OR_RETURN(auto arena, allocate(capacity));
  const KeepList all = all_rows();
  for (size_t i = 0; i < 2; ++i) {
    copy_rows(arena_->tensor(i), first_rows(), arena->tensor(i), first_rows_of(all, capacity - n_rows_), all);
  }
  arena_ = std::move(arena);
  capacity_ = capacity;
  return ok_status();
}

void LayerCache::append_written(int64_t pos0, int64_t n) {
  RKV_CHECK(n >= 0 && n_rows_ + n <= capacity_);
  for (auto& positions : positions_) {
    RKV_CHECK(positions.empty() || positions.back() < pos0);
    for (int64_t i = 0; i < n; ++i) positions.push_back(static_cast<int32_t>(pos0 + i));
  }
  n_rows_ += n;
}

void LayerCache::truncate(int64_t n) {
  RKV_CHECK(n >= 0 && n <= n_rows_);
  if (n == n_rows_) return;
  for (auto& positions : positions_) {
    RKV_CHECK(std::cmp_greater_equal(positions.size(), n_rows_ - n));
    positions.resize(positions.size() - static_cast<size_t>(n_rows_ - n));
  }
  n_rows_ = n;
  while (!truncations_.empty() && truncations_.back().second >= n) truncations_.pop_back();
  truncations_.emplace_back(++n_truncated_, n);
}

bool LayerCache::still_holds(const Mark& mark, int64_t n) const {
  if (mark.generation != generation_ || n > n_rows_) return false;
  const auto later =
      std::find_if(truncations_.begin(), truncations_.end(), [&](const auto& t) { return t.first > mark.n_truncated; });
  return later == truncations_.end() || later->second >= n;
}

void LayerCache::check_keep(const KeepList& keep) const {
  RKV_CHECK(keep.size() == static_cast<size_t>(shape_.n_head_kv));
  for (size_t head = 0; head < keep.size(); ++head) {
    const std::vector<int32_t>& rows = keep[head];
    RKV_CHECK(!rows.empty() && rows.front() >= 0 && rows.back() < n_rows(static_cast<int>(head)));
    RKV_CHECK(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end());
  }
}

std::vector<std::vector<int32_t>> LayerCache::positions_of(const KeepList& keep) const {
  const bool heads_agree = positions_.size() == 1 &&
                           std::all_of(keep.begin(), keep.end(), [&](const auto& rows) { return rows == keep[0]; });
  std::vector<std::vector<int32_t>> result(heads_agree ? 1 : keep.size());
  for (size_t head = 0; head < result.size(); ++head) {
    const auto from = positions(static_cast<int>(head));
    result[head].reserve(keep[head].size());
    for (int32_t row : keep[head]) result[head].push_back(from[static_cast<size_t>(row)]);
  }
  return result;
}

Result<LayerCache> LayerCache::gather(const KeepList& keep, const KvFormat& format, int64_t n_room) const {
  check_keep(keep);
  RKV_RETURN_IF_ERROR(check_kv_format(format, shape_.head_dim));
  const int64_t n_keep = n_rows_of(keep);
  LayerCache kept(buffer_type_, shape_, format);
  RKV_ASSIGN_OR_RETURN(kept.arena_, kept.allocate(n_keep + n_room));
  kept.capacity_ = n_keep + n_room;
  kept.n_rows_ = n_keep;
  kept.generation_ = generation_ + 1;
  kept.positions_ = positions_of(keep);
  for (size_t i = 0; i < 2; ++i) {
    copy_rows(arena_->tensor(i), first_rows(), kept.arena_->tensor(i), kept.first_rows(), keep);
  }
  return kept;
}

bool LayerCache::compacts_in_place() const { return arena_->can_shrink(); }

KeepList LayerCache::last_rows(int64_t n) const {
  KeepList rows = all_rows();
  for (auto& of_head : rows) {
    RKV_CHECK(n >= 1 && std::cmp_less_equal(n, of_head.size()));
    of_head.erase(of_head.begin(), of_head.end() - n);
  }
  return rows;
}

KeepList LayerCache::all_rows() const {
  KeepList rows;
  for (int head = 0; head < shape_.n_head_kv; ++head) {
    std::vector<int32_t>& of_head = rows.emplace_back(static_cast<size_t>(n_rows(head)));
    std::iota(of_head.begin(), of_head.end(), 0);
  }
  return rows;
}

Status LayerCache::compact(const KeepList& keep) {
  if (!compacts_in_place()) {
    RKV_ASSIGN_OR_RETURN(LayerCache kept, gather(keep));
    *this = std::move(kept);
    return ok_status();
  }
  check_keep(keep);
  const int64_t n_keep = n_rows_of(keep);
  const auto layout = specs(n_keep);
  const std::vector<int64_t> first = first_rows();
  // In ascending order of address every row moves down or stays, so none is overwritten before it has moved.
  for (size_t i = 0; i < 2; ++i) {
    const ggml_tensor* tensor = arena_->tensor(i);
    const size_t row = tensor->nb[1];
    uint8_t* to = arena_->pages() + arena_->offset_of(layout, i);
    for (size_t head = 0; head < keep.size(); ++head) {
      const auto* from = static_cast<const uint8_t*>(tensor->data) + static_cast<size_t>(first[head]) * row;
      for (const int32_t r : keep[head]) {
        std::memmove(to, from + static_cast<size_t>(r) * row, row);
        to += row;
      }
    }
  }
  positions_ = positions_of(keep);
  arena_->shrink(layout);
  capacity_ = n_keep;
  n_rows_ = n_keep;
  ++generation_;
  return ok_status();
}

Result<LayerCache> LayerCache::copy() const {
  LayerCache twin(buffer_type_, shape_, format_);
  RKV_ASSIGN_OR_RETURN(twin.arena_, twin.allocate(capacity_));
  twin.capacity_ = capacity_;
  twin.n_rows_ = n_rows_;
  twin.generation_ = generation_;
  twin.n_truncated_ = n_truncated_;
  twin.truncations_ = truncations_;
  twin.positions_ = positions_;
  for (size_t i = 0; i < 2; ++i) ggml_backend_tensor_copy(arena_->tensor(i), twin.arena_->tensor(i));
  return twin;
}

std::vector<uint8_t> LayerCache::read_bytes(const ggml_tensor* tensor) const {
  const size_t row = tensor->nb[1];
  std::vector<uint8_t> bytes(row * static_cast<size_t>(n_rows_ * shape_.n_head_kv));
  const std::vector<int64_t> first = first_rows();
  uint8_t* to = bytes.data();
  for (int head = 0; head < shape_.n_head_kv; ++head) {
    const size_t size = row * static_cast<size_t>(n_rows(head));
    ggml_backend_tensor_get(tensor, to, static_cast<size_t>(first[static_cast<size_t>(head)]) * row, size);
    to += size;
  }
  return bytes;
}

std::vector<float> LayerCache::read_values(const ggml_tensor* tensor) const {
  return to_floats(tensor->type, read_bytes(tensor), n_rows_ * shape_.n_head_kv * shape_.head_dim);
}

std::vector<uint8_t> LayerCache::read_k_bytes() const { return read_bytes(k()); }
std::vector<uint8_t> LayerCache::read_v_bytes() const { return read_bytes(v()); }
std::vector<float> LayerCache::read_k() const { return read_values(k()); }
std::vector<float> LayerCache::read_v() const { return read_values(v()); }

void LayerCache::write_v_bytes(std::span<const uint8_t> bytes) { write_bytes(v(), bytes); }

void LayerCache::write_bytes(ggml_tensor* tensor, std::span<const uint8_t> bytes) {
  const size_t row = tensor->nb[1];
  RKV_CHECK(bytes.size() == row * static_cast<size_t>(n_rows_ * shape_.n_head_kv));
  const std::vector<int64_t> first = first_rows();
  for (int head = 0; head < shape_.n_head_kv; ++head) {
    const auto of_head = bytes.first(row * static_cast<size_t>(n_rows(head)));
    ggml_backend_tensor_set(tensor, of_head.data(), static_cast<size_t>(first[static_cast<size_t>(head)]) * row,
                            of_head.size());
    bytes = bytes.subspan(of_head.size());
  }
}

void LayerCache::write_v(std::span<const float> values) {
  RKV_CHECK(static_cast<int64_t>(values.size()) == n_rows_ * shape_.n_head_kv * shape_.head_dim);
  write_v_bytes(from_floats(to_ggml(format_.v), values, shape_.head_dim));
}

LayerBytes LayerCache::bytes() const {
  LayerBytes bytes;
  const int64_t rows = n_rows_ * shape_.n_head_kv;
  bytes.payload = rows * (payload_bytes(format_.k, shape_.head_dim) + payload_bytes(format_.v, shape_.head_dim));
  bytes.scales = rows * (scale_bytes(format_.k, shape_.head_dim) + scale_bytes(format_.v, shape_.head_dim));
  bytes.padding = arena_->allocated_bytes() - bytes.payload - bytes.scales;
  bytes.index = static_cast<int64_t>(positions_.size() * sizeof(int32_t)) * n_rows_;
  return bytes;
}

}  // namespace ripplekv
