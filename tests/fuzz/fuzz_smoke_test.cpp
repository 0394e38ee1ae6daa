// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The fuzz targets on their seeds and on some thousand mutations of them, the same ones in every run: what libFuzzer
// once found stays found, and a target that rots is seen here. scripts/fuzz.sh searches for new inputs.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/random.h"
#include "targets.h"

namespace ripplekv::fuzz {
namespace {

int run(const Target& target, const std::string& input) {
  return target.run(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  std::string next() {
    std::string input = seeds_[random_.below(seeds_.size())];
    for (uint64_t n = 1 + random_.below(4); n > 0; --n) mutate(input);
    return input;
  }

 private:
  // Cheap readers look at the beginning first, so half of all changes fall into the first 256 bytes.
  size_t place(const std::string& input) {
    const size_t end = random_.below(2) == 0 ? std::min<size_t>(input.size(), 256) : input.size();
    return end == 0 ? 0 : random_.below(end);
  }

  void put_number(std::string& input, size_t at) {
    constexpr std::array<uint64_t, 8> kNumbers = {0,          1,          UINT64_MAX,         INT64_MAX,
                                                  UINT32_MAX, 0x80000000, uint64_t{1} << 63U, uint64_t{1} << 40U};
    const uint64_t number = kNumbers[random_.below(kNumbers.size())];
    const size_t width = size_t{1} << random_.below(4);
    if (at + width <= input.size()) std::memcpy(input.data() + at, &number, width);
  }

  void mutate(std::string& input) {
    constexpr std::array kWords = {
        "{",  "}",      "[[[[[[[[", "\"",    "1e999", "-1",       "null", "\xFF",
        "\n", ",",      "{{",       "{% if", "=",     "\xF0\x9F", "%}",   "99999999999999999999",
        "--", "{\"a\":"};
    const size_t at = place(input);
    switch (random_.below(7)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<char>(random_.next());
        break;
      case 1:
        put_number(input, at);
        break;
      case 2:
        input.erase(at, 1 + random_.below(32));
        break;
      case 3:
        input.insert(at, kWords[random_.below(kWords.size())]);
        break;
      case 4: {  // a part of it, often
        const std::string part = input.substr(at, 1 + random_.below(16));
        for (uint64_t n = 1 + random_.below(40); n > 0; --n) input.insert(at, part);
        break;
      }
      case 5: {  // a part of another seed
        const std::string& other = seeds_[random_.below(seeds_.size())];
        input.replace(at, random_.below(64), other, random_.below(other.size()), random_.below(64));
        break;
      }
      default:
        input.resize(at);
    }
  }

  std::vector<std::string> seeds_;
  Random random_;
};

class FuzzSmoke : public testing::TestWithParam<Target> {};

TEST_P(FuzzSmoke, Seeds) {
  const std::vector<std::string> seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) EXPECT_EQ(run(GetParam(), seed), 0);
}

TEST_P(FuzzSmoke, MutatedSeeds) {
  const int n_inputs = GetParam().name == "chat_template" ? 60 : 1000;  // that one forks
  Mutator mutator(GetParam().seeds(), 7);
  for (int i = 0; i < n_inputs; ++i) ASSERT_EQ(run(GetParam(), mutator.next()), 0);
}

TEST_P(FuzzSmoke, ShortInputs) {
  EXPECT_EQ(run(GetParam(), ""), 0);
  for (const char* start : {"\x01", "\n", "{", "GGUF", "\"", "-"}) {
    for (const size_t n : {size_t{1}, size_t{64}, size_t{4096}}) {
      std::string input;
      while (input.size() < n) input += start;
      EXPECT_EQ(run(GetParam(), input), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzSmoke, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ripplekv::fuzz
