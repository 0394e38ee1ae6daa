// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A conversation with the default model, as a user would have it: turns, budget, receipt, regeneration, sessions.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

class ChatModelTest : public ::testing::Test {
 protected:
  void SetUp() override { RKV_NEED_FILE(test::model_path(), "the default model"); }
  // `lines` is printf's format.
  test::Outcome chat(const std::string& lines, const std::string& args, const std::string& streams = "2>&1") const {
    return test::shell("export RIPPLEKV_CACHE_DIR='" + folder_ + "' OMP_WAIT_POLICY=passive; cd '" + folder_ +
                       "'; printf '" + lines + "' | $P run -i -m '" + test::model_path() +
                       "' --kv-budget 30% --seed 1 -n 24 " + args + " " + streams);
  }
  const std::string folder_ = test::temp_dir();
};

TEST_F(ChatModelTest, AWholeConversation) {
  const test::Outcome out =
      chat("hi\\n/receipt\\n/regen\\nAnd what is the capital of France?\\n/save x\\n/exit\\n", "");
  EXPECT_EQ(out.exit_code, 0) << out.text;
  EXPECT_NE(out.text.find("saved 4 messages"), std::string::npos) << out.text;
  EXPECT_EQ(out.text.find("read anew"), std::string::npos) << out.text;
  EXPECT_EQ(out.text.find("expected"), std::string::npos) << out.text;
}

// The second answer over a full cache is that of one prompt which holds the first, written out by hand. With f32
// weights: how ggml rounds activations for quantised ones depends on how many tokens are computed at once.
TEST_F(ChatModelTest, ATurnIsAsIfAllWereReadAnew) {
  const std::string system = "<|im_start|>system\\nBe brief.<|im_end|>\\n";
  const auto user = [](const std::string& text) {
    return "<|im_start|>user\\n" + text + "<|im_end|>\\n<|im_start|>assistant\\n";
  };
  const auto raw = [&](const std::string& prompt) {
    return test::shell("export OMP_WAIT_POLICY=passive; printf '" + prompt + "' | $P run --raw -m '" +
                       test::model_path() + "' --weights f32 --temp 0 -n 24 2>/dev/null")
        .text;
  };
  const std::string first = raw(system + user("My name is Kunigunde."));
  const std::string answer = first.substr(0, first.size() - 1);
  ASSERT_EQ(answer.find_first_of("'%\\\n"), std::string::npos) << "printf would not leave it alone: " << answer;
  const std::string second =
      raw(system + user("My name is Kunigunde.") + answer + "<|im_end|>\\n" + user("What is my name?"));
  const test::Outcome out = test::shell(
      "export OMP_WAIT_POLICY=passive; printf 'My name is Kunigunde.\\nWhat is my name?\\n' | $P run -i -m '" +
      test::model_path() + "' -sys 'Be brief.' --weights f32 --temp 0 -n 24 2>/dev/null");
  EXPECT_EQ(out.text, first + second);
}

TEST_F(ChatModelTest, ASavedConversationAnswersTheSame) {
  const std::string before = "My name is Kunigunde.\\nTell me about the sea.\\n";
  const test::Outcome whole = chat(before + "/save x\\n", "--temp 0", "2>/dev/null");
  const test::Outcome loaded = chat("/load x\\nWhat is my name?\\n", "--temp 0", "2>/dev/null");
  const test::Outcome on = chat(before + "What is my name?\\n", "--temp 0", "2>/dev/null");
  EXPECT_EQ(whole.text + loaded.text, on.text);
  EXPECT_FALSE(loaded.text.empty());
}

}  // namespace
}  // namespace ripplekv
