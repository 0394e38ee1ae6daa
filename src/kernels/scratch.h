// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// How kernels lay out memory that a caller hands them. Internal linkage throughout: included by files that are compiled
// for different processors.
#pragma once

#include <cstdint>
#include <span>

namespace ripplekv {
namespace {

constexpr int64_t kCacheLine = 64;

// Bytes of an array that begins on a cache line and is followed by another.
inline int64_t whole_lines(int64_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// The first cache line of memory that has kCacheLine bytes more than is needed.
inline uint8_t* first_line(std::span<const uint8_t> memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return const_cast<uint8_t*>(memory.data()) + (kCacheLine - address % kCacheLine) % kCacheLine;
}

// Hands out arrays one behind the other, each on a cache line of its own; with null memory it only counts.
class Arrays {
 public:
  explicit Arrays(uint8_t* memory) : memory_(memory) {}
  template <class T>
  void take(T*& array, int64_t n) {
    array = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += whole_lines(n * static_cast<int64_t>(sizeof(T)));
  }
  int64_t used() const { return used_; }

 private:
  uint8_t* memory_;
  int64_t used_ = 0;
};

}  // namespace
}  // namespace ripplekv
