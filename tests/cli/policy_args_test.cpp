// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The grammar of policies in a list: what each part sets, and that options are the very flags of `run`.
#include <gtest/gtest.h>

#include "cli/args.h"

namespace ripplekv {
namespace {

PolicyArgs parsed(std::string_view text) {
  auto policy = parse_policy(text);
  EXPECT_TRUE(policy.ok()) << policy.status().message();
  return policy.ok() ? *policy : PolicyArgs();
}

TEST(PolicyArgs, SelectorAndAllocator) {
  EXPECT_TRUE(parsed("full").full);
  EXPECT_EQ(parsed("snapkv").selector.name, "snapkv");
  EXPECT_EQ(parsed("snapkv").allocator.name, "uniform");
  EXPECT_EQ(parsed("h2o+ripple").selector.name, "h2o");
  EXPECT_EQ(parsed("h2o+ripple").allocator.name, "ripple");
  EXPECT_EQ(parsed("sinks+tova").selector.name, "sinks+tova");
  EXPECT_EQ(parsed("sinks+tova").allocator.name, "uniform");
  EXPECT_EQ(parsed("sinks+tova+curves").selector.name, "sinks+tova");
  EXPECT_EQ(parsed("sinks+tova+curves").allocator.name, "curves");
}

TEST(PolicyArgs, Options) {
  const PolicyArgs policy =
      parsed("snapkv+ripple:r=8:transform=sqrt:kernel=1:value-norm:ctk=q8_0:cache-type-v=q4_0:profile=a/b.json");
  EXPECT_EQ(policy.text,
            "snapkv+ripple:r=8:transform=sqrt:kernel=1:value-norm:ctk=q8_0:cache-type-v=q4_0:profile=a/b.json");
  EXPECT_EQ(policy.allocator.ripple.r, 8);
  EXPECT_EQ(policy.allocator.ripple.transform, Transform::kSqrt);
  EXPECT_EQ(policy.selector.options.kernel, 1);
  EXPECT_TRUE(policy.selector.options.value_norm);
  EXPECT_EQ(policy.type.k, KvType::kQ8_0);
  EXPECT_EQ(policy.type.v, KvType::kQ4_0);
  EXPECT_EQ(policy.allocator.profile_file, "a/b.json");
  EXPECT_EQ(parsed("streaming_llm+pyramid:window=8").allocator.pyramid.window, 8) << "the selector's";
}

TEST(PolicyArgs, Refusals) {
  for (const char* text : {"", "nothing", "snapkv+", "+ripple", "snapkv+ripple+curves", "snapkv:", "snapkv:r",
                           "snapkv:selector=h2o", "full+uniform", "snapkv+foo", "snapkv:r=8", "snapkv+curves:beta=3",
                           "snapkv:r=4:r=8", "snapkv:kernel=2", "snapkv:help"}) {
    EXPECT_FALSE(parse_policy(text).ok()) << text;
  }
}

// What a selector does not read has no effect.
TEST(PolicyArgs, OptionsThatTheSelectorDoesNotReadAreRefused) {
  const auto refusal = [](std::string_view text) { return parse_policy(text).status().message(); };
  EXPECT_NE(refusal("tova:kernel=1").find("--kernel: got it beside --selector tova, which reads no option"),
            std::string::npos)
      << refusal("tova:kernel=1");
  EXPECT_NE(refusal("streaming_llm:value-norm").find("which reads only --window, --n-sink"), std::string::npos);
  EXPECT_NE(refusal("snapkv:n-sink=2").find("which reads only --window, --kernel, --pooling, --group, --value-norm"),
            std::string::npos);
  EXPECT_FALSE(parse_policy("h2o:window=8").ok());
  EXPECT_EQ(parsed("snapkv+curves:head-floor=0.2").selector.options.head_floor, 0.2);
  EXPECT_TRUE(parse_policy("sinks+h2o:head-floor=0").ok());
  for (const char* text : {"random:head-floor=0.2", "streaming_llm:head-floor=0.2", "tova:head-floor=0.2",
                           "knorm:head-floor=0.2", "sinks+keydiff:head-floor=0.2"}) {
    EXPECT_NE(refusal(text).find("head"), std::string::npos) << text;
  }
  EXPECT_TRUE(parse_policy("sinks+h2o:window=8:n-sink=1").ok());
  EXPECT_TRUE(parse_policy("h2o+pyramid:window=8").ok()) << "the pyramid's";
}

}  // namespace
}  // namespace ripplekv
