// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/far_memory.h"

#include <ggml-backend-impl.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace ripplekv::test {
namespace {

bool full = false;

// The addresses, and what they stand for.
struct Far {
  explicit Far(size_t size) : bytes(size), base(::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (base == MAP_FAILED) std::abort();
  }
  ~Far() { ::munmap(base, bytes.size()); }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;

  std::vector<uint8_t> bytes;
  void* base;
};

Far& far_of(ggml_backend_buffer_t buffer) { return *static_cast<Far*>(buffer->context); }

uint8_t* bytes_at(ggml_backend_buffer_t buffer, const ggml_tensor* tensor, size_t offset, size_t size) {
  Far& far = far_of(buffer);
  const size_t at = static_cast<size_t>(static_cast<char*>(tensor->data) - static_cast<char*>(far.base)) + offset;
  if (at + size > far.bytes.size()) std::abort();
  return far.bytes.data() + at;
}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
  if (full) return nullptr;
  ggml_backend_buffer_i calls = {};
  calls.free_buffer = [](ggml_backend_buffer_t buffer) { delete &far_of(buffer); };
  calls.get_base = [](ggml_backend_buffer_t buffer) { return far_of(buffer).base; };
  calls.memset_tensor = [](ggml_backend_buffer_t buffer, ggml_tensor* tensor, uint8_t value, size_t offset, size_t n) {
    std::memset(bytes_at(buffer, tensor, offset, n), value, n);
  };
  calls.set_tensor = [](ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* data, size_t offset, size_t n) {
    std::memcpy(bytes_at(buffer, tensor, offset, n), data, n);
  };
  calls.get_tensor = [](ggml_backend_buffer_t buffer, const ggml_tensor* tensor, void* data, size_t offset, size_t n) {
    std::memcpy(data, bytes_at(buffer, tensor, offset, n), n);
  };
  calls.clear = [](ggml_backend_buffer_t buffer, uint8_t value) {
    std::memset(far_of(buffer).bytes.data(), value, far_of(buffer).bytes.size());
  };
  return ggml_backend_buffer_init(type, calls, new Far(size), size);
}

}  // namespace

ggml_backend_buffer_type_t far_memory() {
  static ggml_backend_buffer_type type = [] {
    ggml_backend_buffer_type made = {};
    made.iface.get_name = [](ggml_backend_buffer_type_t) { return "Far"; };
    made.iface.alloc_buffer = alloc_buffer;
    made.iface.get_alignment = [](ggml_backend_buffer_type_t) { return size_t{128}; };
    return made;
  }();
  return &type;
}

FarMemoryIsFull::FarMemoryIsFull() { full = true; }
FarMemoryIsFull::~FarMemoryIsFull() { full = false; }

}  // namespace ripplekv::test
