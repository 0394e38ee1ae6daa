// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// XXH3-128 through the system's xxHash, and its text form.
#include "base/hash.h"

#include <xxhash.h>

#include "ripplekv/status.h"

namespace ripplekv {
namespace {

constexpr std::string_view kPrefix = "xxh3:";
constexpr std::string_view kHex = "0123456789abcdef";

std::string to_text(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text(kPrefix);
  for (const unsigned char byte : canonical.digest) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

}  // namespace

std::string hash_of_bytes(std::string_view bytes) { return to_text(XXH3_128bits(bytes.data(), bytes.size())); }

bool is_hash(std::string_view text) {
  return text.size() == kPrefix.size() + 32 && text.starts_with(kPrefix) &&
         text.find_first_not_of(kHex, kPrefix.size()) == std::string_view::npos;
}

// The library allocates its state itself: it needs 64-byte alignment.
struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() { RKV_CHECK(xxh != nullptr && XXH3_128bits_reset(xxh) == XXH_OK); }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::string_view bytes) {
  if (bytes.empty()) return;  // a null pointer is an error to the library, even with no bytes
  RKV_CHECK(XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size()) == XXH_OK);
}

std::string Hasher::digest() const { return to_text(XXH3_128bits_digest(state_->xxh)); }

}  // namespace ripplekv
