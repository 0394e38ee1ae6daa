// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Layout: K then V in one arena, each [head_dim, capacity, n_head_kv]: the rows of one head are contiguous, so kept
// rows move as bytes and attention reads each head in one stream. Rows are only read and written through ggml's backend
// calls.
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

// Copies rows of one tensor between two capacities and types, head by head. `rows_of(head)` lists source rows, in
// order.
template <class RowsOf>
void copy_rows(const ggml_tensor* from, ggml_tensor* to, int64_t n_rows_from, int64_t n_rows_to, RowsOf rows_of) {
  const size_t row = from->nb[1];
  std::vector<uint8_t> source(row * static_cast<size_t>(n_rows_from));
  std::vector<uint8_t> kept(row * static_cast<size_t>(n_rows_to));
  for (int64_t head = 0; head < from->ne[2]; ++head) {
    ggml_backend_tensor_get(from, source.data(), static_cast<size_t>(head) * from->nb[2], source.size());
    uint8_t* out = kept.data();
    for (int64_t r : rows_of(head)) {
      std::copy_n(source.data() + row * static_cast<size_t>(r), row, out);
      out += row;
    }
    const size_t plane = static_cast<size_t>(head) * to->nb[2];
    if (from->type == to->type) {
      ggml_backend_tensor_set(to, kept.data(), plane, kept.size());
    } else {
      const auto rounded = from_floats(to->type, to_floats(from->type, kept, n_rows_to * from->ne[0]), from->ne[0]);
      ggml_backend_tensor_set(to, rounded.data(), plane, rounded.size());
    }
  }
}

}  // namespace

int64_t index_bytes_per_row(const LayerShape& shape) { return shape.n_head_kv * static_cast<int64_t>(sizeof(int32_t)); }

int64_t bytes_per_row(const LayerShape& shape, const KvFormat& format) {
  return shape.n_head_kv * (row_bytes(format.k, shape.head_dim) + row_bytes(format.v, shape.head_dim)) +
         index_bytes_per_row(shape);
}

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
  const size_t n_rows = positions[0].size();
  for (const auto& of_head : positions) {
    RKV_CHECK(of_head.size() == n_rows);
    RKV_CHECK(std::adjacent_find(of_head.begin(), of_head.end(), std::greater_equal<>()) == of_head.end());
  }
  RKV_ASSIGN_OR_RETURN(LayerCache cache, create(buffer_type, shape, format, static_cast<int64_t>(n_rows)));
  cache.n_rows_ = static_cast<int64_t>(n_rows);
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

Status LayerCache::reserve_more(int64_t n, int64_t n_later) {
  const int64_t wanted = n_rows_ + n;
  if (wanted <= capacity_) return ok_status();
  const int64_t capacity = std::clamp(capacity_ + std::max(kGrowRows, capacity_ / 16), wanted, wanted + n_later);
  RKV_ASSIGN_OR_RETURN(auto arena, allocate(capacity));
  if (n_rows_ > 0) {
    std::vector<int64_t> all(static_cast<size_t>(n_rows_));
    std::iota(all.begin(), all.end(), 0);
    for (size_t i = 0; i < 2; ++i) {
      copy_rows(arena_->tensor(i), arena->tensor(i), n_rows_, n_rows_,
                [&](int64_t) -> const std::vector<int64_t>& { return all; });
    }
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
  for (auto& positions : positions_) positions.resize(static_cast<size_t>(n));
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
  RKV_CHECK(keep.size() == static_cast<size_t>(shape_.n_head_kv) && !keep[0].empty());
  for (const auto& rows : keep) {
    RKV_CHECK(rows.size() == keep[0].size() && rows.front() >= 0 && rows.back() < n_rows_);
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
  const auto n_keep = static_cast<int64_t>(keep[0].size());
  LayerCache kept(buffer_type_, shape_, format);
  RKV_ASSIGN_OR_RETURN(kept.arena_, kept.allocate(n_keep + n_room));
  kept.capacity_ = n_keep + n_room;
  kept.n_rows_ = n_keep;
  kept.generation_ = generation_ + 1;
  for (size_t i = 0; i < 2; ++i) {
    copy_rows(arena_->tensor(i), kept.arena_->tensor(i), n_rows_, n_keep,
              [&](int64_t head) -> const std::vector<int32_t>& { return keep[static_cast<size_t>(head)]; });
  }
  kept.positions_ = positions_of(keep);
  return kept;
}

bool LayerCache::compacts_in_place() const { return arena_->can_shrink(); }

KeepList LayerCache::last_rows(int64_t n) const {
  RKV_CHECK(n >= 1 && n <= n_rows_);
  std::vector<int32_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), static_cast<int32_t>(n_rows_ - n));
  return KeepList(static_cast<size_t>(shape_.n_head_kv), rows);
}

Status LayerCache::compact(const KeepList& keep) {
  if (!compacts_in_place()) {
    RKV_ASSIGN_OR_RETURN(LayerCache kept, gather(keep));
    *this = std::move(kept);
    return ok_status();
  }
  check_keep(keep);
  const auto n_keep = static_cast<int64_t>(keep[0].size());
  const auto layout = specs(n_keep);
  // In ascending order of address every row moves down or stays, so none is overwritten before it has moved.
  for (size_t i = 0; i < 2; ++i) {
    const ggml_tensor* tensor = arena_->tensor(i);
    const size_t row = tensor->nb[1];
    uint8_t* to = arena_->pages() + arena_->offset_of(layout, i);
    for (int64_t head = 0; head < tensor->ne[2]; ++head) {
      const auto* from = static_cast<const uint8_t*>(tensor->data) + static_cast<size_t>(head) * tensor->nb[2];
      for (int32_t r : keep[static_cast<size_t>(head)]) {
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
  const size_t plane = tensor->nb[1] * static_cast<size_t>(n_rows_);
  std::vector<uint8_t> bytes(plane * static_cast<size_t>(shape_.n_head_kv));
  for (size_t head = 0; head < static_cast<size_t>(shape_.n_head_kv); ++head) {
    ggml_backend_tensor_get(tensor, bytes.data() + head * plane, head * tensor->nb[2], plane);
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
  const size_t plane = tensor->nb[1] * static_cast<size_t>(n_rows_);
  RKV_CHECK(bytes.size() == plane * static_cast<size_t>(shape_.n_head_kv));
  for (size_t head = 0; head < static_cast<size_t>(shape_.n_head_kv); ++head) {
    ggml_backend_tensor_set(tensor, bytes.data() + head * plane, head * tensor->nb[2], plane);
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
