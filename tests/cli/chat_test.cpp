// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `run --interactive` from outside, driven by lines of standard input: on a tiny model what every command says, what
// goes to which stream, and that nothing wrong ends a conversation. With editing on a terminal it is the same loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

using test::Outcome;

class ChatTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    test::TinyGguf tiny = test::tiny_chat_model();
    tiny.n_vocab = 3000;
    folder_ = test::temp_dir();
    test::write_tiny_gguf(tiny, folder_ + "/tiny.gguf");
    tiny.chat_template = "";
    test::write_tiny_gguf(tiny, folder_ + "/plain.gguf");
    tiny.seed = 2;
    tiny.chat_template = "{{ messages[0].content }}";
    test::write_tiny_gguf(tiny, folder_ + "/other.gguf");
    std::ofstream(folder_ + "/lines.txt") << "a first turn\nof two lines";
    std::ofstream(folder_ + "/slash.txt") << "/exit is no command here";
    const Outcome profiled = program(
        "profile -m tiny.gguf --limit 2 --max-tokens 200 --answer-tokens 4 --window 8 --curves 10%,30% -o p.json");
    ASSERT_EQ(profiled.exit_code, 0) << profiled.text;
  }
  static Outcome program(const std::string& args) {
    return test::shell("export RIPPLEKV_CACHE_DIR='" + folder_ + "/cache' OMP_WAIT_POLICY=passive; cd '" + folder_ +
                       "'; $P " + args + " 2>&1");
  }
  // Planned rows of the layers in the last receipt that a chat printed.
  static std::vector<std::string> planned(const std::string& text) {
    std::vector<std::string> rows;
    std::istringstream lines(text.substr(std::min(text.rfind("layer   planned"), text.size())));
    std::string line;
    std::getline(lines, line);
    for (std::string layer, of_layer; std::getline(lines, line) && std::istringstream(line) >> layer >> of_layer;) {
      if (layer == "peak") break;
      rows.push_back(of_layer);
    }
    return rows;
  }
  // `lines` is printf's format.
  static Outcome chat(const std::string& lines, const std::string& args, const std::string& streams = "2>&1",
                      const std::string& model = "tiny") {
    return test::shell("export RIPPLEKV_CACHE_DIR='" + folder_ + "/cache' OMP_WAIT_POLICY=passive; cd '" + folder_ +
                       "'; printf '" + lines + "' | $P run -i -m " + model + ".gguf -n 8 --temp 0 " + args + " " +
                       streams);
  }
  static int64_t count(const std::string& text, const std::string& what) {
    int64_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
  static std::string folder_;
};

std::string ChatTest::folder_;

// Longer than the rows that no layer falls under.
const std::string kLong = [] {
  std::string words;
  for (int i = 0; i < 20; ++i) words += "ship " + std::to_string(i * 37 % 101) + " lies at quay. ";
  return words;
}();

TEST_F(ChatTest, AnswersGoToStdoutAndAllElseToStderr) {
  const std::string talk = "hello\\n/receipt\\n/budget\\n/regen\\nmore\\n";
  const Outcome out = chat(talk, "--kv-budget 50% --window 8", "2>/dev/null");
  EXPECT_EQ(out.exit_code, 0);
  EXPECT_EQ(std::count(out.text.begin(), out.text.end(), '\n'), 3) << out.text;
  const std::string first = out.text.substr(0, out.text.find('\n'));
  EXPECT_EQ(out.text.compare(first.size() + 1, first.size(), first), 0) << "the same greedy answer again";
  const Outcome err = chat(talk, "--kv-budget 50% --window 8", "2>&1 >/dev/null");
  EXPECT_EQ(count(err.text, "prefill "), 3) << err.text;
  EXPECT_EQ(count(err.text, "planned"), 2) << err.text;
  EXPECT_NE(err.text.find("budget: 50% (uniform, snapkv); "), std::string::npos) << err.text;
  EXPECT_EQ(err.text.find("> "), std::string::npos) << "no prompt where nobody types";
}

TEST_F(ChatTest, WhatIsWrongIsOneSentenceAndTheTalkGoesOn) {
  const Outcome out = chat(
      "/regen\\n/receipt\\n/save x\\nhello\\n/nope\\n/save\\n/exit now\\n/budget 0\\n/budget 3\\n"
      "/load none.session\\n/save none/x\\n/load tiny.gguf\\n\\377\\n\\n   \\nmore\\n",
      "--kv-budget 50% --window 8");
  EXPECT_EQ(out.exit_code, 0) << out.text;
  for (const char* says :
       {"/regen: there is no answer to regenerate", "/receipt: there is no receipt yet", "/save: there is nothing",
        "unknown command '/nope', expected /budget, /receipt", "/save: got nothing, expected FILE",
        "/exit: got 'now', expected nothing", "/budget: kv budget: got '0'", "/budget: --kv-budget 3", "none.session",
        "none/x", "is no session", "not UTF-8 at byte 0"}) {
    EXPECT_EQ(count(out.text, says), 1) << says << "\n" << out.text;
  }
  EXPECT_EQ(count(out.text, "prefill "), 2) << "empty lines are no turns: " << out.text;
}

TEST_F(ChatTest, BudgetsCanBeChanged) {
  const Outcome out = chat("hello\\n/budget 64\\nmore\\n/budget\\n/help\\n", "");
  EXPECT_EQ(count(out.text, "budget: 64 (uniform, snapkv)"), 2) << out.text;
  EXPECT_EQ(count(out.text, "note: no profile of this model"), 1) << out.text;
  EXPECT_NE(out.text.find("/regen "), std::string::npos) << out.text;
}

// Shares of curves hold for one budget: from flags a new one is as if it had been given at the start. A file has only
// its shares, which is said once.
TEST_F(ChatTest, ANewBudgetHasSharesOfItsOwn) {
  const std::string words = kLong + "\\n/receipt\\n";
  const std::string flags = " --allocator curves --profile p.json --window 8";
  const Outcome small = chat(words, "--kv-budget 15%" + flags);
  const Outcome large = chat(words, "--kv-budget 60%" + flags);
  const Outcome changed = chat("/budget 60%%\\n" + words, "--kv-budget 15%" + flags);
  EXPECT_EQ(planned(large.text).size(), 3U) << large.text;
  EXPECT_EQ(planned(changed.text), planned(large.text)) << changed.text << large.text;
  EXPECT_EQ(count(changed.text, "keep their shares"), 0) << changed.text;

  ASSERT_EQ(program("allocate --kv-budget 15% -m tiny.gguf -o b.json" + flags).exit_code, 0);
  const Outcome kept = chat("/budget 60%%\\n" + words, "--budget b.json");
  EXPECT_NE(planned(kept.text), planned(large.text)) << kept.text << small.text;
  EXPECT_EQ(count(kept.text, "note: the layers keep their shares"), 1) << kept.text;
  EXPECT_EQ(count(chat("/budget 15%%\\n", "--budget b.json").text, "note:"), 0);
  ASSERT_EQ(chat(words + "/save c.session\\n", "--kv-budget 15%" + flags).exit_code, 0);
  EXPECT_EQ(count(chat("/load c.session\\n/budget 60%%\\n", "--kv-budget 15%" + flags).text, "keep their shares"), 1);
}

TEST_F(ChatTest, BytesAreOfTheFullCacheInF16) {
  const Outcome out = chat(kLong + "\\n/budget\\n", "--kv-budget 30% --kv-type auto --profile p.json --window 8");
  EXPECT_EQ(count(out.text, "budget: 30% of the f16 cache's bytes (head_curves, snapkv)"), 1) << out.text;
  EXPECT_EQ(count(out.text, " full in f16 ("), 1) << out.text;
  // Another budget would have other formats; what is held has those it was rounded to.
  const std::string automatic = "--kv-budget 30% --kv-type auto --profile p.json --window 8";
  EXPECT_EQ(count(out.text, "keep the K/V formats"), 0) << out.text;
  EXPECT_EQ(count(chat(kLong + "\\n/budget 100%%\\n", automatic).text, "rows to come keep the K/V formats"), 1);
  EXPECT_EQ(count(chat("hello\\n", "--kv-type q8_0").text, " full ("), 1);
}

TEST_F(ChatTest, ALoadedTalkSaysWhichFormatsItsRowsHave) {
  ASSERT_EQ(program("allocate --kv-budget 50% --allocator uniform -m tiny.gguf --window 8 -o mixed.json").exit_code, 0);
  ASSERT_EQ(test::shell("cd '" + folder_ + "'; sed -i '/\"layer\": 1/s/f16/q8_0/g' mixed.json").exit_code, 0);
  ASSERT_NE(chat("hello\\n/save mixed.session\\n", "--budget mixed.json").text.find("saved 2"), std::string::npos);
  ASSERT_NE(chat("hello\\n/save f16.session\\n", "").text.find("saved 2"), std::string::npos);
  const std::string automatic = "--kv-budget 50% --kv-type auto --profile p.json --window 8";
  for (const char* flags : {"--kv-type f16", "--kv-type q8_0", "-ctk f16"}) {
    const Outcome out = chat("/load mixed.session\\n", flags);
    EXPECT_EQ(count(out.text, "note: its rows have formats of their own, layer by layer, also those to come"), 1)
        << out.text;
  }
  EXPECT_EQ(count(chat("/load mixed.session\\n", automatic).text, "note: its"), 0);
  EXPECT_EQ(count(chat("/load mixed.session\\n", "").text, "note: its"), 0);
  EXPECT_EQ(count(chat("/load f16.session\\n", automatic).text, "note: its keys are f16 and its values f16"), 1);
  EXPECT_EQ(count(chat("/load f16.session\\n", "--kv-type f16").text, "note: its"), 0);
}

TEST_F(ChatTest, SavingReplacesSessionsOnly) {
  const Outcome out = chat("hello\\n/save lines.txt\\n/save s\\n/save s\\n", "");
  EXPECT_EQ(count(out.text, "/save: lines.txt: holds something else than a session"), 1) << out.text;
  EXPECT_EQ(count(out.text, "saved 2 messages"), 2) << out.text;
  std::string line;
  std::ifstream lines(folder_ + "/lines.txt");
  std::getline(lines, line);
  EXPECT_EQ(line, "a first turn");
}

TEST_F(ChatTest, ASavedTalkGoesOnWithTheSameAnswer) {
  const std::string flags = "--kv-budget 50% --window 8";
  const Outcome whole = chat("hello\\nand some more words\\n/save t.session\\n/exit\\nnever\\n", flags, "2>/dev/null");
  ASSERT_EQ(whole.exit_code, 0);
  EXPECT_EQ(std::count(whole.text.begin(), whole.text.end(), '\n'), 2) << "/exit ends it: " << whole.text;
  const Outcome on = chat("hello\\nand some more words\\nlast\\n", flags, "2>/dev/null");
  const Outcome loaded = chat("/load t.session\\nlast\\n", "", "2>/dev/null");
  EXPECT_EQ(whole.text + loaded.text, on.text);
  const Outcome again = chat("/load t.session\\n", "");
  EXPECT_NE(again.text.find("loaded 4 messages"), std::string::npos) << again.text;
  EXPECT_NE(again.text.find("budget: 50%"), std::string::npos) << again.text;
  EXPECT_EQ(count(again.text, "note: its keys"), 0) << again.text;
  const Outcome other = chat("/load t.session\\n", "--kv-type f32");
  EXPECT_EQ(count(other.text, "note: its keys are f16 and its values f16"), 1) << other.text;
  // The loaded answer drawn anew, at temperature 0, is the one that was saved.
  const Outcome anew = chat("/load t.session\\n/regen\\n", "", "2>/dev/null");
  EXPECT_TRUE(whole.text.ends_with(anew.text)) << anew.text;
  EXPECT_EQ(std::count(anew.text.begin(), anew.text.end(), '\n'), 1) << anew.text;
  EXPECT_NE(chat("/load t.session\\n", "", "2>&1", "other").text.find("made for model"), std::string::npos);
}

TEST_F(ChatTest, ThePromptIsTheFirstTurn) {
  EXPECT_EQ(chat("", "-p hello", "2>/dev/null").text, chat("hello\\n", "", "2>/dev/null").text);
  EXPECT_EQ(count(chat("more\\n", "-f lines.txt").text, "prefill "), 2);
  EXPECT_EQ(count(chat("more\\n", "-f slash.txt").text, "prefill "), 2);
  EXPECT_EQ(chat("", "").exit_code, 0);
}

TEST_F(ChatTest, WhatKeepsItFromBeginning) {
  const Outcome plain = chat("hello\\n", "", "2>&1", "plain");
  EXPECT_EQ(plain.exit_code, 1);
  EXPECT_NE(plain.text.find("has no chat template"), std::string::npos) << plain.text;
  EXPECT_EQ(chat("hello\\n", "--kv-budget 3").exit_code, 1);
  for (const std::string flag : {"--json", "--raw", "-f -"}) {
    const Outcome refused = chat("hello\\n", flag);
    EXPECT_EQ(refused.exit_code, 2) << flag;
    EXPECT_NE(refused.text.find("--interactive"), std::string::npos) << refused.text;
  }
  EXPECT_EQ(chat("hello\\n", "", "2>&1 >/dev/full").exit_code, 1);
}

}  // namespace
}  // namespace ripplekv
