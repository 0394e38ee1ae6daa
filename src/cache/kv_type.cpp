// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Names and sizes of the kv formats. Block sizes are ggml's (block_q8_0: 32 bytes and one f16; block_q4_0: 16 bytes
// and one f16); that they agree with ggml is tested where ggml is linked.
#include "ripplekv/kv_type.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/text.h"

namespace ripplekv {
namespace {

constexpr int kBlock = 32;      // values that share one scale
constexpr int kScaleBytes = 2;  // f16

constexpr std::array<std::string_view, 4> kNames = {"f32", "f16", "q8_0", "q4_0"};
constexpr std::array<KvType, 4> kTypes = {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0};

bool is_quantised(KvType type) { return type == KvType::kQ8_0 || type == KvType::kQ4_0; }

}  // namespace

KvFormat prefill_format(const KvFormat& format) {
  const auto unrounded = [](KvType type) { return type == KvType::kF32 ? KvType::kF32 : KvType::kF16; };
  return {unrounded(format.k), unrounded(format.v)};
}

std::vector<KvFormat> prefill_formats(std::span<const KvFormat> formats) {
  std::vector<KvFormat> before;
  for (const KvFormat& format : formats) before.push_back(prefill_format(format));
  return before;
}

std::string_view to_string(KvType type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return kNames[i];
  }
  RKV_CHECK(!"a KvType that has no name");
  return {};
}

Result<KvType> parse_kv_type(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kTypes[i];
  }
  std::string message = fmt::format("kv format: got {}, expected f32, f16, q8_0 or q4_0", quoted(name));
  const std::string_view near = nearest_name(kNames, name);
  if (!near.empty()) message += fmt::format(" (did you mean {}?)", near);
  return invalid_argument(std::move(message));
}

bool head_dim_fits(KvType type, int head_dim) {
  return head_dim > 0 && (!is_quantised(type) || head_dim % kBlock == 0);
}

int64_t payload_bytes(KvType type, int head_dim) {
  RKV_CHECK(head_dim_fits(type, head_dim));
  switch (type) {
    case KvType::kF32:
      return int64_t{4} * head_dim;
    case KvType::kF16:
      return int64_t{2} * head_dim;
    case KvType::kQ8_0:
      return head_dim;
    case KvType::kQ4_0:
      return head_dim / 2;
  }
  RKV_CHECK(!"a KvType that has no size");
  return 0;
}

int64_t scale_bytes(KvType type, int head_dim) {
  RKV_CHECK(head_dim_fits(type, head_dim));
  return is_quantised(type) ? int64_t{kScaleBytes} * (head_dim / kBlock) : 0;
}

int64_t index_bytes_per_row(const LayerShape& shape) { return shape.n_head_kv * static_cast<int64_t>(sizeof(int32_t)); }

int64_t bytes_per_row(const LayerShape& shape, const KvFormat& format) {
  return shape.n_head_kv * (row_bytes(format.k, shape.head_dim) + row_bytes(format.v, shape.head_dim)) +
         index_bytes_per_row(shape);
}

Status check_kv_format(const KvFormat& format, int head_dim) {
  if (head_dim < 1)
    return unsupported(fmt::format("kv format: the model's head size is {}, expected at least 1", head_dim));
  for (const KvType type : {format.k, format.v}) {
    if (!head_dim_fits(type, head_dim)) {
      return unsupported(
          fmt::format("kv format: {} stores blocks of {} values, the model's head size is {}; use f16 or f32",
                      to_string(type), kBlock, head_dim));
    }
  }
  return ok_status();
}

}  // namespace ripplekv
