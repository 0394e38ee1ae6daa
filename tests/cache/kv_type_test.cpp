// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The kv formats: names both ways, bytes by hand, head sizes that do not fit.
#include "ripplekv/kv_type.h"

#include <gtest/gtest.h>

#include <string>

namespace ripplekv {
namespace {

constexpr KvType kAll[] = {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0};

TEST(KvType, NamesRoundTrip) {
  for (const KvType type : kAll) EXPECT_EQ(*parse_kv_type(to_string(type)), type);
  EXPECT_EQ(to_string(KvType::kF32), "f32");
  EXPECT_EQ(to_string(KvType::kF16), "f16");
  EXPECT_EQ(to_string(KvType::kQ8_0), "q8_0");
  EXPECT_EQ(to_string(KvType::kQ4_0), "q4_0");
}

TEST(KvType, UnknownNamesAreRefusedWithAHint) {
  for (const std::string& name : std::initializer_list<std::string>{"", "F16", "q8_1", "bf16", " f16", "f16 ", "q4"}) {
    const auto result = parse_kv_type(name);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(result.status().message().find("f32, f16, q8_0 or q4_0"), std::string::npos);
  }
  EXPECT_EQ(parse_kv_type("q8-0").status().message(),
            "kv format: got 'q8-0', expected f32, f16, q8_0 or q4_0 (did you mean q8_0?)");
}

TEST(KvType, Bytes) {
  EXPECT_EQ(row_bytes(KvType::kF32, 64), 256);
  EXPECT_EQ(row_bytes(KvType::kF16, 64), 128);
  EXPECT_EQ(payload_bytes(KvType::kQ8_0, 64), 64);
  EXPECT_EQ(scale_bytes(KvType::kQ8_0, 64), 4);
  EXPECT_EQ(row_bytes(KvType::kQ8_0, 64), 68);
  EXPECT_EQ(payload_bytes(KvType::kQ4_0, 64), 32);
  EXPECT_EQ(scale_bytes(KvType::kQ4_0, 64), 4);
  EXPECT_EQ(row_bytes(KvType::kQ4_0, 64), 36);
  EXPECT_EQ(row_bytes(KvType::kQ8_0, 128), 136);
  EXPECT_EQ(scale_bytes(KvType::kF16, 80), 0);
  EXPECT_EQ(row_bytes(KvType::kF16, 80), 160);
}

TEST(KvType, QuantisedFormatsNeedWholeBlocks) {
  for (int head_dim = -64; head_dim <= 512; ++head_dim) {
    const bool blocks = head_dim > 0 && head_dim % 32 == 0;
    EXPECT_EQ(head_dim_fits(KvType::kQ8_0, head_dim), blocks) << head_dim;
    EXPECT_EQ(head_dim_fits(KvType::kQ4_0, head_dim), blocks) << head_dim;
    EXPECT_EQ(head_dim_fits(KvType::kF16, head_dim), head_dim > 0) << head_dim;
    EXPECT_EQ(head_dim_fits(KvType::kF32, head_dim), head_dim > 0) << head_dim;
    if (!blocks) continue;
    for (const KvType type : kAll) {  // bytes are linear in whole blocks
      EXPECT_EQ(row_bytes(type, head_dim), row_bytes(type, 32) * (head_dim / 32));
    }
  }
}

TEST(KvType, WhatDoesNotFitIsSaidOfTheTypeThatDoesNot) {
  EXPECT_TRUE(check_kv_format({KvType::kF16, KvType::kF32}, 80).ok());
  EXPECT_TRUE(check_kv_format({KvType::kQ8_0, KvType::kQ4_0}, 64).ok());
  const std::string blocks = " stores blocks of 32 values, the model's head size is 80; use f16 or f32";
  EXPECT_EQ(check_kv_format({KvType::kQ8_0, KvType::kF16}, 80).message(), "kv format: q8_0" + blocks);
  EXPECT_EQ(check_kv_format({KvType::kF32, KvType::kQ4_0}, 80).message(), "kv format: q4_0" + blocks);
  EXPECT_EQ(check_kv_format({KvType::kF32, KvType::kQ4_0}, 80).code(), StatusCode::kUnsupported);
  // Without a head there are no blocks to speak of.
  for (const KvType type : kAll) {
    EXPECT_EQ(check_kv_format({type, type}, 0).message(), "kv format: the model's head size is 0, expected at least 1");
    EXPECT_FALSE(check_kv_format({type, type}, -64).ok());
  }
}

TEST(KvTypeDeathTest, AHeadThatDoesNotFitIsOurBug) {
  EXPECT_DEATH((void)payload_bytes(KvType::kQ4_0, 80), "head_dim_fits");
  EXPECT_DEATH((void)scale_bytes(KvType::kQ8_0, 0), "head_dim_fits");
}

}  // namespace
}  // namespace ripplekv
