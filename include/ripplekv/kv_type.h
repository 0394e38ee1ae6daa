// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The kv formats: dtype of K and of V rows, chosen apart. Names are llama.cpp's (-ctk, -ctv). And what a row costs in
// them, in bytes: of one KV head, or of a layer. Pure; knows no ggml.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

enum class KvType { kF32, kF16, kQ8_0, kQ4_0 };

struct KvFormat {
  KvType k = KvType::kF16;
  KvType v = KvType::kF16;
  bool operator==(const KvFormat&) const = default;
};

// What K and V are while their layer's own prefill attention reads them: quantised formats begin as f16 and are rounded
// once the layer is done, so that no later layer sees an input that depends on the format.
KvFormat prefill_format(const KvFormat& format);
std::vector<KvFormat> prefill_formats(std::span<const KvFormat> formats);

std::string_view to_string(KvType type);
Result<KvType> parse_kv_type(std::string_view name);

// Quantised formats store blocks of 32 values with one f16 scale.
// REQUIRES: head_dim_fits(type, head_dim).
int64_t payload_bytes(KvType type, int head_dim);
int64_t scale_bytes(KvType type, int head_dim);
inline int64_t row_bytes(KvType type, int head_dim) {
  return payload_bytes(type, head_dim) + scale_bytes(type, head_dim);
}
bool head_dim_fits(KvType type, int head_dim);  // quantised formats need a multiple of 32

// The KV heads of a layer.
struct LayerShape {
  int head_dim = 0;  // values of K and of V per head
  int n_head_kv = 0;
  bool operator==(const LayerShape&) const = default;
};

// Index bytes of one row once the heads keep different rows; while they agree it is one int32.
int64_t index_bytes_per_row(const LayerShape& shape);
// Bytes one row costs in all KV heads of a layer, index included as above. REQUIRES: check_kv_format().
int64_t bytes_per_row(const LayerShape& shape, const KvFormat& format);

// kUnsupported if K or V of heads of this size cannot be stored so: names the format and the size.
Status check_kv_format(const KvFormat& format, int head_dim);

}  // namespace ripplekv
