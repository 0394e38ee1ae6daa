// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Hashes: published values of XXH3-128, and the same hash however the bytes are cut.
#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/random.h"

namespace ripplekv {
namespace {

TEST(Hash, ReferenceValues) {
  // Of nothing: the value in xxHash's specification and in every port of it.
  EXPECT_EQ(hash_of_bytes(""), "xxh3:99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Hasher().digest(), "xxh3:99aa06d3014798d86001c324468d497f");
  // What `printf abc | xxh128sum` prints.
  EXPECT_EQ(hash_of_bytes("abc"), "xxh3:06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, StreamingDoesNotDependOnTheCuts) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random.below(5000), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    Hasher hasher;
    for (size_t done = 0; done < bytes.size();) {
      const size_t n = std::min<size_t>(bytes.size() - done, random.below(700));  // pieces of 0 bytes too
      hasher.update(bytes.data() + done, n);
      done += n;
      EXPECT_EQ(hasher.digest(), hash_of_bytes(std::string_view(bytes).substr(0, done)));
    }
    Hasher moved = std::move(hasher);
    EXPECT_EQ(moved.digest(), hash_of_bytes(bytes));
    moved.update(nullptr, 0);
    EXPECT_EQ(moved.digest(), hash_of_bytes(bytes));
  }
}

TEST(Hash, EveryBitCounts) {
  const std::string bytes(300, 'a');
  std::set<std::string> seen = {hash_of_bytes(bytes)};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(seen.insert(hash_of_bytes(changed)).second) << bit;
  }
}

TEST(Hash, IsHash) {
  const std::string good = hash_of_bytes("x");
  EXPECT_TRUE(is_hash(good));
  EXPECT_FALSE(is_hash(""));
  EXPECT_FALSE(is_hash("xxh3:"));
  EXPECT_FALSE(is_hash(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(is_hash(good + "0"));
  EXPECT_FALSE(is_hash("xxh4:" + good.substr(5)));
  EXPECT_FALSE(is_hash("xxh3:" + std::string(31, '0') + "g"));
  EXPECT_FALSE(is_hash("xxh3:" + std::string(31, '0') + "A"));
}

}  // namespace
}  // namespace ripplekv
