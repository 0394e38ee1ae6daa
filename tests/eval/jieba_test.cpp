// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Chinese segmentation: the method on a small dictionary and model made here, and word by word against jieba itself
// where Debian's python3-jieba is installed.
#include "eval/jieba.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using Words = std::vector<std::string>;

void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// A dictionary of 154 words counted. The model begins a word at 甲, ends one at 乙, has 丙 alone.
std::string tables() {
  static const std::string folder = [] {
    std::string made = test::temp_dir();
    std::filesystem::create_directory(made + "/finalseg");
    put(made + "/dict.txt", "大学 50 n\n大学生 20 n\n生活 60 v\n大 5 a\n学 5 v\n生 5 v\nA1 9 eng\n");
    put(made + "/finalseg/prob_start.py", "P={'B': -0.3,\n 'E': -3.14e+100,\n 'M': -3.14e+100,\n 'S': -1.4}\n");
    put(made + "/finalseg/prob_trans.py",
        "P={'B': {'E': -0.5, 'M': -0.9},\n 'E': {'B': -0.6, 'S': -0.8},\n 'M': {'E': -0.3, 'M': -1.3},\n"
        " 'S': {'B': -0.7, 'S': -0.7}}\n");
    put(made + "/finalseg/prob_emit.py",
        "from __future__ import unicode_literals\n\nP={'B': {'\\u7532': -1.0},\n 'E': {'\\u4e59': -1.0},\n"
        " 'M': {},\n 'S': {'\\u4e19': -1.0}}\n");
    return made;
  }();
  return folder;
}

Words cut(std::string_view text) {
  const auto jieba = Jieba::load(tables());
  EXPECT_TRUE(jieba.ok()) << jieba.status().message();
  return jieba.ok() ? jieba->cut(text) : Words();
}

TEST(Jieba, TheMostProbableWayThroughTheDictionary) {
  EXPECT_EQ(cut("大学生"), Words({"大学生"}));
  // 大学 + 生活: 50 * 60 / 154^2; 大学生 + 活, which is no word: 20 * 1 / 154^2.
  EXPECT_EQ(cut("大学生活"), Words({"大学", "生活"}));
  EXPECT_EQ(cut("A1A1"), Words({"A1", "A1"}));
}

TEST(Jieba, UnknownCharactersGoThroughTheModel) {
  EXPECT_EQ(cut("甲乙"), Words({"甲乙"}));
  EXPECT_EQ(cut("丙甲乙丙丙"), Words({"丙", "甲乙", "丙", "丙"}));
  EXPECT_EQ(cut("大学甲乙生活"), Words({"大学", "甲乙", "生活"}));
  EXPECT_EQ(cut("甲"), Words({"甲"}));  // one character alone is not asked about
}

TEST(Jieba, NumbersAndSigns) {
  EXPECT_EQ(cut("3.14%x"), Words({"3.14%", "x"}));
  EXPECT_EQ(cut("3.x"), Words({"3", ".", "x"}));
  EXPECT_EQ(cut("C++ 丙"), Words({"C", "++", " ", "丙"}));
  EXPECT_EQ(cut("a\r\n\n。。"), Words({"a", "\r\n", "\n", "。", "。"}));
  EXPECT_EQ(cut(""), Words());
}

TEST(Jieba, DamagedTablesAreNamed) {
  const std::string folder = test::temp_dir();
  std::filesystem::copy(tables(), folder, std::filesystem::copy_options::recursive);
  put(folder + "/dict.txt", "大 5\nword\n");
  EXPECT_EQ(Jieba::load(folder).status().message(),
            folder + "/dict.txt line 2: got 'word', expected a word and how often it occurs");
  put(folder + "/dict.txt", "大 5\n");
  put(folder + "/finalseg/prob_start.py", "Q={}");
  EXPECT_NE(Jieba::load(folder).status().message().find("prob_start.py: got no 'P={'"), std::string::npos);
  put(folder + "/finalseg/prob_start.py", "P={'B': -1, 'E': -1, 'S': -1}");
  EXPECT_NE(Jieba::load(folder).status().message().find("key 'M': is missing"), std::string::npos);
  EXPECT_FALSE(Jieba::load(folder + "/none").ok());
}

std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.append(buffer.data(), n);
  pclose(pipe);
  return output;
}

// Characters of the dictionary's range, frequent ones more often, and what surrounds them in documents.
std::vector<std::string> random_texts(int n_text) {
  constexpr std::array<std::string_view, 24> kFrequent = {"的", "一", "是", "在", "不", "了", "有", "和",
                                                          "人", "这", "中", "大", "为", "上", "个", "国",
                                                          "生", "学", "工", "作", "会", "法", "市", "长"};
  constexpr std::array<std::string_view, 16> kAround = {"。", "，", " ", "\n", "\r\n", "\u3000", "3.5%",      "A", "x1",
                                                        "-",  "+",  "_", ".",  "《",   "\u00e9", "\U00020000"};
  Random random(11);
  std::vector<std::string> texts;
  for (int i = 0; i < n_text; ++i) {
    std::string& text = texts.emplace_back();
    for (uint64_t n = 1 + random.below(60); n > 0; --n) {
      const double kind = random.uniform();
      if (kind < 0.7) {
        text += kFrequent[random.below(kFrequent.size())];
      } else if (kind < 0.85) {
        const auto c = static_cast<uint32_t>(0x4E00 + random.below(0x9FFF - 0x4E00));
        text += {static_cast<char>(0xE0U | (c >> 12U)), static_cast<char>(0x80U | ((c >> 6U) & 0x3FU)),
                 static_cast<char>(0x80U | (c & 0x3FU))};
      } else {
        text += kAround[random.below(kAround.size())];
      }
    }
  }
  return texts;
}

TEST(Jieba, WordByWordAsJiebaItself) {
  const auto jieba = Jieba::installed();
  if (!jieba.ok()) GTEST_SKIP() << jieba.status().message();
  std::vector<std::string> texts = random_texts(2000);
  for (const char* task : {"multifieldqa_zh", "passage_retrieval_zh"}) {
    const std::string path = test::data_path(std::string("longbench/") + task + ".jsonl");
    std::ifstream file(path);
    int n_left = 10;
    for (std::string line; n_left-- > 0 && std::getline(file, line);) {
      texts.push_back(nlohmann::json::parse(line).at("context").get<std::string>());
    }
  }
  const std::string folder = test::temp_dir();
  std::ofstream(folder + "/texts.json") << nlohmann::json(texts).dump();
  const std::string package = std::filesystem::path(Jieba::installed_folder()).parent_path();
  const std::string output =
      output_of("cd '" + folder + "' && python3 -c \"import sys, json; sys.path.insert(0, '" + package +
                "'); import jieba; jieba.setLogLevel(60); jieba.dt.tmp_dir = '.'; "
                "print(json.dumps([list(jieba.cut(t, cut_all=False)) for t in json.load(open('texts.json', "
                "encoding='utf-8'))]))\"");
  const auto expected = nlohmann::json::parse(output, nullptr, false);
  if (!expected.is_array()) GTEST_SKIP() << "python3 does not run the jieba of " << package;
  ASSERT_EQ(expected.size(), texts.size());
  size_t n_word = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Words words = (*jieba)->cut(texts[i]);
    ASSERT_EQ(words, expected[i].get<Words>()) << texts[i];
    n_word += words.size();
  }
  EXPECT_GT(n_word, 20000U);
}

}  // namespace
}  // namespace ripplekv
