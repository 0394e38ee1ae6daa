// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Calibration samples: the readers on files written here (good, malformed and hostile ones), and the generated default
// set (same bytes everywhere, samples that differ, answers that are really in the documents). No model, no network.
#include "profiling/calibration.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/utf8.h"
#include "profiling/calibration_builtin.h"

namespace ripplekv {
namespace {

namespace fs = std::filesystem;

class ReadCalibration : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("rkv_calibration_" + std::to_string(getpid()) + "_" + info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return path.string();
  }

  // REQUIRES: readable.
  static std::vector<CalibrationSample> read(const std::string& path, int64_t limit = 1000) {
    Result<std::vector<CalibrationSample>> samples = read_calibration(path, limit);
    EXPECT_TRUE(samples.ok()) << samples.status().message();
    return samples.ok() ? std::move(*samples) : std::vector<CalibrationSample>();
  }

  // The message is about `what`, and names the place.
  static void expect_refused(const std::string& path, StatusCode code, std::string_view what,
                             std::string_view where = "") {
    const Result<std::vector<CalibrationSample>> samples = read_calibration(path, 1000);
    ASSERT_FALSE(samples.ok()) << path << " was read";
    const std::string& message = samples.status().message();
    EXPECT_EQ(samples.status().code(), code) << message;
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_NE(message.find(where), std::string::npos) << message;
    EXPECT_LT(message.size(), 800u) << message;
    EXPECT_TRUE(valid_utf8(message));
  }

  void expect_line_refused(const std::string& line, std::string_view what) const {
    SCOPED_TRACE(line.substr(0, 120));
    const std::string good = R"({"context":"c","input":"q"})";
    expect_refused(write("x.jsonl", good + "\n\n" + line + "\n" + good + "\n"), StatusCode::kDataLoss, what, "line 3");
    expect_refused(write("x.json", "[" + good + "," + line + "]"), StatusCode::kDataLoss, what);
  }

  fs::path folder_;
};

std::vector<std::string> ids_of(const std::vector<CalibrationSample>& samples) {
  std::vector<std::string> ids;
  for (const CalibrationSample& sample : samples) ids.push_back(sample.id);
  return ids;
}

// ---- readers ----

TEST_F(ReadCalibration, TextFileIsOneDocument) {
  const auto samples = read(write("essay.txt", "\xEF\xBB\xBFOne line.\r\nZwölf Bäume.\n"));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].id, "essay.txt");
  EXPECT_EQ(samples[0].document, "One line.\r\nZwölf Bäume.\n");  // without the byte order mark, else untouched
  EXPECT_EQ(samples[0].question, "");
  EXPECT_EQ(samples[0].text(), samples[0].document);
  EXPECT_FALSE(samples[0].is_ids());
}

TEST_F(ReadCalibration, LongBench) {
  const auto samples = read(write("lb.jsonl",
                                  "{\"input\":\"Who?\",\"context\":\"Ann came.\",\"answers\":[\"Ann\",\"she\"],"
                                  "\"length\":3,\"all_classes\":null,\"_id\":\"7\"}\r\n"
                                  "   \n"
                                  "{\"context\":\"B \\u00e9\",\"input\":\"\",\"answers\":[]}\n"
                                  "{\"context\":\"C\",\"input\":\"q\",\"answers\":null}"));
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].id, "lb.jsonl:1");
  EXPECT_EQ(samples[0].document, "Ann came.");
  EXPECT_EQ(samples[0].question, "Who?");
  EXPECT_EQ(samples[0].answer, "Ann");
  EXPECT_EQ(samples[0].text(), "Ann came.\n\nWho?");
  EXPECT_EQ(samples[1].id, "lb.jsonl:3");  // blank lines are skipped, but counted
  EXPECT_EQ(samples[1].document, "B é");
  EXPECT_EQ(samples[1].question, "");
  EXPECT_EQ(samples[1].answer, "");
  EXPECT_EQ(samples[1].text(), "B é");
  EXPECT_EQ(samples[2].id, "lb.jsonl:4");  // no line end at the end
}

TEST_F(ReadCalibration, LEvalTakesTheFirstInstruction) {
  const auto samples =
      read(write("le.jsonl", R"({"instructions":["First?","Second?"],"outputs":["1","2"],"input":"Doc","source":"s"})"
                             "\n"
                             R"({"instructions":["Only?"],"input":"Doc 2"})"));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].document, "Doc");
  EXPECT_EQ(samples[0].question, "First?");
  EXPECT_EQ(samples[0].answer, "1");
  EXPECT_EQ(samples[1].question, "Only?");
  EXPECT_EQ(samples[1].answer, "");
}

TEST_F(ReadCalibration, TokenIds) {
  const auto samples = read(write("ids.jsonl",
                                  "{\"ids\":[0,1,2147483647],\"answer\":[5]}\n{\"ids\":[7]}\n"
                                  "{\"ids\":[8],\"answer\":null}\n"));
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_TRUE(samples[0].is_ids());
  EXPECT_EQ(samples[0].ids, (std::vector<int32_t>{0, 1, std::numeric_limits<int32_t>::max()}));
  EXPECT_EQ(samples[0].answer_ids, std::vector<int32_t>{5});
  EXPECT_EQ(samples[0].document, "");
  EXPECT_TRUE(samples[1].answer_ids.empty());
  EXPECT_TRUE(samples[2].answer_ids.empty());
}

TEST_F(ReadCalibration, JsonFileIsOneObjectOrAList) {
  const auto one = read(write("one.json", "\n {\n \"ids\": [3,\n4] }\n"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].id, "one.json:0");
  EXPECT_EQ(one[0].ids, (std::vector<int32_t>{3, 4}));
  const auto list = read(write("list.json", R"([{"ids":[1]},{"context":"c","input":"q"},{"ids":[2]}])"));
  EXPECT_EQ(ids_of(list), (std::vector<std::string>{"list.json:0", "list.json:1", "list.json:2"}));
  EXPECT_EQ(list[1].document, "c");
  EXPECT_EQ(read((folder_ / "list.json").string(), 2).size(), 2u);
}

TEST_F(ReadCalibration, FolderIsReadInTurns) {
  write("b.jsonl", "{\"ids\":[1]}\n{\"ids\":[2]}\n{\"ids\":[3]}\n");
  write("a.jsonl", "{\"ids\":[4]}\n\n{\"ids\":[5]}\n");
  write("c.txt", "text");
  write("notes.md", "not a sample");
  write("settings.json", "{}");
  fs::create_directories(folder_ / "deeper.txt");  // a folder, whatever its name
  const std::vector<std::string> all = {"a.jsonl:1", "b.jsonl:1", "c.txt", "a.jsonl:3", "b.jsonl:2", "b.jsonl:3"};
  for (int64_t limit = 1; limit <= 8; ++limit) {
    const auto n = std::min<size_t>(all.size(), static_cast<size_t>(limit));
    EXPECT_EQ(ids_of(read(folder_.string(), limit)),
              std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)));
  }
}

TEST_F(ReadCalibration, AByteOrderMarkIsNoPartOfTheFirstLine) {
  EXPECT_EQ(read(write("mark.jsonl", "\xEF\xBB\xBF\n{\"ids\":[7]}\n")).size(), 1u);
}

TEST_F(ReadCalibration, NothingBehindTheLimitIsRead) {
  const std::string path = write("x.jsonl", "{\"ids\":[1]}\n{\"ids\":[2]}\nbroken\n");
  EXPECT_EQ(read(path, 2).size(), 2u);
  EXPECT_FALSE(read_calibration(path, 3).ok());
  for (const int64_t limit : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    const auto samples = read_calibration(path, limit);
    ASSERT_FALSE(samples.ok());
    EXPECT_EQ(samples.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(ReadCalibration, LinesOfAnyLengthKeepTheirText) {
  // Around the size of the pieces that lines are read in.
  std::string file;
  std::vector<std::string> documents;
  for (const size_t n : {1u, 65500u, 65510u, 65511u, 65512u, 65513u, 65534u, 65535u, 65536u, 131070u, 200000u}) {
    for (size_t extra = 0; extra < 3; ++extra) {
      std::string document(n + extra, 'x');
      document.back() = 'y';
      file += R"({"input":"","context":")" + document + "\"}\n";
      documents.push_back(std::move(document));
    }
  }
  const auto samples = read(write("long.jsonl", file));
  ASSERT_EQ(samples.size(), documents.size());
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_TRUE(samples[i].document == documents[i]) << i;
}

TEST_F(ReadCalibration, MalformedRecordsNameFileAndLine) {
  expect_line_refused("{", "damaged JSON");
  expect_line_refused(R"({"ids":[1]} {"ids":[2]})", "damaged JSON");
  expect_line_refused(R"({"ids":[1],})", "damaged JSON");
  expect_line_refused(R"({"context":"\ud800","input":"q"})", "damaged JSON");
  expect_line_refused(R"({"context":"\x","input":"q"})", "damaged JSON");
  expect_line_refused(R"({"ids":[1e999]})", "out of range");
  expect_line_refused("\"text\"", "expected a JSON object");
  expect_line_refused("12", "expected a JSON object");
  expect_line_refused("null", "expected a JSON object");
  expect_line_refused("[{\"ids\":[1]}]", "expected a JSON object");
  expect_line_refused("{\"context\":\"" + std::string(1, '\x01') + "\",\"input\":\"q\"}", "damaged JSON");
}

TEST_F(ReadCalibration, UnknownKeysAreNamedWithTheExpectedOnes) {
  expect_line_refused(R"({"prompt":"p","completion":"c"})", "'completion', 'prompt'");
  expect_line_refused(R"({"prompt":"p"})", "input and instructions (L-Eval)");
  expect_line_refused(R"({"prompt":"p"})", "context and input (LongBench)");
  expect_line_refused(R"({"input":"p"})", "'input'");
  expect_line_refused("{}", "got keys none");
  expect_line_refused(R"({"context":"p"})", "\"input\" is missing");
  std::string many = "{";
  for (int i = 0; i < 500; ++i) many += "\"" + std::string(500, 'k') + std::to_string(i) + "\":1,";
  expect_line_refused(many + "\"z\":1}", "...");
}

TEST_F(ReadCalibration, ValuesOfTheWrongTypeAreRefused) {
  expect_line_refused(R"({"context":1,"input":"q"})", "\"context\": got number");
  expect_line_refused(R"({"context":"c","input":null})", "\"input\": got null");
  expect_line_refused(R"({"context":"c","input":"q","answers":"a"})", "\"answers\": got string");
  expect_line_refused(R"({"context":"c","input":"q","answers":[1]})", "\"answers\"[0]: got number");
  expect_line_refused(R"({"context":"","input":"q"})", "\"context\" is empty");
  expect_line_refused(R"({"context":" \n","input":"q"})", "\"context\" is empty");
  expect_line_refused(R"({"input":"","instructions":["q"]})", "\"input\" is empty");
  expect_line_refused(R"({"input":["d"],"instructions":["q"]})", "\"input\": got array");
  expect_line_refused(R"({"input":"d","instructions":[]})", "\"instructions\" is empty");
  expect_line_refused(R"({"input":"d","instructions":[" "]})", "\"instructions\" is empty");
  expect_line_refused(R"({"input":"d","instructions":"q"})", "\"instructions\": got string");
  expect_line_refused(R"({"input":"d","instructions":["q"],"outputs":[["a"]]})", "\"outputs\"[0]: got array");
}

TEST_F(ReadCalibration, IdsOutsideInt32AreRefused) {
  expect_line_refused(R"({"ids":[]})", "\"ids\" is empty");
  expect_line_refused(R"({"ids":"1"})", "\"ids\": got string");
  expect_line_refused(R"({"ids":[1,-1]})", "\"ids\"[1]: got -1");
  expect_line_refused(R"({"ids":[2147483648]})", "got 2147483648");
  expect_line_refused(R"({"ids":[9223372036854775808]})", "got 9223372036854775808");
  expect_line_refused(R"({"ids":[99999999999999999999999]})", "\"ids\"[0]");
  expect_line_refused(R"({"ids":[1.0]})", "got 1.0");
  expect_line_refused(R"({"ids":[true]})", "got boolean");
  expect_line_refused(R"({"ids":[[1]]})", "got array");
  expect_line_refused(R"({"ids":["1"]})", "got string");
  expect_line_refused(R"({"ids":[1],"answer":[-7]})", "\"answer\"[0]: got -7");
  expect_line_refused(R"({"ids":[1],"answer":"yes"})", "\"answer\": got string");
}

TEST_F(ReadCalibration, DeepNestingIsRefused) {
  expect_line_refused(R"({"ids":[1],"x":)" + std::string(40, '[') + std::string(40, ']') + "}", "nested too deeply");
  const std::string bomb(2000000, '[');
  EXPECT_FALSE(read_calibration(write("bomb.jsonl", bomb), 1).ok());
  EXPECT_FALSE(read_calibration(write("bomb.json", bomb), 1).ok());
  EXPECT_EQ(read(write("flat.jsonl", R"({"ids":[1],"x":[[[[1]]]]})")).size(), 1u);
}

TEST_F(ReadCalibration, NotUtf8IsRefused) {
  const std::vector<std::string> bad = {"\xFF",
                                        "\xC3",
                                        "\xC0\xAF",
                                        "\xE0\x80\x80",
                                        "\xED\xA0\x80",
                                        "\xF4\x90\x80\x80",
                                        "caf\xE9 au lait",
                                        std::string(1, '\0')};
  for (const std::string& bytes : bad) {
    expect_refused(write("x.txt", "good " + bytes + " text"), StatusCode::kDataLoss, "not UTF-8 text", "offset");
    expect_line_refused("{\"context\":\"" + bytes + "\",\"input\":\"q\"}", "not UTF-8 text");
  }
  expect_refused(write("utf16.txt", std::string_view("\xFF\xFEH\0i\0", 6)), StatusCode::kDataLoss, "byte 0xff", "0");
}

TEST_F(ReadCalibration, EmptyFilesAreRefused) {
  for (const char* name : {"x.txt", "x.jsonl", "x.json"}) {
    expect_refused(write(name, ""), StatusCode::kDataLoss, "no samples");
    expect_refused(write(name, " \r\n\t\n"), StatusCode::kDataLoss, "no samples");
  }
  expect_refused(write("list.json", "[]"), StatusCode::kDataLoss, "empty list");
  expect_refused(write("bom.txt", "\xEF\xBB\xBF"), StatusCode::kDataLoss, "no samples");
}

TEST_F(ReadCalibration, AnEmptyFileInAFolderIsRefused) {
  write("good.txt", "text");
  const std::string empty = write("late.jsonl", "");
  const auto samples = read_calibration(folder_.string(), 10);
  ASSERT_FALSE(samples.ok());
  EXPECT_NE(samples.status().message().find(empty), std::string::npos);
}

TEST_F(ReadCalibration, TooLongIsRefused) {
  for (const char* name : {"x.txt", "x.json", "x.jsonl"}) {
    const std::string path = write(name, "");
    fs::resize_file(path, static_cast<uintmax_t>(kCalibrationTextBytesMax) + 1);  // sparse
    expect_refused(path, StatusCode::kDataLoss, "too long");
    fs::remove(path);
  }
}

TEST_F(ReadCalibration, WrongPathsAreRefused) {
  expect_refused((folder_ / "nowhere.jsonl").string(), StatusCode::kNotFound, "not found");
  expect_refused(folder_.string(), StatusCode::kNotFound, "expected *.txt or *.jsonl");
  expect_refused(write("x.csv", "a,b"), StatusCode::kUnsupported, "\".csv\"");
  expect_refused(write("noextension", "a"), StatusCode::kUnsupported, "expected .txt, .jsonl or .json");
  expect_refused("/dev/null", StatusCode::kInvalidArgument, "not a file");
  fs::create_symlink(folder_ / "gone", folder_ / "dangling.txt");
  const auto samples = read_calibration(folder_.string(), 10);
  ASSERT_FALSE(samples.ok());
  EXPECT_NE(samples.status().message().find("dangling.txt"), std::string::npos);
}

TEST_F(ReadCalibration, DamagedBytesNeverCrash) {
  const std::string good = R"({"context":"Zwölf \u00e9","input":"q?","answers":["a"]})"
                           "\n"
                           R"({"ids":[1,22,333],"answer":[4]})"
                           "\n";
  uint64_t state = 1;
  const auto next = [&] { return static_cast<size_t>((state = state * 6364136223846793005ULL + 1442695ULL) >> 33); };
  for (int round = 0; round < 500; ++round) {
    std::string text = good;
    for (size_t n = 1 + next() % 3; n > 0; --n) text[next() % text.size()] = static_cast<char>(next() % 256);
    text.resize(text.size() - next() % 4);
    const auto samples = read_calibration(write("x.jsonl", text), 10);
    if (samples.ok()) {
      for (const CalibrationSample& sample : *samples) EXPECT_TRUE(sample.is_ids() != !sample.document.empty());
    } else {
      EXPECT_NE(samples.status().message().find("x.jsonl"), std::string::npos);
    }
  }
}

// ---- the generated set ----

std::vector<std::string> parts_of(const std::string& id) {
  std::vector<std::string> parts;
  std::stringstream stream(id);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  return parts;  // builtin, index, genre, kind
}

std::set<std::string> four_grams(const std::string& text) {
  std::vector<std::string> words;
  std::stringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  std::set<std::string> grams;
  for (size_t i = 0; i + 4 <= words.size(); ++i) {
    grams.insert(words[i] + " " + words[i + 1] + " " + words[i + 2] + " " + words[i + 3]);
  }
  return grams;
}

// Share of the smaller set that is in the other one.
double overlap(const std::set<std::string>& a, const std::set<std::string>& b) {
  size_t n_common = 0;
  for (const std::string& gram : a) n_common += b.count(gram);
  return static_cast<double>(n_common) / static_cast<double>(std::min(a.size(), b.size()));
}

bool same(const CalibrationSample& a, const CalibrationSample& b) {
  return a.id == b.id && a.document == b.document && a.question == b.question && a.answer == b.answer;
}

TEST(BuiltinCalibration, DependsOnItsArgumentsOnly) {
  const auto twelve = builtin_calibration(12, 7, 512);
  const auto again = builtin_calibration(12, 7, 512);
  const auto three = builtin_calibration(3, 7, 512);
  const auto other = builtin_calibration(12, 8, 512);
  ASSERT_EQ(twelve.size(), 12u);
  ASSERT_EQ(three.size(), 3u);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_TRUE(same(twelve[i], again[i])) << i;
    EXPECT_FALSE(twelve[i].document == other[i].document) << i;
    EXPECT_TRUE(i >= 3 || same(twelve[i], three[i])) << i;
  }
  EXPECT_TRUE(builtin_calibration(0, 7, 512).empty());
}

TEST(BuiltinCalibration, TextIsPinned) {
  // Profiles made from other text are not comparable: with a new hash goes a new kBuiltinCalibrationVersion.
  Hasher hasher;
  for (const CalibrationSample& sample : builtin_calibration(16, 0, 2048)) {
    hasher.update(sample.id + "\n" + sample.document + "\n" + sample.question + "\n" + sample.answer + "\n");
  }
  EXPECT_EQ(hasher.digest(), "xxh3:0a4fcd21a34707e8f4a59ac9ba021e6f") << "at version " << kBuiltinCalibrationVersion;
}

TEST(BuiltinCalibration, SamplesDiffer) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const auto samples = builtin_calibration(16, seed, 2048);
    std::vector<std::set<std::string>> grams;
    for (const CalibrationSample& sample : samples) grams.push_back(four_grams(sample.document));
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double share = overlap(grams[i], grams[j]);
        const bool same_genre = parts_of(samples[i].id)[2] == parts_of(samples[j].id)[2];
        EXPECT_LT(share, same_genre ? 0.25 : 0.12) << samples[i].id << " and " << samples[j].id << ", seed " << seed;
        sum += share;
        ++n;
      }
    }
    EXPECT_LT(sum / n, 0.07) << "seed " << seed;
  }
}

TEST(BuiltinCalibration, LittleRepetitionWithinADocument) {
  for (const int64_t tokens : {2048, 16384}) {
    for (const CalibrationSample& sample : builtin_calibration(8, 3, tokens)) {
      const auto n_words = std::count(sample.document.begin(), sample.document.end(), ' ');
      const double distinct =
          static_cast<double>(four_grams(sample.document).size()) / static_cast<double>(std::max<long>(n_words, 1));
      EXPECT_GT(distinct, tokens == 2048 ? 0.75 : 0.6) << sample.id;
    }
  }
}

TEST(BuiltinCalibration, EightInARowHaveEightGenresAndAllKinds) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto samples = builtin_calibration(16, seed, 2048);
    for (size_t begin : {0u, 8u}) {
      std::set<std::string> genres;
      std::set<std::string> kinds;
      for (size_t i = begin; i < begin + 8; ++i) {
        const auto parts = parts_of(samples[i].id);
        ASSERT_EQ(parts.size(), 4u) << samples[i].id;
        EXPECT_EQ(parts[1], std::to_string(i));
        genres.insert(parts[2]);
        kinds.insert(parts[3]);
      }
      EXPECT_EQ(genres.size(), 8u);
      EXPECT_GE(kinds.size(), 4u);  // a document may support too little for one kind
    }
  }
}

TEST(BuiltinCalibration, LengthsAreReachedAndHardlyPassed) {
  for (const int64_t tokens : {1, 256, 512, 1024, 2048, 4096, 8192, 32768}) {
    for (const CalibrationSample& sample : builtin_calibration(tokens > 10000 ? 3 : 8, 11, tokens)) {
      const double chars = static_cast<double>(tokens) * 4.2;
      EXPECT_GE(static_cast<double>(sample.document.size()), chars) << sample.id;
      EXPECT_LE(static_cast<double>(sample.document.size()), chars + 2500) << sample.id << " at " << tokens;
    }
  }
}

TEST(BuiltinCalibration, SamplesAreWellFormedText) {
  bool beyond_ascii = false;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (const CalibrationSample& sample : builtin_calibration(16, seed, 2048)) {
      SCOPED_TRACE(sample.id + " seed " + std::to_string(seed));
      const std::string all = sample.document + "\n" + sample.question + "\n" + sample.answer;
      EXPECT_TRUE(valid_utf8(all));
      EXPECT_FALSE(sample.is_ids());
      EXPECT_FALSE(sample.question.empty());
      EXPECT_FALSE(sample.answer.empty());
      EXPECT_EQ(sample.text(), sample.document + "\n\n" + sample.question);
      beyond_ascii = beyond_ascii || std::any_of(all.begin(), all.end(), [](char c) { return (c & 0x80) != 0; });
      const auto count = [&](char c) { return std::count(all.begin(), all.end(), c); };
      EXPECT_EQ(count('{'), count('}'));
      EXPECT_TRUE(parts_of(sample.id)[2] == "code" || count('{') == 0);  // no slot was left over
      for (const char* slip : {"{#", "\\n", " .", " ,", "..", " a a", " a e", " a i", " a o", "the the ", " in on ",
                               " by in the ", "that that ", "\n\n\n"}) {
        EXPECT_EQ(all.find(slip), std::string::npos)
            << "'" << slip << "' in: " << all.substr(all.find(slip) - std::min<size_t>(all.find(slip), 60), 120);
      }
    }
  }
  EXPECT_TRUE(beyond_ascii);
}

TEST(BuiltinCalibration, AnswersStandInTheDocuments) {
  std::map<std::string, int> n_seen;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (const CalibrationSample& sample : builtin_calibration(16, seed, 1024)) {
      SCOPED_TRACE(sample.id + " seed " + std::to_string(seed) + ": " + sample.question + " -> " + sample.answer);
      const std::string kind = parts_of(sample.id)[3];
      ++n_seen[kind];
      const std::string& document = sample.document;
      const auto at_edge = [&](size_t at) {
        const double depth = static_cast<double>(at) / static_cast<double>(document.size());
        return depth < 0.45 || depth > 0.55;
      };
      if (kind == "fact") {
        bool found = false;
        for (size_t at = document.find(sample.answer); at != std::string::npos && !found;
             at = document.find(sample.answer, at + 1)) {
          found = at_edge(at);
        }
        EXPECT_TRUE(found);
      } else if (kind == "changed") {
        const size_t semicolon = sample.answer.find("; ");
        ASSERT_NE(semicolon, std::string::npos);
        const std::string before = sample.answer.substr(0, semicolon);
        const std::string after = sample.answer.substr(semicolon + 2);
        EXPECT_NE(before, after);
        const size_t first = document.find(before);
        ASSERT_NE(first, std::string::npos);
        EXPECT_NE(document.find(after, first), std::string::npos);
      } else if (kind == "list") {
        const std::string opening = document.substr(0, document.find("\n\n", document.find("\n\n") + 2));
        EXPECT_NE(opening.find(sample.answer), std::string::npos);
      }
    }
  }
  for (const char* kind : {"fact", "combine", "changed", "list", "summary"}) EXPECT_GT(n_seen[kind], 12) << kind;
}

// The value that the document gives for the repairs to `item`.
int repairs(const std::string& document, const std::string& item) {
  const std::string marker = "epairs to " + item + " came to ";
  const size_t at = document.find(marker);
  return at == std::string::npos ? -1 : std::stoi(document.substr(at + marker.size()));
}

// What stands between `before` and `after` in `text`; empty if they are not there.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const size_t begin = at + before.size();
  const size_t end = text.find(after, begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

TEST(BuiltinCalibration, NumbersAreThoseOfTheDocument) {
  int n_single = 0;
  int n_sum = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const CalibrationSample& sample : builtin_calibration(8, seed, 2048)) {
      const std::string& question = sample.question;
      const std::string item = between(question, "What did the repairs to ", " come to, in ");
      const std::string item_a = between(question, " of repairs to ", " and the cost in ");
      const std::string item_b = between(question, " and the cost in ", "?");
      if (!item.empty() && question.starts_with("What did")) {
        EXPECT_EQ(std::stoi(sample.answer), repairs(sample.document, item)) << question;
        ++n_single;
      } else if (question.starts_with("What is the sum of the cost in ")) {
        const int a = repairs(sample.document, item_a);
        const int b = repairs(sample.document, item_b.substr(item_b.find(" of repairs to ") + 15));
        EXPECT_GT(a, 0);
        EXPECT_GT(b, 0);
        EXPECT_EQ(std::stoi(sample.answer), a + b) << question;
        ++n_sum;
      }
    }
  }
  EXPECT_GT(n_single, 2);
  EXPECT_GT(n_sum, 2);
}

TEST(BuiltinCalibration, TheCastComesBackThroughoutTheDocument) {
  // What the opening names is what long-range attention can find again: most of it is used in the second half.
  size_t n_named = 0;
  size_t n_again = 0;
  for (const CalibrationSample& sample : builtin_calibration(80, 4, 2048)) {
    if (sample.question.find("Which things") == std::string::npos) continue;
    std::string names = sample.answer;
    for (size_t at = names.find(" and "); at != std::string::npos; at = names.find(" and ")) names.replace(at, 5, ", ");
    for (size_t begin = 0; begin < names.size();) {
      const size_t end = std::min(names.find(", ", begin), names.size());
      ++n_named;
      const std::string tail = names.substr(begin + 1, end - begin - 1);  // the first letter may be a capital there
      n_again += sample.document.find(tail, sample.document.size() / 2) != std::string::npos ? 1 : 0;
      begin = end + 2;
    }
  }
  ASSERT_GE(n_named, 10u);
  EXPECT_GT(static_cast<double>(n_again), 0.65 * static_cast<double>(n_named));
}

}  // namespace
}  // namespace ripplekv
