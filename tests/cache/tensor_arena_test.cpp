// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// TensorArena: tensors that are zeroed, aligned and apart; its size, foretold by host_allocation(); memory that really
// goes back; out of memory.
#include "cache/tensor_arena.h"

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/machine.h"

namespace ripplekv {
namespace {

constexpr ggml_type kTypes[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_I32};

std::unique_ptr<TensorArena> make_arena(const std::vector<TensorSpec>& specs) {
  return TensorArena::create(ggml_backend_cpu_buffer_type(), specs).value();
}

std::vector<uint8_t> bytes_of(const ggml_tensor* tensor) {
  std::vector<uint8_t> bytes(ggml_nbytes(tensor));
  ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
  return bytes;
}

TEST(TensorArena, TensorsAreZeroAlignedAndApart) {
  Random random(1);
  const size_t alignment = ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
  for (int round = 0; round < 100; ++round) {
    std::vector<TensorSpec> specs;
    for (uint64_t i = 1 + random.below(6); i > 0; --i) {
      TensorSpec spec{kTypes[random.below(std::size(kTypes))]};
      spec.ne[0] = static_cast<int64_t>(32 * (1 + random.below(4)));
      spec.ne[1] = static_cast<int64_t>(1 + random.below(300));
      spec.ne[2] = static_cast<int64_t>(1 + random.below(5));
      specs.push_back(spec);
    }
    const auto arena = make_arena(specs);
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < specs.size(); ++i) {
      const ggml_tensor* tensor = arena->tensor(i);
      EXPECT_EQ(tensor->type, specs[i].type);
      EXPECT_TRUE(std::equal(tensor->ne, tensor->ne + 4, specs[i].ne));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data) % alignment, 0u);
      const std::vector<uint8_t> bytes = bytes_of(tensor);
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), static_cast<std::ptrdiff_t>(bytes.size()));
      sizes.push_back(static_cast<int64_t>(bytes.size()));
    }
    EXPECT_EQ(arena->allocated_bytes(), host_allocation(sizes));
    // Filled one after another: none writes into another one.
    for (size_t i = 0; i < specs.size(); ++i) {
      const std::vector<uint8_t> fill(static_cast<size_t>(sizes[i]), static_cast<uint8_t>(i + 1));
      ggml_backend_tensor_set(arena->tensor(i), fill.data(), 0, fill.size());
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      const std::vector<uint8_t> bytes = bytes_of(arena->tensor(i));
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), i + 1), static_cast<std::ptrdiff_t>(bytes.size())) << i;
    }
  }
}

TEST(TensorArena, HostAllocationByHand) {
  const int64_t page = host_allocation(std::vector<int64_t>{1});
  EXPECT_GE(page, 1);
  const auto pages = [&](const std::vector<int64_t>& sizes) { return host_allocation(sizes) / page; };
  if (page % 4096 != 0) GTEST_SKIP() << "pages of " << page << " bytes: the figures below are for 4096 and up";
  EXPECT_EQ(pages({}), 0);
  EXPECT_EQ(pages({page}), 1);
  EXPECT_EQ(pages({page + 1}), 2);
  EXPECT_EQ(pages({page / 2, page / 2}), 1);
  EXPECT_EQ(pages({page / 2 - 1, page / 2 + 1}), 2);  // each is aligned before they are added up
  for (const int64_t n : {int64_t{1}, int64_t{4095}, int64_t{123457}}) EXPECT_EQ(host_allocation({{n}}) % page, 0);
}

std::vector<int64_t> sizes_of(const TensorArena& arena, size_t n) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < n; ++i) sizes.push_back(static_cast<int64_t>(ggml_nbytes(arena.tensor(i))));
  return sizes;
}

TEST(TensorArena, ShrinksInPlace) {
  const std::vector<TensorSpec> large = {{GGML_TYPE_Q8_0, {64, 333, 3, 1}}, {GGML_TYPE_F16, {64, 333, 3, 1}}};
  const std::vector<TensorSpec> small = {{GGML_TYPE_Q8_0, {64, 37, 3, 1}}, {GGML_TYPE_F16, {64, 37, 3, 1}}};
  const auto arena = make_arena(large);
  if (!arena->can_shrink()) GTEST_SKIP() << "this system's memory is not laid out by us";
  const auto before = static_cast<const uint8_t*>(arena->tensor(0)->data);
  // What the new tensors are to hold is put where they will be.
  std::vector<std::vector<uint8_t>> contents;
  Random random(2);
  for (size_t i = 0; i < 2; ++i) {
    const size_t row_bytes = ggml_row_size(static_cast<ggml_type>(small[i].type), 64);
    std::vector<uint8_t>& bytes = contents.emplace_back(row_bytes * 37 * 3);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    std::copy(bytes.begin(), bytes.end(), arena->pages() + arena->offset_of(small, i));
  }
  EXPECT_EQ(arena->offset_of(small, 0), 0);
  EXPECT_EQ(arena->offset_of(large, 1),
            static_cast<const uint8_t*>(arena->tensor(1)->data) - static_cast<const uint8_t*>(arena->tensor(0)->data));
  arena->shrink(small);
  EXPECT_EQ(arena->tensor(0)->data, before);
  EXPECT_EQ(arena->allocated_bytes(), host_allocation(sizes_of(*arena, 2)));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::equal(arena->tensor(i)->ne, arena->tensor(i)->ne + 4, small[i].ne));
    EXPECT_EQ(bytes_of(arena->tensor(i)), contents[i]);
  }
  arena->shrink(small);  // nothing to give back
  EXPECT_EQ(bytes_of(arena->tensor(1)), contents[1]);
  EXPECT_DEATH(arena->shrink(large), "check failed");
}

TEST(TensorArena, NoTensorsAreFine) { EXPECT_GT(make_arena({})->allocated_bytes(), 0); }

TEST(TensorArena, OutOfMemoryNamesTheSize) {
  const std::vector<TensorSpec> specs = {{GGML_TYPE_F32, {1 << 20, 1 << 20, 1 << 10, 1}}};  // 2^52 bytes
  const auto result = TensorArena::create(ggml_backend_cpu_buffer_type(), specs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(result.status().message().find(std::to_string(int64_t{1} << 52)), std::string::npos)
      << result.status().message();
}

TEST(TensorArena, MemoryComesWhenTouchedAndGoesWhenFreed) {
  const int64_t before = resident_bytes().anonymous;
  if (before == 0) GTEST_SKIP() << "this system does not tell resident memory";
  constexpr int64_t kBytes = int64_t{64} << 20;
  auto arena = make_arena({{GGML_TYPE_F32, {kBytes / 4, 1, 1, 1}}});
  EXPECT_LT(resident_bytes().anonymous - before, kBytes / 8);
  const std::vector<uint8_t> ones(size_t{1} << 16, 1);
  for (size_t at = 0; at < static_cast<size_t>(kBytes); at += ones.size()) {
    ggml_backend_tensor_set(arena->tensor(0), ones.data(), at, ones.size());
  }
  const int64_t touched = resident_bytes().anonymous;
  EXPECT_GE(touched - before, kBytes);
  if (arena->can_shrink()) {
    arena->shrink(std::vector<TensorSpec>{{GGML_TYPE_F32, {kBytes / 16, 1, 1, 1}}});
    EXPECT_GE(touched - resident_bytes().anonymous, kBytes / 4 * 3 - kBytes / 64);
  }
  arena.reset();
  EXPECT_GE(touched - resident_bytes().anonymous, kBytes - kBytes / 64);
}

}  // namespace
}  // namespace ripplekv
