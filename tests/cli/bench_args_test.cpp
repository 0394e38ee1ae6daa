// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Every flag of `bench`.
#include <gtest/gtest.h>

#include "cli/parsing.h"

namespace ripplekv {
namespace {

TEST(Args, BenchTakesEveryFlag) {
  using A = BenchArgs;
  const Cases<A> own = {
      {{"--works"},
       "decode,memory",
       {},
       [](const A& a) {
         return a.works == std::vector<std::string>{"decode", "memory"};
       }},
      {{"--contexts"},
       "2k,819",
       {},
       [](const A& a) {
         return a.contexts == std::vector<int64_t>{2048, 819};
       }},
      {{"-f", "--file"}, "p.txt", {}, [](const A& a) { return a.prompt_file == "p.txt"; }},
      {{"-s", "--seed"}, "7", {}, [](const A& a) { return a.seed == 7; }},
      {{"--decode"}, "64", {}, [](const A& a) { return a.n_decode == 64; }},
      {{"--repeats"}, "5", {}, [](const A& a) { return a.n_repeat == 5; }},
      {{"--peer"}, "llama.cpp", {}, [](const A& a) { return a.peer == "llama.cpp"; }},
      {{"--policies"}, "full,knorm+pyramid", {}, [](const A& a) { return a.policies.size() == 2; }},
      {{"--budgets"}, "5%", {}, [](const A& a) { return a.kept == std::vector<double>{0.05}; }},
      {{"--kv-types"}, "f16,q8_0/q4_0", {}, [](const A& a) { return a.formats.size() == 2; }},
      {{"--profile"}, "p.json", {}, [](const A& a) { return a.profile_file == "p.json"; }},
      {{"-o", "--output", "--json"}, "b.json", {}, [](const A& a) { return a.output_file == "b.json"; }},
      verbose_case<A>(),
  };
  check_flags<A>({}, all(own, loading_cases<A>()));
}

}  // namespace
}  // namespace ripplekv
