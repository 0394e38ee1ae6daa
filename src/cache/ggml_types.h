// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// KvType <-> ggml_type: the one place where our kv formats meet ggml's.
#pragma once

#include <ggml.h>

#include "ripplekv/kv_type.h"

namespace ripplekv {

inline ggml_type to_ggml(KvType type) {
  switch (type) {
    case KvType::kF32:
      return GGML_TYPE_F32;
    case KvType::kF16:
      return GGML_TYPE_F16;
    case KvType::kQ8_0:
      return GGML_TYPE_Q8_0;
    case KvType::kQ4_0:
      return GGML_TYPE_Q4_0;
  }
  return GGML_TYPE_COUNT;
}

}  // namespace ripplekv
