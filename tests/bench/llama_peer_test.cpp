// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// libllama at its work on a tiny model: every setting, prompts of less and more than one chunk. No times are held.
#include "bench/llama_peer.h"

#include <gtest/gtest.h>

#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

class LlamaPeerTest : public ::testing::Test {
 protected:
  static std::unique_ptr<LlamaPeer> load(const test::TinyGguf& tiny, const std::atomic<bool>* cancel = nullptr) {
    auto peer = LlamaPeer::load({test::tiny_gguf(tiny), 2, /*n_ubatch=*/32, 0, cancel});
    EXPECT_TRUE(peer.ok()) << peer.status().message();
    return std::move(*peer);
  }
  test::QuietLog quiet_;
};

// The context has room for exactly the rows asked for: a copy too many would not fit.
TEST_F(LlamaPeerTest, DoesAllWorkInEverySetting) {
  const auto peer = load(test::tiny_chat_model());
  for (const LlamaSetting& setting : llama_settings()) {
    for (const int64_t n : {1, 20, 32, 33, 96, 250}) {
      SCOPED_TRACE(setting.name + " " + std::to_string(n));
      const auto prompt = test::random_tokens(n, 300, 1);
      const auto prefilled = peer->prefill(prompt, setting);
      ASSERT_TRUE(prefilled.ok()) << prefilled.status().message();
      EXPECT_GT(*prefilled, 0);
      const auto decoded = peer->decode(prompt, test::random_tokens(6, 300, 2), setting);
      ASSERT_TRUE(decoded.ok()) << decoded.status().message();
      EXPECT_GT(*decoded, 0);
      EXPECT_TRUE(peer->prefill_end(prompt, setting).ok());
    }
  }
}

TEST_F(LlamaPeerTest, ReadsAllOfAPromptWhereLayersSlide) {
  test::TinyGguf tiny = test::tiny_chat_model();
  tiny.architecture = "gemma3";
  tiny.sliding_window = 16;
  const auto peer = load(tiny);
  const auto decoded =
      peer->decode(test::random_tokens(150, 300, 1), test::random_tokens(4, 300, 2), llama_settings()[0]);
  EXPECT_TRUE(decoded.ok()) << decoded.status().message();
}

TEST_F(LlamaPeerTest, StopsWhenAsked) {
  const std::atomic<bool> cancel = true;
  const auto peer = load(test::tiny_chat_model(), &cancel);
  const auto result = peer->prefill(test::random_tokens(50, 300, 1), llama_settings()[0]);
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
}

TEST_F(LlamaPeerTest, RefusesWhatIsNoModel) {
  EXPECT_EQ(LlamaPeer::load({"/nowhere.gguf"}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace ripplekv
