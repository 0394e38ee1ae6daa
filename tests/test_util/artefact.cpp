// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "test_util/artefact.h"

#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/random.h"

namespace ripplekv::test {

void ArtefactTest::put(const std::string& text) {
  std::filesystem::remove(path_);  // replacing by truncation makes ext4 wait for the disk
  std::ofstream(path_, std::ios::binary) << text;
}

std::string ArtefactTest::text() const { return *read_file(path_, 1 << 24); }

void ArtefactTest::expect_message(const Status& status, const std::string& fault) const {
  EXPECT_EQ(status.message().find(path_ + ": "), 0u) << status.message();
  EXPECT_NE(status.message().find(fault), std::string::npos) << status.message() << "\nexpected: " << fault;
}

void ArtefactTest::expect_damage_refused(const std::vector<Damage>& damages, const Reader& read) {
  const std::string good = text();
  for (const Damage& damage : damages) {
    std::string bad = good;
    const size_t at = bad.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from << "\n" << good;
    put(bad.replace(at, damage.from.size(), damage.to));
    const Status status = read(path_);
    ASSERT_FALSE(status.ok()) << damage.from << " -> " << damage.to;
    expect_message(status, damage.fault);
    EXPECT_TRUE(status.code() == StatusCode::kDataLoss || status.code() == StatusCode::kMismatch);
  }
  put(good);
  EXPECT_TRUE(read(path_).ok());
}

void ArtefactTest::expect_truncation_refused(const Reader& read) {
  const std::string good = text();
  for (size_t n = 0; n + 1 < good.size(); ++n) {  // without the last newline it is still whole
    put(good.substr(0, n));
    const Status status = read(path_);
    ASSERT_FALSE(status.ok()) << n;
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << n;
  }
}

void ArtefactTest::expect_random_damage_survived(uint64_t seed, const Reader& read) {
  const std::string good = text();
  Random random(seed);
  int n_refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      bad[random.below(bad.size())] =
          random.below(2) == 0 ? static_cast<char>(random.next()) : "0-9.e\"{}[],:"[random.below(12)];
    }
    put(bad);
    n_refused += read(path_).ok() ? 0 : 1;
  }
  EXPECT_GT(n_refused, 2000);
}

}  // namespace ripplekv::test
