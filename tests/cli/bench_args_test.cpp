// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Every flag of `bench`, and the policies that it and `eval` take.
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

// One policy in two spellings would be measured twice and listed as two.
TEST(Args, PoliciesAreDifferent) {
  const auto of_bench = [](const std::string& policies, const std::string& kv_types = "f16") {
    return parse({"bench", "--policies", policies, "--kv-types", kv_types}).status().message();
  };
  const auto of_eval = [](const std::string& policies) {
    return parse({"eval", "needle", "-o", "r.jsonl", "--policies", policies}).status().message();
  };
  for (const char* same :
       {"snapkv,snapkv+uniform", "snapkv:window=32,snapkv", "h2o+uniform,knorm,h2o", "snapkv:ctk=f16:ctv=f16,snapkv"}) {
    EXPECT_NE(of_bench(same).find("are the same policy, expected it once"), std::string::npos) << same;
    EXPECT_NE(of_eval(same).find("are the same policy, expected it once"), std::string::npos) << same;
  }
  EXPECT_NE(of_eval("snapkv,h2o,snapkv+uniform").find("--policies: 'snapkv' and 'snapkv+uniform' are the same"),
            std::string::npos)
      << of_eval("snapkv,h2o,snapkv+uniform");
  EXPECT_NE(of_bench("snapkv,snapkv:kv-type=q8_0", "f16,q8_0"), "");
  for (const char* different : {"snapkv,snapkv+pyramid", "snapkv,snapkv:window=16", "snapkv,snapkv:kv-type=q8_0",
                                "snapkv+ripple,snapkv+ripple:r=8"}) {
    EXPECT_EQ(of_bench(different), "") << different;
    EXPECT_EQ(of_eval(different), "") << different;
  }
}

}  // namespace
}  // namespace ripplekv
