// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From text to token ids on a tiny model: templates, begin-of-sequence tokens, and cutting documents to a length.
#include "engine/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/vocab.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

std::shared_ptr<const Model> tiny_model(const std::string& chat_template) {
  test::TinyGguf tiny;
  tiny.chat_template = chat_template;
  const auto model = Model::load(test::tiny_gguf(tiny));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *model;
}

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt "
    "%}[a]{% "
    "endif %}";

CalibrationSample document(std::string text, std::string question = "") {
  CalibrationSample sample;
  sample.id = "s";
  sample.document = std::move(text);
  sample.question = std::move(question);
  return sample;
}

class PromptTest : public ::testing::Test {
  test::QuietLog quiet_;
};

// Text of the ids without the space that SPM puts in front.
std::string text_of(const Model& model, const std::vector<int32_t>& ids) {
  const std::string text = model.vocab().text(ids, /*special=*/false);
  return text.empty() || text[0] != ' ' ? text : text.substr(1);
}

TEST_F(PromptTest, ChatTokensBeginOnceAndEndWhereTheAnswerBegins) {
  const auto model = tiny_model(kTemplate);
  const auto chat = model_chat_template(*model);
  ASSERT_TRUE(chat.ok()) << chat.status().message();
  const ChatMessage message = {"user", "abc"};
  const auto ids = chat_tokens(*model, *chat, {&message, 1});
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ(std::count(ids->begin(), ids->end(), model->vocab().bos()), 1);
  EXPECT_EQ(ids->front(), model->vocab().bos());
  EXPECT_EQ(text_of(*model, *ids), "[user]abc[a]");
}

TEST_F(PromptTest, AModelWithoutATemplateOrWithABrokenOne) {
  EXPECT_EQ(model_chat_template(*tiny_model("")).status().code(), StatusCode::kNotFound);
  const auto broken = model_chat_template(*tiny_model("{% for %}"));
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.status().message().find("--raw"), std::string::npos) << broken.status().message();
}

TEST_F(PromptTest, ShortDocumentsStayWhole) {
  const auto model = tiny_model("");
  const auto sample = tokenize_sample(*model, nullptr, document("one two three"), 100);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample->id, "s");
  EXPECT_EQ(sample->ids.front(), model->vocab().bos());
  EXPECT_EQ(text_of(*model, sample->ids), "one two three");
  EXPECT_TRUE(sample->answer.empty());
}

// Whatever the length: never more than allowed, and the beginning and the end of the document are both there.
TEST_F(PromptTest, LongDocumentsAreCutInTheMiddle) {
  const auto model = tiny_model(kTemplate);
  const auto chat = model_chat_template(*model);
  ASSERT_TRUE(chat.ok());
  std::string text = "first";
  for (int i = 0; i < 60; ++i) text += i % 3 == 0 ? " \xE2\x82\xAC" : " word" + std::to_string(i % 10 + 30);
  text += " last";
  for (const std::string question : {"", "why?"}) {
    for (int64_t max_tokens = 60; max_tokens < 400; max_tokens += 7) {
      const auto sample = tokenize_sample(*model, &*chat, document(text, question), max_tokens);
      ASSERT_TRUE(sample.ok()) << sample.status().message();
      EXPECT_LE(static_cast<int64_t>(sample->ids.size()), max_tokens);
      EXPECT_GE(static_cast<int64_t>(sample->ids.size()), std::min<int64_t>(max_tokens, 250) - 40) << "cut too much";
      const std::string got = text_of(*model, sample->ids);
      EXPECT_NE(got.find("first"), std::string::npos) << got;
      EXPECT_NE(got.find("last"), std::string::npos) << got;
      EXPECT_TRUE(got.ends_with(question.empty() ? " last" : " last\n\nwhy?[a]")) << got;
    }
  }
}

TEST_F(PromptTest, AQuestionIsNeverCut) {
  const auto model = tiny_model(kTemplate);
  const auto refused = tokenize_sample(*model, nullptr, document("one", std::string(50, 'a')), 20);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("longer than 20 tokens"), std::string::npos) << refused.status().message();
}

TEST_F(PromptTest, IdsAreTakenAsTheyAreAndCutInTheMiddle) {
  const auto model = tiny_model("");
  CalibrationSample sample;
  sample.id = "ids";
  for (int32_t id = 10; id < 20; ++id) sample.ids.push_back(id);
  sample.answer_ids = {5, 6};
  EXPECT_EQ(tokenize_sample(*model, nullptr, sample, 10)->ids, sample.ids);
  EXPECT_EQ(tokenize_sample(*model, nullptr, sample, 10)->answer, sample.answer_ids);
  EXPECT_EQ(tokenize_sample(*model, nullptr, sample, 4)->ids, (std::vector<int32_t>{10, 11, 18, 19}));
  EXPECT_EQ(tokenize_sample(*model, nullptr, sample, 5)->ids, (std::vector<int32_t>{10, 11, 17, 18, 19}));
  EXPECT_EQ(tokenize_sample(*model, nullptr, sample, 1)->ids, (std::vector<int32_t>{19}));
}

}  // namespace
}  // namespace ripplekv
