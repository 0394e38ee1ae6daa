// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// TensorArena: one device allocation and a few named tensors in it; freed as a whole and at once. On host memory the
// pages come straight from the system, so that freeing really returns them (malloc would keep them).
// Knows nothing of caches, models or graphs. Errors: out of memory, named with the size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ripplekv/status.h"

struct ggml_tensor;
struct ggml_context;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;

namespace ripplekv {

// Shape of a tensor to be placed: ggml_type as int, ggml order.
struct TensorSpec {
  int type = 0;
  int64_t ne[4] = {1, 1, 1, 1};
};

// Bytes that an arena on host memory allocates for tensors of these sizes: each aligned, the whole in pages.
int64_t host_allocation(std::span<const int64_t> tensor_bytes);

class TensorArena {
 public:
  // Contents are zero. REQUIRES: every spec is valid for its type and no size overflows (callers validate).
  static Result<std::unique_ptr<TensorArena>> create(ggml_backend_buffer_type* buffer_type,
                                                     std::span<const TensorSpec> specs);
  ~TensorArena();
  TensorArena(const TensorArena&) = delete;
  TensorArena& operator=(const TensorArena&) = delete;

  ggml_tensor* tensor(size_t i) const { return tensors_[i]; }

  // Host memory can be laid out anew in place. shrink() gives the tensors the shapes of `specs` and returns the pages
  // behind them to the system; bytes stay where they are, so the caller moves what it wants to keep first, to
  // offset_of(specs, i). Cannot fail. REQUIRES: can_shrink(), specs need no more memory than now.
  bool can_shrink() const { return pages_ != nullptr; }
  void shrink(std::span<const TensorSpec> specs);
  int64_t offset_of(std::span<const TensorSpec> specs, size_t i) const;
  uint8_t* pages() const { return static_cast<uint8_t*>(pages_); }  // REQUIRES: can_shrink()
  int64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  TensorArena() = default;
  int64_t place(std::span<const TensorSpec> specs, std::vector<int64_t>& offsets);  // makes tensors; returns the size
  void attach(const std::vector<int64_t>& offsets);                                 // gives them their memory

  ggml_backend_buffer_type* buffer_type_ = nullptr;
  ggml_context* context_ = nullptr;
  ggml_backend_buffer* buffer_ = nullptr;
  void* pages_ = nullptr;  // host memory mapped by us; null where the backend allocated
  int64_t allocated_bytes_ = 0;
  std::vector<ggml_tensor*> tensors_;
};

}  // namespace ripplekv
