// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What the tests of every JSON artefact do: keep one file, damage its text by hand, by truncation and at random, and
// try to write structs that could not be read back. Knows no artefact: a Reader says what reading a path comes to.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ripplekv/status.h"
#include "test_util/paths.h"

namespace ripplekv::test {

inline const std::string kHash = "xxh3:0123456789abcdef0123456789abcdef";

struct Damage {
  std::string from;  // text of the file that is replaced where it first stands
  std::string to;
  std::string fault;  // what the message must say
};

template <class Artefact>
struct Spoiling {
  std::function<void(Artefact&)> spoil;
  std::string fault;  // what the message must say
};

class ArtefactTest : public testing::Test {
 protected:
  using Reader = std::function<Status(const std::string& path)>;

  void put(const std::string& text);
  std::string text() const;

  // The three below damage the file at `path_`, which must be good. Errors begin with the path.
  void expect_damage_refused(const std::vector<Damage>& damages, const Reader& read);
  void expect_truncation_refused(const Reader& read);
  // 3000 files; most must be refused, none may crash.
  void expect_random_damage_survived(uint64_t seed, const Reader& read);

  // What `write` refuses, the old file outlives.
  template <class Artefact>
  void expect_not_written(const Artefact& good, const std::vector<Spoiling<Artefact>>& cases,
                          Status (*write)(const Artefact&, const std::string&)) {
    ASSERT_TRUE(write(good, path_).ok());
    const std::string before = text();
    for (const Spoiling<Artefact>& c : cases) {
      Artefact spoilt = good;
      c.spoil(spoilt);
      const Status status = write(spoilt, path_);
      ASSERT_FALSE(status.ok()) << c.fault;
      expect_message(status, c.fault);
      EXPECT_EQ(text(), before);
    }
  }

  const std::string path_ = temp_dir() + "/artefact.json";

 private:
  void expect_message(const Status& status, const std::string& fault) const;
};

}  // namespace ripplekv::test
