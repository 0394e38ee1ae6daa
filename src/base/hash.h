// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Content hashes: XXH3 of 128 bits as text, "xxh3:" and 32 lower-case hex digits (xxHash's canonical byte order, the
// digits `xxh128sum` prints). For recognising models and files, not for security. One Hasher, one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ripplekv {

std::string hash_of_bytes(std::string_view bytes);

// True for "xxh3:" + 32 lower-case hex digits.
bool is_hash(std::string_view text);

// The same hash over pieces: how the bytes are cut does not matter.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(std::string_view bytes);
  void update(const void* data, size_t size) { update({static_cast<const char*>(data), size}); }
  std::string digest() const;  // of everything so far; more may follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ripplekv
