// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Conversations on a tiny model: each turn against recomputing all of it, budgets that count for the whole, answers
// drawn anew, templates that rewrite the past, turns that fail, and sessions.
#include "engine/conversation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/utf8.h"
#include "engine/prompt.h"
#include "engine/tiny_engine.h"
#include "model/vocab.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

constexpr const char* kPlain = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[assistant]";

class ConversationTest : public test::TinyEngineTest {
 protected:
  void SetUp() override { load_template(kPlain); }
  void load_template(const std::string& source) {
    test::TinyGguf tiny = tiny_model();
    tiny.n_vocab = 3000;
    tiny.chat_template = source;
    model_ = load(test::tiny_gguf(tiny));
    engine_ = make_engine(512);
  }
  ConversationOptions options(double temperature = 0) const {
    ConversationOptions options;
    options.generate.sampling.n_vocab = config().n_vocab;
    options.generate.sampling.temperature = temperature;
    options.generate.sampling.seed = 7;
    options.generate.n_predict = 12;
    options.generate.n_ctx = 600;
    options.format = kF32Cache;
    return options;
  }
  ConversationOptions budgeted(double fraction, double temperature = 0, double head_floor = 1) const {
    ConversationOptions result = options(temperature);
    const Profile of_model = profile();
    Policy of = policy("snapkv", "ripple", fraction);
    of.selector_options.head_floor = head_floor;
    result.budgets = *make_budgets(model_->id(), of, &of_model);
    return result;
  }
  Conversation begin(ConversationOptions options) const {
    auto conversation = Conversation::begin(*engine_, *model_chat_template(*model_), std::move(options));
    EXPECT_TRUE(conversation.ok()) << conversation.status().message();
    return std::move(*conversation);
  }
  Reply say(Conversation& conversation, const std::string& text) const {
    const int64_t n_before = static_cast<int64_t>(conversation.messages().size());
    std::string shown;
    auto reply = conversation.say(text, [&](std::string_view piece) { shown += piece; });
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(shown, reply->generated.text);
    EXPECT_EQ(static_cast<int64_t>(conversation.messages().size()), n_before + 2);
    EXPECT_EQ(conversation.messages().back().content, shown);
    EXPECT_EQ(static_cast<int64_t>(conversation.tokens().size()), conversation.sequence()->cache.n_pos());
    return *reply;
  }
  // The greedy answer to the tokens before the conversation's last answer, from one prefill.
  std::string recomputed(const Conversation& conversation, const Reply& reply) const {
    const std::span<const int32_t> all(conversation.tokens());
    const auto prompt = all.first(all.size() - static_cast<size_t>(reply.generated.n_decoded));
    Sequence sequence = prefill(*engine_, prompt, plan_full(config(), static_cast<int64_t>(prompt.size()), kF32Cache));
    auto generated = generate(*engine_, sequence, prompt, options().generate, nullptr);
    EXPECT_TRUE(generated.ok());
    return generated->text;
  }
};

TEST_F(ConversationTest, EachTurnIsAsIfAllWereReadAnew) {
  Conversation conversation = begin(options());
  EXPECT_EQ(conversation.sequence(), nullptr);
  int64_t n_held = 0;
  int n_kept = 0;  // answers that were not read as text again
  for (const std::string text :
       {"hello there", "Gr\u00fc\u00dfe [user] \xF0\x9F\x8C\x8A", "x", "and a longer one, of many words"}) {
    const Reply reply = say(conversation, text);
    EXPECT_EQ(reply.note, "");
    EXPECT_EQ(reply.generated.text, recomputed(conversation, reply)) << text;
    // An answer with bytes that are no text is read as the text it became; of others nothing is read twice.
    const auto n_new = static_cast<int64_t>(conversation.tokens().size()) - n_held;
    EXPECT_LE(n_new, reply.n_prefilled + reply.generated.n_decoded);
    n_kept += n_new == reply.n_prefilled + reply.generated.n_decoded ? 1 : 0;
    n_held = static_cast<int64_t>(conversation.tokens().size());
  }
  EXPECT_GE(n_kept, 3);
  ASSERT_EQ(conversation.messages().size(), 8U);
  // What is in the cache spells what the template makes of the messages, but for the token not yet put through.
  std::string spelt = model_->vocab().text(conversation.tokens(), /*special=*/false);
  for (const char* part : {"[user]", "hello there", "and a longer one"}) {
    EXPECT_NE(spelt.find(part), std::string::npos) << spelt;
  }
}

TEST_F(ConversationTest, BudgetsCountForTheWholeConversation) {
  Conversation conversation = begin(budgeted(0.4));
  for (int turn = 0; turn < 6; ++turn) {
    const Reply reply = say(conversation, "some words that make a turn longer than its window " + std::to_string(turn));
    const Sequence& sequence = *conversation.sequence();
    const int64_t n_pos = sequence.plan.n_prompt;
    EXPECT_EQ(n_pos + reply.generated.n_decoded, sequence.cache.n_pos());
    const CachePlan planned = plan(policy("snapkv", "ripple", 0.4), n_pos);
    EXPECT_EQ(sequence.plan.rows, planned.rows) << turn;
    for (size_t il = 0; il < 4; ++il) {
      EXPECT_LE(sequence.receipt.lines[il].rows_held, planned.rows[il]);
      EXPECT_EQ(sequence.cache.layer(static_cast<int>(il)).n_rows(),
                sequence.receipt.lines[il].rows_held + reply.generated.n_decoded);
    }
  }
  EXPECT_LT(conversation.sequence()->cache.n_rows(), 4 * conversation.sequence()->cache.n_pos() * 6 / 10);
}

// The floor of snapkv with a window of 8 is 16 rows: 10% of a short conversation is less.
TEST_F(ConversationTest, AFractionOfAShortConversationIsItsFloor) {
  Conversation conversation = begin(budgeted(0.1));
  say(conversation, "a first turn of some twenty tokens");
  ASSERT_GT(conversation.sequence()->plan.n_prompt, 20);
  for (const int64_t rows : conversation.sequence()->plan.rows) EXPECT_EQ(rows, 16);
  say(conversation, "b");

  ConversationOptions narrow = budgeted(0.4);
  narrow.budgets->budget = {KvBudget::Kind::kRowsPerLayer, 5};
  EXPECT_FALSE(Conversation::begin(*engine_, *model_chat_template(*model_), narrow).ok());
  EXPECT_FALSE(conversation.set_budgets(narrow.budgets).ok());
  EXPECT_EQ(conversation.budgets()->budget.to_string(), "10%");
  narrow.budgets->budget = {KvBudget::Kind::kRowsPerLayer, 20};
  ASSERT_TRUE(conversation.set_budgets(narrow.budgets).ok());
  say(conversation, "a third turn");
  EXPECT_EQ(conversation.sequence()->plan.total_rows(), 4 * 20);
  ASSERT_TRUE(conversation.set_budgets(std::nullopt).ok());
  say(conversation, "a fourth");
  EXPECT_TRUE(conversation.sequence()->plan.keeps_all());
}

TEST_F(ConversationTest, AnswersAreDrawnAnewFromTheSameMoment) {
  for (const auto& [slack, head_floor] : {std::pair{0, 1.0}, {0, 0.0}, {2, 1.0}, {2, 0.0}}) {
    for (const double temperature : {0.0, 1.5}) {
      ConversationOptions of = budgeted(0.5, temperature, head_floor);
      of.decode_slack = slack;
      Conversation conversation = begin(of);
      EXPECT_FALSE(conversation.regenerate(nullptr).ok());
      say(conversation, "hello there, you");
      const Reply first = say(conversation, "one more turn");
      const std::vector<int32_t> tokens_before = conversation.tokens();
      const auto n_prompt = tokens_before.size() - static_cast<size_t>(first.generated.n_decoded);
      std::set<std::string> texts = {first.generated.text};
      for (int i = 0; i < 3; ++i) {
        const auto again = conversation.regenerate(nullptr);
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_EQ(again->n_prefilled, 0);
        texts.insert(again->generated.text);
        EXPECT_EQ(conversation.messages().size(), 4U);
        EXPECT_EQ(conversation.messages().back().content, again->generated.text);
        EXPECT_EQ(static_cast<int64_t>(conversation.tokens().size()), conversation.sequence()->cache.n_pos());
        EXPECT_TRUE(std::equal(tokens_before.begin(), tokens_before.begin() + static_cast<std::ptrdiff_t>(n_prompt),
                               conversation.tokens().begin()));
      }
      if (temperature == 0) {
        EXPECT_EQ(texts.size(), 1U) << "the same moment gives the same greedy answer";
      } else {
        EXPECT_GT(texts.size(), 1U) << "seeds differ";
      }
      EXPECT_EQ(say(conversation, "and on").note, "");
    }
  }
}

// ---- templates and stops that make another text of an answer ----

TEST_F(ConversationTest, AnAnswerTheTemplateRewritesIsReadAsItSays) {
  load_template(
      "{% for m in messages %}[{{ m.role }}]{{ 'gone' if m.role == 'assistant' else m.content }}\n{% endfor %}"
      "[assistant]");
  Conversation conversation = begin(options());
  say(conversation, "hello there");
  const size_t n_first = conversation.tokens().size();
  const Reply reply = say(conversation, "and you");
  EXPECT_EQ(reply.note, "");
  EXPECT_EQ(reply.generated.text, recomputed(conversation, reply));
  const std::string spelt = model_->vocab().text(conversation.tokens(), false);
  EXPECT_NE(spelt.find("gone\n[user]and you\n[assistant]"), std::string::npos) << spelt;
  EXPECT_LT(reply.n_prefilled, static_cast<int64_t>(n_first + 30));
}

TEST_F(ConversationTest, AStopStringIsNotPartOfTheNextTurn) {
  Conversation plain = begin(options());
  const std::string answer = say(plain, "hello there").generated.text;
  ASSERT_GE(answer.size(), 4U);
  ConversationOptions of = options();
  of.generate.stop = {answer.substr(1, 2)};
  if (!valid_utf8(of.generate.stop[0])) of.generate.stop = {answer};
  Conversation conversation = begin(of);
  const Reply first = say(conversation, "hello there");
  EXPECT_EQ(first.generated.stopped_by, "stop string");
  const Reply reply = say(conversation, "and you");
  EXPECT_EQ(reply.note, "");
  const std::string spelt = model_->vocab().text(conversation.tokens(), false);
  EXPECT_NE(spelt.find("[user]and you"), std::string::npos) << spelt;
}

TEST_F(ConversationTest, AChangedBeginningIsReadAnewAndSaid) {
  load_template("{{ messages | length }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]");
  Conversation conversation = begin(budgeted(0.5));
  EXPECT_EQ(say(conversation, "hello there").note, "");
  const Reply reply = say(conversation, "and you");
  EXPECT_NE(reply.note.find("read anew"), std::string::npos);
  EXPECT_EQ(static_cast<int64_t>(conversation.tokens().size()), reply.n_prefilled + reply.generated.n_decoded);
}

TEST_F(ConversationTest, TheSystemPromptComesFirst) {
  ConversationOptions of = options();
  of.system_prompt = "be brief";
  Conversation conversation = begin(of);
  ASSERT_TRUE(conversation.say("hi", nullptr).ok());
  EXPECT_EQ(conversation.messages()[0].role, "system");
  const std::string spelt = model_->vocab().text(conversation.tokens(), false);
  EXPECT_NE(spelt.find("[system]be brief\n[user]hi"), std::string::npos) << spelt;
}

// ---- turns that fail ----

TEST_F(ConversationTest, ATurnThatFailsLeavesTheConversation) {
  std::atomic<bool> cancel = false;
  engine_->set_cancel(&cancel);
  Conversation conversation = begin(budgeted(0.5));
  Conversation untroubled = begin(budgeted(0.5));
  const auto unchanged = [&](size_t n_messages) {
    EXPECT_EQ(conversation.messages().size(), n_messages);
    EXPECT_EQ(conversation.tokens(), untroubled.tokens());
    if (n_messages > 0) expect_same_cache(conversation.sequence()->cache, untroubled.sequence()->cache);
  };
  for (size_t n_messages : {0, 2, 4}) {
    const auto too_long = conversation.say(std::string(700, 'x'), nullptr);
    ASSERT_FALSE(too_long.ok());
    EXPECT_NE(too_long.status().message().find("the context holds 600"), std::string::npos);
    unchanged(n_messages);
    cancel = true;
    EXPECT_EQ(conversation.say("stop", nullptr).status().code(), StatusCode::kCancelled);
    cancel = false;
    unchanged(n_messages);
    EXPECT_EQ(say(conversation, "hello there").generated.text, say(untroubled, "hello there").generated.text);
    unchanged(n_messages + 2);
  }
  engine_->set_cancel(nullptr);
}

TEST_F(ConversationTest, AnInterruptedAnswerIsAnAnswerAsFarAsItCame) {
  std::atomic<bool> cancel = false;
  engine_->set_cancel(&cancel);
  for (const int64_t slack : {0, 1}) {
    ConversationOptions of = budgeted(0.3);
    of.decode_slack = slack;
    Conversation conversation = begin(of);
    say(conversation, "hello there, a turn");
    int n_pieces = 0;
    const auto reply = conversation.say("go on", [&](std::string_view) { cancel = ++n_pieces == 3; });
    cancel = false;
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(reply->generated.stopped_by, "interrupt");
    EXPECT_EQ(conversation.messages().size(), 4U);
    EXPECT_EQ(static_cast<int64_t>(conversation.tokens().size()), conversation.sequence()->cache.n_pos());
    EXPECT_EQ(say(conversation, "and now").note, "");
    EXPECT_TRUE(conversation.regenerate(nullptr).ok());
  }
  engine_->set_cancel(nullptr);
}

// ---- sessions ----

TEST_F(ConversationTest, ASavedConversationGoesOnElsewhere) {
  const std::string path = test::temp_dir() + "/talk.session";
  for (const double fraction : {0.4, 1.0}) {
    Conversation conversation = begin(fraction < 1 ? budgeted(fraction) : options());
    EXPECT_FALSE(conversation.save(path).ok()) << "nothing was said";
    say(conversation, "hello there");
    say(conversation, "some words to be kept");
    ASSERT_TRUE(conversation.save(path).ok());
    Conversation other = begin(options());
    say(other, "another talk");
    ASSERT_TRUE(other.load(path).ok());
    EXPECT_EQ(other.tokens(), conversation.tokens());
    EXPECT_EQ(other.budgets().has_value(), fraction < 1);
    EXPECT_EQ(say(other, "and on").generated.text, say(conversation, "and on").generated.text);
    expect_same_cache(other.sequence()->cache, conversation.sequence()->cache);
    EXPECT_EQ(other.messages().size(), 6U);
  }
  Conversation conversation = begin(options());
  say(conversation, "hello there");
  const std::vector<int32_t> before = conversation.tokens();
  EXPECT_FALSE(conversation.load(path + ".none").ok());
  EXPECT_EQ(conversation.tokens(), before);
  EXPECT_EQ(say(conversation, "and on").note, "");
}

// The moment before the answer comes back with the file: the same logits, the same rows, whatever answers drop.
TEST_F(ConversationTest, ASavedAnswerCanBeDrawnAnew) {
  const std::string path = test::temp_dir() + "/talk.session";
  for (const auto& [slack, head_floor] : {std::pair{0, 1.0}, {0, 0.0}, {100, 1.0}, {100, 0.0}}) {
    for (const double temperature : {0.0, 1.5}) {
      ConversationOptions of = budgeted(0.5, temperature, head_floor);
      of.decode_slack = slack;
      Conversation conversation = begin(of);
      say(conversation, "hello there, you");
      const Reply saved = say(conversation, "some words to be kept");
      ASSERT_TRUE(conversation.save(path).ok());
      Conversation other = begin(options(temperature));
      ASSERT_TRUE(other.load(path).ok());
      for (int i = 0; i < 3; ++i) {  // the second draw of the loaded one has the seed of the third answer
        const auto again = other.regenerate(nullptr);
        ASSERT_TRUE(again.ok()) << again.status().message();
        if (temperature == 0 || i == 1) {
          EXPECT_EQ(again->generated.ids, saved.generated.ids);
        }
        if (temperature > 0 && i == 2) {
          const auto here = conversation.regenerate(nullptr);
          ASSERT_TRUE(here.ok());
          EXPECT_EQ(again->generated.ids, here->generated.ids);
          expect_same_cache(other.sequence()->cache, conversation.sequence()->cache);
        }
        EXPECT_EQ(other.messages().size(), 4U);
        EXPECT_EQ(static_cast<int64_t>(other.tokens().size()), other.sequence()->cache.n_pos());
      }
      // And once more, from a session of the answer drawn anew.
      ASSERT_TRUE(other.save(path).ok());
      ASSERT_TRUE(other.load(path).ok());
      EXPECT_TRUE(other.regenerate(nullptr).ok());
    }
  }
}

// An answer that dropped rows cannot: their loss is said, not passed over.
TEST_F(ConversationTest, AnAnswerThatDroppedRowsIsNotDrawnAnewFromASession) {
  const std::string path = test::temp_dir() + "/talk.session";
  ConversationOptions of = budgeted(0.5);
  of.decode_slack = 2;
  Conversation conversation = begin(of);
  say(conversation, "hello there, you, with some more words than the window has rows");
  EXPECT_TRUE(conversation.regenerate(nullptr).ok());
  ASSERT_TRUE(conversation.save(path).ok());
  Conversation other = begin(options());
  ASSERT_TRUE(other.load(path).ok());
  EXPECT_EQ(other.regenerate(nullptr).status().message(),
            "this answer cannot be regenerated: the rows it was drawn from are gone");
  EXPECT_EQ(say(other, "and on").generated.ids, say(conversation, "and on").generated.ids);
}

// Answers that push rows out of a sliding window can be drawn anew and saved all the same.
TEST_F(ConversationTest, WindowsThatSlideDuringAnAnswer) {
  test::TinyGguf tiny = tiny_model();
  tiny.architecture = "gemma3";
  tiny.sliding_window = 20;
  tiny.sliding_pattern = 2;
  tiny.n_vocab = 3000;
  tiny.chat_template = kPlain;
  model_ = load(test::tiny_gguf(tiny));
  engine_ = make_engine(512);
  ConversationOptions long_answers = options();
  long_answers.generate.n_predict = 70;
  Conversation conversation = begin(long_answers);
  const Reply first = say(conversation, "a question of more words than the window has rows, so that it slides at once");
  const auto again = conversation.regenerate(nullptr);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->generated.ids, first.generated.ids);
  const std::string path = test::temp_dir() + "/sliding.session";
  ASSERT_TRUE(conversation.save(path).ok());
  Conversation loaded = begin(long_answers);
  ASSERT_TRUE(loaded.load(path).ok());
  EXPECT_FALSE(loaded.regenerate(nullptr).ok()) << "rows of that moment's window are gone";
  const Reply here = say(conversation, "and another");
  const Reply there = say(loaded, "and another");
  EXPECT_EQ(here.generated.ids, there.generated.ids);
  EXPECT_LT(conversation.sequence()->cache.layer(0).n_rows(), 20 + LayerCache::kGrowRows);

  // A short answer leaves the window's rows in place.
  Conversation brief = begin(options());
  const Reply drawn = say(brief, "a question of more words than the window has rows, so that it slides at once");
  ASSERT_TRUE(brief.save(path).ok());
  ASSERT_TRUE(loaded.load(path).ok());
  for (int i = 0; i < 2; ++i) {
    const auto anew = loaded.regenerate(nullptr);
    ASSERT_TRUE(anew.ok()) << anew.status().message();
    EXPECT_TRUE(std::equal(drawn.generated.ids.begin(), drawn.generated.ids.end(), anew->generated.ids.begin()));
  }
}

}  // namespace
}  // namespace ripplekv
