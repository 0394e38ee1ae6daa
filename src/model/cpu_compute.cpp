// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Where a tensor lies, by its buffer.
#include "model/cpu_compute.h"

#include <ggml-backend.h>
#include <ggml.h>

namespace ripplekv {

bool on_cpu(const ggml_tensor* tensor) {
  ggml_backend_buffer_t buffer = tensor->view_src == nullptr ? tensor->buffer : tensor->view_src->buffer;
  if (buffer == nullptr || !ggml_backend_buffer_is_host(buffer)) return false;
  ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer));
  return device == nullptr || ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU;
}

}  // namespace ripplekv
