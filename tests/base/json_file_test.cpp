// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// JSON files: hostile text is refused with a sentence that names the fault, getters say key, found and expected, and
// what is written reads back exactly.
#include "base/json_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/random.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using namespace std::string_literals;

struct BadText {
  std::string text;
  std::string fault;
};

TEST(ParseJson, FaultsAreNamed) {
  const std::string deep(1000000, '[');
  for (const auto& [text, fault] : std::vector<BadText>{
           {"", "f: is empty, expected JSON"},
           {" \n\t", "f: is empty, expected JSON"},
           {"{", "f: ends in the middle, after 1 bytes, expected more JSON"},
           {"[1, 2", "ends in the middle, after 5 bytes"},
           {"\"abc", "ends in the middle"},
           {"tru", "ends in the middle"},
           {"{\n  \"a\": 1,\n  \"b\": oops\n}", "f: damaged JSON at line 3, column 8, near '"},
           {"{\"a\": 1,}", "damaged JSON at line 1, column 9"},
           {"{'a': 1}", "damaged JSON at line 1, column 2"},
           {"{} {}", "damaged JSON at line 1, column 4"},
           {"[1] // note", "damaged JSON"},
           {"[NaN]", "damaged JSON at line 1, column 2"},
           {"[Infinity]", "damaged JSON"},
           {"[1e999]", "got '1e999', expected a number that a double can hold"},
           {"[01]", "damaged JSON"},
           {"[.5]", "damaged JSON"},
           {"[\"a\nb\"]", "damaged JSON"},
           {"[\"\\x\"]", "damaged JSON"},
           {"[\"\\ud800\"]", "damaged JSON"},
           {"[\"\xFF\"]", "f: is not UTF-8 at byte 2, expected JSON"},
           {"[1]\0"s, "f: has a zero byte at byte 3, expected JSON"},
           {"[1]\0{oops"s, "zero byte"},
           {"{\"a\": 1, \"b\": 2, \"a\": 3}", "f: key 'a': is there twice, expected once"},
           {"{\"x\": [0, {\"y\": {\"z\": 1, \"z\": 1}}]}", "f: key 'x[1].y.z': is there twice"},
           {deep, "f: got JSON nested more than 32 deep, expected less"},
           {std::string(33, '[') + std::string(33, ']'), "nested more than 32 deep"},
       }) {
    const auto result = parse_json(text, "f");
    ASSERT_FALSE(result.ok()) << text.substr(0, 100);
    EXPECT_EQ(result.status().code(), StatusCode::kDataLoss);
    EXPECT_NE(result.status().message().find(fault), std::string::npos) << result.status().message();
    EXPECT_LT(result.status().message().size(), 300u);
  }
}

TEST(ParseJson, GoodTextIsTaken) {
  EXPECT_EQ(*parse_json(" 1 \n", "f"), json(1));
  EXPECT_EQ(*parse_json("{\"a\": [1, {\"a\": 2}, {\"a\": 3}]}", "f"), json::parse("{\"a\":[1,{\"a\":2},{\"a\":3}]}"));
  EXPECT_TRUE(parse_json(std::string(32, '[') + std::string(32, ']'), "f").ok());
  EXPECT_TRUE(parse_json("\xEF\xBB\xBF{}", "f").ok());  // a byte order mark
}

TEST(ParseJson, RandomDamageNeverCrashes) {
  const std::string good = "{\"a\": [1, -2.5e3, null, true], \"b\\u00e9\": {\"c\": \"\xC3\xA9\", \"d\": []}}";
  ASSERT_TRUE(parse_json(good, "f").ok());
  Random random(21);
  for (int i = 0; i < 100000; ++i) {
    std::string text = good;
    for (uint64_t n = 1 + random.below(3); n > 0 && !text.empty(); --n) {
      const size_t at = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text[at] = static_cast<char>(random.next());
          break;
        case 1:
          text.erase(at, 1 + random.below(4));
          break;
        default:
          text.insert(at, 1, "{}[]\",:0e-\\"[random.below(11)]);
      }
    }
    const auto result = parse_json(text, "f");
    EXPECT_EQ(result.ok(), !text.empty() && json::accept(text) && result.ok());
    if (!result.ok()) {
      EXPECT_FALSE(result.status().message().empty());
    }
  }
}

class JsonFileTest : public testing::Test {
 protected:
  void put(const std::string& text) { ASSERT_TRUE(write_file_atomically(path_, text).ok()); }
  const std::string path_ = test::temp_dir() + "/a.json";
};

TEST_F(JsonFileTest, EnvelopeFaultsAreNamed) {
  struct Case {
    std::string text;
    StatusCode code;
    std::string fault;
  };
  for (const auto& [text, code, fault] : std::vector<Case>{
           {"[]", StatusCode::kDataLoss, "got an array of 0, expected an object"},
           {"7", StatusCode::kDataLoss, "got 7, expected an object"},
           {"{}", StatusCode::kDataLoss, "key 'format': is missing, expected text"},
           {"{\"format\": 3}", StatusCode::kDataLoss, "key 'format': got 3, expected text"},
           {"{\"format\": \"x\"}", StatusCode::kMismatch, "key 'format': got 'x', expected 'test.a'"},
           {"{\"format\": \"test.a\"}", StatusCode::kDataLoss, "key 'version': is missing"},
           {"{\"format\": \"test.a\", \"version\": \"1\"}", StatusCode::kDataLoss, "got text '1', expected a whole"},
           {"{\"format\": \"test.a\", \"version\": 1.0}", StatusCode::kDataLoss, "got 1.0, expected a whole number"},
           {"{\"format\": \"test.a\", \"version\": 2}", StatusCode::kMismatch, "key 'version': got 2, expected 1"},
           {"{\"format\": \"test.a\", \"version\": 18446744073709551615}", StatusCode::kDataLoss, "whole number"},
           {"{\"format\": \"test.a\", \"version\": 1, \"version\": 1}", StatusCode::kDataLoss, "twice"},
       }) {
    put(text);
    const auto result = read_json(path_, "test.a", 1);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), code) << text;
    EXPECT_EQ(result.status().message().find(path_ + ": "), 0u) << result.status().message();
    EXPECT_NE(result.status().message().find(fault), std::string::npos) << result.status().message();
  }
  EXPECT_EQ(read_json(path_ + "x", "test.a", 1).status().code(), StatusCode::kNotFound);
  put("{\"format\": \"test.a\", \"version\": 1, \"more\": 5}");
  EXPECT_TRUE(read_json(path_, "test.a", 1).ok());
}

TEST_F(JsonFileTest, LargeFilesAreRefusedUnread) {
  std::ofstream(path_).seekp(kJsonSizeMax).put(' ');  // one byte too many; a hole, so it costs no disk
  EXPECT_EQ(read_json(path_, "test.a", 1).status().message(),
            path_ + ": is larger than 64.0 MiB, the most that is read");
}

TEST(JsonObjectTest, GettersSayKeyFoundAndExpected) {
  const json document = json::parse(R"({"s": "text", "n": 1.5, "i": -3, "u": 18446744073709551615, "b": true, "z": null,
    "v": [1, 2.5, "x"], "w": [1, 2], "rows": [[1], [2, null]], "flat": [1], "o": {"p": {"q": 7}},
    "words": ["a", ""], "list": [{"k": 1}, {"k": "bad"}], "mixed": [{}, 3], "esc": "\u001b[2J"})");
  const JsonObject root(document, "budgets.json");
  const auto message = [](const auto& result) { return result.ok() ? "ok"s : result.status().message(); };
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

  EXPECT_EQ(*root.text("s"), "text");
  EXPECT_EQ(*root.number("n"), 1.5);
  EXPECT_EQ(*root.number("i"), -3.0);
  EXPECT_EQ(*root.integer("i", -5, 5), -3);
  EXPECT_EQ(*root.small_integer("i", -3, -3), -3);
  EXPECT_EQ(*root.unsigned_integer("u"), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(*root.boolean("b"));
  EXPECT_EQ(*root.numbers("w"), (std::vector<double>{1, 2}));
  EXPECT_EQ(*root.texts("words"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(*root.object("o")->object("p")->integer("q", 0, 9), 7);
  EXPECT_EQ(*root.object_text("o"), "{\"p\":{\"q\":7}}");
  EXPECT_EQ(*root.objects("list")->at(0).integer("k", 0, 9), 1);
  EXPECT_TRUE(root.has("z"));
  EXPECT_FALSE(root.has("nothing"));

  EXPECT_EQ(message(root.text("nothing")), "budgets.json: key 'nothing': is missing, expected text");
  EXPECT_EQ(message(root.text("n")), "budgets.json: key 'n': got 1.5, expected text");
  EXPECT_EQ(message(root.number("s")), "budgets.json: key 's': got text 'text', expected a finite number");
  EXPECT_EQ(message(root.number("z")), "budgets.json: key 'z': got null, expected a finite number");
  EXPECT_EQ(message(root.number("b")), "budgets.json: key 'b': got true, expected a finite number");
  EXPECT_EQ(message(root.number("esc")), "budgets.json: key 'esc': got text '\\x1b[2J', expected a finite number");
  EXPECT_EQ(message(root.numbers("v")), "budgets.json: key 'v[2]': got text 'x', expected a finite number");
  EXPECT_EQ(message(root.numbers("o")), "budgets.json: key 'o': got an object, expected an array of numbers");
  EXPECT_EQ(message(root.texts("v")), "budgets.json: key 'v[0]': got 1, expected text");
  EXPECT_EQ(message(root.texts("s")), "budgets.json: key 's': got text 'text', expected an array of texts");
  EXPECT_EQ(message(root.number_rows("rows")), "budgets.json: key 'rows[1][1]': got null, expected a finite number");
  EXPECT_EQ(message(root.number_rows("flat")), "budgets.json: key 'flat[0]': got 1, expected an array of numbers");
  EXPECT_EQ(message(root.number_rows("s")),
            "budgets.json: key 's': got text 'text', expected an array of arrays of numbers");
  EXPECT_EQ(message(root.integer("n", 0, 9)), "budgets.json: key 'n': got 1.5, expected a whole number from 0 to 9");
  EXPECT_EQ(message(root.integer("i", 0, kMax)),
            "budgets.json: key 'i': got -3, expected a whole number of at least 0");
  EXPECT_EQ(message(root.integer("u", -kMax, kMax)),
            "budgets.json: key 'u': got 18446744073709551615, expected a whole number");
  EXPECT_EQ(message(root.unsigned_integer("i")),
            "budgets.json: key 'i': got -3, expected a whole number of 64 bits, 0 or more");
  EXPECT_EQ(message(root.boolean("i")), "budgets.json: key 'i': got -3, expected true or false");
  EXPECT_EQ(message(root.object("w")), "budgets.json: key 'w': got an array of 2, expected an object");
  EXPECT_EQ(message(root.objects("mixed")), "budgets.json: key 'mixed[1]': got 3, expected an object");
  EXPECT_EQ(message(root.object("o")->object("p")->text("q")), "budgets.json: key 'o.p.q': got 7, expected text");
  EXPECT_EQ(message(root.objects("list")->at(1).number("k")),
            "budgets.json: key 'list[1].k': got text 'bad', expected a finite number");
  EXPECT_EQ(root.error("", "sums to 2").message(), "budgets.json: sums to 2");
}

TEST_F(JsonFileTest, NumbersRoundTripExactly) {
  std::vector<double> values = {
      0.0, -0.0, 0.1, 1.0, 1e22, 1e23, 5e-324, 2.2250738585072014e-308, std::numeric_limits<double>::max(), 1.0 / 3};
  Random random(22);
  while (values.size() < 20000) {
    const auto value = std::bit_cast<double>(random.next());
    if (std::isfinite(value)) values.push_back(value);
  }
  ASSERT_TRUE(write_json(path_, "test.a", 1, {{"values", values}, {"seed", ~uint64_t{0}}}).ok());
  const auto document = read_json(path_, "test.a", 1);
  ASSERT_TRUE(document.ok()) << document.status().message();
  const auto back = JsonObject(*document, path_).numbers("values");
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint64_t>((*back)[i]), std::bit_cast<uint64_t>(values[i])) << values[i];
  }
  EXPECT_EQ(*JsonObject(*document, path_).unsigned_integer("seed"), ~uint64_t{0});
}

TEST(ArtefactText, ReadsWellAndKeepsTheOrder) {
  ordered_json body;
  body["zebra"] = {1, 2.5};
  body["apple"] = {{"b", 1}, {"a", "x\"\n\xC3\xA9"}};
  body["rows"] = std::vector<std::vector<int>>{{1, 2}, {}};
  body["none"] = ordered_json::object();
  EXPECT_EQ(*artefact_text("test.a", 3, body),
            "{\n"
            "  \"format\": \"test.a\",\n"
            "  \"version\": 3,\n"
            "  \"zebra\": [1, 2.5],\n"
            "  \"apple\": {\"b\": 1, \"a\": \"x\\\"\\n\xC3\xA9\"},\n"
            "  \"rows\": [\n"
            "    [1, 2],\n"
            "    []\n"
            "  ],\n"
            "  \"none\": {}\n"
            "}\n");
  EXPECT_EQ(*artefact_text("test.a", 3, ordered_json::object()), "{\n  \"format\": \"test.a\",\n  \"version\": 3\n}\n");
}

TEST_F(JsonFileTest, WhatJsonCannotHoldIsRefusedAndTheOldFileStays) {
  put("old");
  struct Case {
    ordered_json body;
    std::string fault;
  };
  for (const auto& [body, fault] : std::vector<Case>{
           {{{"a", {{"b", {1.0, std::nan("")}}}}}, "key 'a.b[1]': got nan, expected a finite number"},
           {{{"a", -INFINITY}}, "key 'a': got -inf"},
           {{{"a", "x\xFF"}}, "key 'a': got 'x\\xff', which is not UTF-8 at byte 1"},
           {{{"k\xFF", 1}}, "key 'k\\xff': is not UTF-8"},
       }) {
    const Status status = write_json(path_, "test.a", 1, body);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message().find(path_ + ": "), 0u);
    EXPECT_NE(status.message().find(fault), std::string::npos) << status.message();
  }
  EXPECT_EQ(write_json(path_, "test.a", 1, {{"a", std::string(size_t{kJsonSizeMax}, 'x')}}).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(*read_file(path_, 100), "old");
}

}  // namespace
}  // namespace ripplekv
