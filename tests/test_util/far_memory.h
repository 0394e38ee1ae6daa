// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Memory as a device's, for machines without one: a ggml buffer type whose tensors lie at addresses that nothing may
// touch, so that whoever reads or writes them past ggml's calls dies. It can be told that it is full.
#pragma once

#include <ggml-backend.h>

namespace ripplekv::test {

ggml_backend_buffer_type_t far_memory();

// While it lives, far memory gives out no buffer.
class FarMemoryIsFull {
 public:
  FarMemoryIsFull();
  ~FarMemoryIsFull();
  FarMemoryIsFull(const FarMemoryIsFull&) = delete;
  FarMemoryIsFull& operator=(const FarMemoryIsFull&) = delete;
};

}  // namespace ripplekv::test
