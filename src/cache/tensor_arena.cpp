// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The only place that allocates device memory for caches and scratch tensors.
#include "cache/tensor_arena.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ripplekv {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

Result<std::unique_ptr<TensorArena>> TensorArena::create(ggml_backend_buffer_type* buffer_type,
                                                         std::span<const TensorSpec> specs) {
  std::unique_ptr<TensorArena> arena(new TensorArena());
  arena->context_ = ggml_init({ggml_tensor_overhead() * (specs.size() + 1), nullptr, /*no_alloc=*/true});
  RKV_CHECK(arena->context_ != nullptr);

  const auto alignment = static_cast<int64_t>(ggml_backend_buft_get_alignment(buffer_type));
  std::vector<int64_t> offsets;
  int64_t size = 0;
  for (const TensorSpec& spec : specs) {
    ggml_tensor* tensor = ggml_new_tensor(arena->context_, static_cast<ggml_type>(spec.type), 4, spec.ne);
    arena->tensors_.push_back(tensor);
    offsets.push_back(size);
    size += round_up(static_cast<int64_t>(ggml_backend_buft_get_alloc_size(buffer_type, tensor)), alignment);
  }
  if (size == 0) size = alignment;

#if defined(__unix__) || defined(__APPLE__)
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
  auto* base = static_cast<char*>(ggml_backend_buffer_get_base(arena->buffer_));
  for (size_t i = 0; i < specs.size(); ++i) {
    const ggml_status status = ggml_backend_tensor_alloc(arena->buffer_, arena->tensors_[i], base + offsets[i]);
    RKV_CHECK(status == GGML_STATUS_SUCCESS);
  }
  return arena;
}

TensorArena::~TensorArena() {
  if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
#if defined(__unix__) || defined(__APPLE__)
  if (pages_ != nullptr) munmap(pages_, static_cast<size_t>(allocated_bytes_));
#endif
  if (context_ != nullptr) ggml_free(context_);
}

}  // namespace ripplekv
