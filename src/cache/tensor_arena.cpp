// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The only place that allocates device memory for caches and scratch tensors.
#include "cache/tensor_arena.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#define RIPPLEKV_PAGES 1
#endif

namespace ripplekv {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

#if defined(__unix__) || defined(__APPLE__)
int64_t page_size() { return sysconf(_SC_PAGESIZE); }
#else
int64_t page_size() { return 1; }  // the backend allocates to the byte
#endif

}  // namespace

int64_t host_allocation(std::span<const int64_t> tensor_bytes) {
  const auto alignment = static_cast<int64_t>(ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type()));
  int64_t size = 0;
  for (int64_t bytes : tensor_bytes) size += round_up(bytes, alignment);
  return round_up(size, page_size());
}

int64_t TensorArena::place(std::span<const TensorSpec> specs, std::vector<int64_t>& offsets) {
  if (context_ != nullptr) ggml_free(context_);
  context_ = ggml_init({ggml_tensor_overhead() * (specs.size() + 1), nullptr, /*no_alloc=*/true});
  RKV_CHECK(context_ != nullptr);
  tensors_.clear();
  const auto alignment = static_cast<int64_t>(ggml_backend_buft_get_alignment(buffer_type_));
  int64_t size = 0;
  for (const TensorSpec& spec : specs) {
    tensors_.push_back(ggml_new_tensor(context_, static_cast<ggml_type>(spec.type), 4, spec.ne));
    offsets.push_back(size);
    size += round_up(static_cast<int64_t>(ggml_backend_buft_get_alloc_size(buffer_type_, tensors_.back())), alignment);
  }
  return std::max(size, alignment);
}

void TensorArena::attach(const std::vector<int64_t>& offsets) {
  auto* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer_));
  for (size_t i = 0; i < tensors_.size(); ++i) {
    RKV_CHECK(ggml_backend_tensor_alloc(buffer_, tensors_[i], base + offsets[i]) == GGML_STATUS_SUCCESS);
  }
}

Result<std::unique_ptr<TensorArena>> TensorArena::create(ggml_backend_buffer_type* buffer_type,
                                                         std::span<const TensorSpec> specs) {
  std::unique_ptr<TensorArena> arena(new TensorArena());
  arena->buffer_type_ = buffer_type;
  std::vector<int64_t> offsets;
  int64_t size = arena->place(specs, offsets);
#ifdef RIPPLEKV_PAGES
  if (ggml_backend_buft_is_host(buffer_type)) {
    size = round_up(size, sysconf(_SC_PAGESIZE));
    void* pages = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return resource_exhausted(fmt::format("out of memory: cannot map {} bytes", size));
    arena->pages_ = pages;
    arena->buffer_ = ggml_backend_cpu_buffer_from_ptr(pages, static_cast<size_t>(size));
  }
#endif
  if (arena->buffer_ == nullptr) {
    arena->buffer_ = ggml_backend_buft_alloc_buffer(buffer_type, static_cast<size_t>(size));
    if (arena->buffer_ == nullptr) {
      return resource_exhausted(
          fmt::format("out of memory: {} cannot allocate {} bytes", ggml_backend_buft_name(buffer_type), size));
    }
    ggml_backend_buffer_clear(arena->buffer_, 0);
  }
  arena->allocated_bytes_ = size;
  arena->attach(offsets);
  return arena;
}

int64_t TensorArena::offset_of(std::span<const TensorSpec> specs, size_t i) const {
  TensorArena layout;
  layout.buffer_type_ = buffer_type_;
  std::vector<int64_t> offsets;
  layout.place(specs, offsets);
  return offsets[i];
}

void TensorArena::shrink([[maybe_unused]] std::span<const TensorSpec> specs) {
  RKV_CHECK(can_shrink());
#ifdef RIPPLEKV_PAGES
  std::vector<int64_t> offsets;
  const int64_t size = round_up(place(specs, offsets), sysconf(_SC_PAGESIZE));
  RKV_CHECK(size <= allocated_bytes_);
  ggml_backend_buffer_free(buffer_);
  if (size < allocated_bytes_) munmap(pages() + size, static_cast<size_t>(allocated_bytes_ - size));
  buffer_ = ggml_backend_cpu_buffer_from_ptr(pages_, static_cast<size_t>(size));
  allocated_bytes_ = size;
  attach(offsets);
#endif
}

TensorArena::~TensorArena() {
  if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
#ifdef RIPPLEKV_PAGES
  if (pages_ != nullptr) munmap(pages_, static_cast<size_t>(allocated_bytes_));
#endif
  if (context_ != nullptr) ggml_free(context_);
}

}  // namespace ripplekv
