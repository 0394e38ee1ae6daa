// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Prompts in two parts: together they are the rendering of the whole, the document is the same for all its questions,
// and what is too long loses the document's middle alone.
#include "eval/prompts.h"

#include <gtest/gtest.h>

#include "engine/prompt.h"
#include "model/vocab.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

class PromptsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::TinyGguf tiny = test::tiny_chat_model();
    tiny.chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}[assistant]";
    auto model = Model::load(test::tiny_gguf(tiny));
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = *model;
    auto chat = model_chat_template(*model_);
    ASSERT_TRUE(chat.ok()) << chat.status().message();
    chat_.emplace(std::move(*chat));
  }
  static EvalSample sample(const std::string& question, bool chat = true) {
    EvalSample sample;
    sample.id = "one";
    sample.document = "a document about the ships of one quay";
    sample.question = question;
    sample.chat = chat;
    return sample;
  }
  std::string text(const std::vector<int32_t>& ids) const { return model_->vocab().text(ids, false); }

  test::QuietLog quiet_;
  std::shared_ptr<const Model> model_;
  std::optional<ChatTemplate> chat_;
};

TEST_F(PromptsTest, TheTwoPartsAreTheWholeRendering) {
  const std::vector<EvalSample> samples = {sample("\n\nwhich ship?\n"),
                                           sample("\n\nwhich of the quays is the ship at?")};
  const auto split = tokenize_apart(*model_, &*chat_, samples, 1000);
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(split->n_cut, 0);
  ASSERT_EQ(split->questions.size(), 2U);
  EXPECT_NE(text(split->document).find("[user]a document about the ships of one quay"), std::string::npos);
  EXPECT_EQ(text(split->document).find("which"), std::string::npos);
  // The tokenizer puts a space before each text of its own.
  EXPECT_NE(text(split->questions[0]).find("\n\nwhich ship?[assistant]"), std::string::npos);
  EXPECT_NE(text(split->questions[1]).find("\n\nwhich of the quays is the ship at?[assistant]"), std::string::npos);

  const std::vector<EvalSample> plain = {sample("\nwhich ship?", /*chat=*/false)};
  const auto without = tokenize_apart(*model_, &*chat_, plain, 1000);
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_EQ(text(without->document).find("[user]"), std::string::npos);
  EXPECT_TRUE(text(without->questions[0]).ends_with("\nwhich ship?"));
}

TEST_F(PromptsTest, TheDocumentAloneIsCut) {
  const std::vector<EvalSample> samples = {sample("\n\nwhich ship?"), sample("\n\nwhich of the quays is the ship at?")};
  const auto whole = tokenize_apart(*model_, &*chat_, samples, 1000);
  ASSERT_TRUE(whole.ok());
  const auto n_longest = static_cast<int64_t>(whole->questions[1].size());
  const int64_t n_max = static_cast<int64_t>(whole->document.size()) - 12 + n_longest;
  const auto cut = tokenize_apart(*model_, &*chat_, samples, n_max);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_GE(cut->n_cut, 12);
  EXPECT_EQ(cut->questions, whole->questions);
  EXPECT_LE(static_cast<int64_t>(cut->document.size()) + n_longest, n_max);
  EXPECT_GE(static_cast<int64_t>(cut->document.size()) + n_longest, n_max - 2);
  EXPECT_NE(text(cut->document).find("[user]a doc"), std::string::npos);
  EXPECT_TRUE(text(cut->document).ends_with("quay"));
}

// Whichever of a document's questions are asked, it is cut as for all.
TEST_F(PromptsTest, TheCutLeavesRoomForQuestionsThatAreNotAsked) {
  const std::vector<EvalSample> both = {sample("\n\nwhich ship?"), sample("\n\nwhich of the quays is the ship at?")};
  std::vector<EvalSample> first(both.begin(), both.begin() + 1);
  const auto whole = tokenize_apart(*model_, &*chat_, both, 1000);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto n_max = static_cast<int64_t>(whole->document.size() + whole->questions[1].size()) - 12;
  const auto cut = tokenize_apart(*model_, &*chat_, both, n_max);
  const auto alone = tokenize_apart(*model_, &*chat_, first, n_max);
  ASSERT_TRUE(cut.ok() && alone.ok());
  EXPECT_LT(cut->document.size(), alone->document.size()) << "the longer question is not the first one";
  for (const EvalSample& of : both) first[0].questions_beside.push_back(of.question);
  const auto beside = tokenize_apart(*model_, &*chat_, first, n_max);
  ASSERT_TRUE(beside.ok()) << beside.status().message();
  EXPECT_EQ(beside->document, cut->document);
  EXPECT_EQ(beside->questions.size(), 1U);
}

TEST_F(PromptsTest, Refusals) {
  const auto refusal = [&](const EvalSample& of, int64_t n_max) {
    return tokenize_apart(*model_, &*chat_, {&of, 1}, n_max).status().message();
  };
  EXPECT_NE(refusal(sample(" \n"), 1000).find("sample 'one': got no question"), std::string::npos);
  EvalSample without = sample("which?");
  without.document.clear();
  EXPECT_NE(refusal(without, 1000).find("got no document"), std::string::npos);
  EXPECT_NE(refusal(sample("\n\nwhich ship?"), 12).find("leaves no room"), std::string::npos);
}

}  // namespace
}  // namespace ripplekv
