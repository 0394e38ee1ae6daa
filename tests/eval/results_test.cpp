// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The results file: what is appended comes back, a torn line is dropped and nothing else, another run's file is
// refused; and what a summary says of lines that can be counted by hand.
#include "eval/results.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "eval/summary.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

class ResultsTest : public ::testing::Test {
 protected:
  void SetUp() override { path_ = test::temp_dir() + "/results.jsonl"; }
  static ResultLine line(const std::string& sample, const std::string& policy, double kept, double kl) {
    ResultLine line;
    line.sample = sample;
    line.task = "task";
    line.policy = policy;
    line.kept = kept;
    line.n_prompt = 100;
    line.rows = 40;
    line.bytes = 4096;
    line.kl = kl;
    line.kl_max = 2 * kl;
    line.top1 = 0.5;
    line.nll = 1.25;
    return line;
  }
  Result<ResultsFile> open(const std::string& model = "a", bool fresh = false) {
    return ResultsFile::open(path_, {{"model", model}, {"n", 3}}, fresh);
  }
  ResultsFile opened() {
    auto file = open();
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(*file);
  }
  void append_text(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::string path_;
};

TEST_F(ResultsTest, WhatIsAppendedComesBack) {
  std::optional<ResultsFile> file = opened();
  ResultLine scored = line("s1", "b", 0.1, 0.25);
  scored.score = 0.75;
  scored.answer = "an answer\nwith \xFF bytes";
  ResultLine failed;
  failed.sample = "s2";
  failed.task = "task";
  failed.policy = "b";
  failed.kept = 0.1;
  failed.error = "no memory";
  ASSERT_TRUE(file->append({line("s1", "a", 0.1, 0.5), scored}).ok());
  ASSERT_TRUE(file->append({failed}).ok());

  file.reset();
  const auto again = open();
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_EQ(again->lines().size(), 3U);
  EXPECT_EQ(again->lines()[0].kl, 0.5);
  EXPECT_EQ(again->lines()[0].score, -1);
  EXPECT_EQ(again->lines()[1].score, 0.75);
  EXPECT_EQ(again->lines()[1].answer, "an answer\nwith \xEF\xBF\xBD bytes");
  EXPECT_EQ(again->lines()[2].error, "no memory");
  EXPECT_TRUE(again->has("s1", "a", QuestionMode::kAware, 0.1));
  EXPECT_FALSE(again->has("s1", "a", QuestionMode::kAgnostic, 0.1));
  EXPECT_FALSE(again->has("s1", "a", QuestionMode::kAware, 0.2));
  EXPECT_FALSE(again->has("s2", "b", QuestionMode::kAware, 0.1)) << "what failed is tried again";
  const auto read = read_results(path_);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->lines.size(), 3U);
  EXPECT_NE(read->header.find("\"model\":\"a\""), std::string::npos);
}

// Both may stand in one file; lines of before there was a choice are aware.
// Trying again what fails in the same way leaves no trace; in another way it does.
TEST_F(ResultsTest, AFailureIsWrittenOnce) {
  auto file = open();
  ASSERT_TRUE(file.ok()) << file.status().message();
  ResultLine failed = line("s1", "a", 0.1, 0);
  failed.error = "too few rows";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file->append({failed}).ok());
  EXPECT_EQ(file->lines().size(), 1U);
  failed.error = "no memory";
  ASSERT_TRUE(file->append({failed}).ok());
  EXPECT_EQ(file->lines().size(), 2U);
  EXPECT_FALSE(file->has("s1", "a", QuestionMode::kAware, 0.1));
  ASSERT_TRUE(file->append({line("s1", "a", 0.1, 0.5)}).ok());
  EXPECT_TRUE(file->has("s1", "a", QuestionMode::kAware, 0.1));
}

TEST_F(ResultsTest, QuestionAwareAndAgnosticAreApart) {
  ResultLine agnostic = line("s1", "a", 0.1, 0.75);
  agnostic.question = QuestionMode::kAgnostic;
  ASSERT_TRUE(open()->append({line("s1", "a", 0.1, 0.5), agnostic}).ok());
  append_text(
      "{\"sample\": \"s2\", \"task\": \"task\", \"policy\": \"a\", \"kept\": 0.1, \"n_prompt\": 9, \"rows\": 4, "
      "\"bytes\": 4, \"kl\": 0.1, \"kl_max\": 0.1, \"top1\": 1, \"nll\": 1}\n");
  std::optional<ResultsFile> file = opened();
  EXPECT_EQ(file->lines()[1].question, QuestionMode::kAgnostic);
  EXPECT_EQ(file->lines()[2].question, QuestionMode::kAware);
  const Summary summary = summarise(file->lines(), {"a"}, "");
  ASSERT_EQ(summary.rows.size(), 2U);
  EXPECT_NEAR(summary.rows[0].kl.value, 0.3, 1e-12);
  EXPECT_EQ(summary.rows[1].question, QuestionMode::kAgnostic);
  EXPECT_NEAR(summary.rows[1].kl.value, 0.75, 1e-12);
  EXPECT_NE(summary_table(summary).find("| 10% | a | agnostic | 1 |"), std::string::npos) << summary_table(summary);
  file.reset();
  append_text("{\"sample\": \"s3\", \"task\": \"t\", \"policy\": \"a\", \"question\": \"maybe\", \"kept\": 0.1}\n");
  EXPECT_NE(open().status().message().find("got 'maybe', expected aware or agnostic"), std::string::npos)
      << open().status().message();
}

TEST_F(ResultsTest, ATornLineIsDroppedAndNothingElse) {
  ASSERT_TRUE(open()->append({line("s1", "a", 0.1, 0.5)}).ok());
  const auto whole = std::filesystem::file_size(path_);
  append_text("{\"sample\": \"s2\", \"ta");
  std::optional<ResultsFile> file = opened();
  EXPECT_EQ(file->lines().size(), 1U);
  EXPECT_EQ(std::filesystem::file_size(path_), whole);
  ASSERT_TRUE(file->append({line("s2", "a", 0.1, 0.5)}).ok());
  file.reset();
  EXPECT_EQ(open()->lines().size(), 2U);
}

TEST_F(ResultsTest, Refusals) {
  ASSERT_TRUE(open("a").ok());
  EXPECT_NE(open("b").status().message().find("holds results with model \"a\", expected \"b\"; --fresh starts over"),
            std::string::npos);
  ASSERT_TRUE(open("b", /*fresh=*/true).ok());
  append_text("{\"sample\": 3}\n");
  EXPECT_NE(open("b").status().message().find("results.jsonl:2: key 'sample': got 3"), std::string::npos)
      << open("b").status().message();
  std::ofstream(path_) << "not JSON\n";
  EXPECT_NE(open().status().message().find("results.jsonl:1"), std::string::npos);
  std::ofstream(path_) << "{\"format\": \"other\", \"version\": 1}\n";
  EXPECT_NE(open().status().message().find("format is 'other', expected 'ripplekv.eval'"), std::string::npos);
  std::ofstream(path_) << "{\"format\": \"ripplekv.eval\", \"version\": 7}\n";
  EXPECT_EQ(open().status().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(open("b", /*fresh=*/true).ok()) << "old results may be replaced";
  for (const char* foreign : {"not JSON\n", "[1]", "{\"format\": \"other\", \"version\": 1}\n"}) {
    std::ofstream(path_) << foreign;
    const Status refused = open("b", /*fresh=*/true).status();
    EXPECT_NE(refused.message().find("results.jsonl: holds something else than results"), std::string::npos)
        << refused.message();
    std::ifstream file(path_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), foreign) << "stays as it was";
  }
  std::ofstream(path_, std::ios::trunc).close();
  EXPECT_TRUE(open("b", /*fresh=*/true).ok()) << "nothing is lost with an empty file";
  std::ofstream(path_, std::ios::trunc).close();
  EXPECT_NE(open().status().message().find("no whole line"), std::string::npos);
  EXPECT_FALSE(ResultsFile::open("/nowhere/at/all.jsonl", {}, false).ok());
}

// One process at a time: two would measure everything twice. What stands there twice is not taken for two samples.
TEST_F(ResultsTest, NothingIsMeasuredTwice) {
  std::optional<ResultsFile> file = opened();
  for (const bool fresh : {false, true}) {
    EXPECT_NE(open("a", fresh).status().message().find("results.jsonl: another process is writing it"),
              std::string::npos)
        << open("a", fresh).status().message();
  }
  ASSERT_TRUE(file->append({line("s1", "a", 0.1, 0.5)}).ok()) << "it is what it was";
  file.reset();
  EXPECT_EQ(open()->lines().size(), 1U);
  std::ifstream in(path_);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  append_text(text.substr(text.find('\n') + 1));
  const std::string why = open().status().message();
  EXPECT_NE(why.find("results.jsonl:3: measures sample 's1', policy 'a' at 10% again, expected what line 2 says once"),
            std::string::npos)
      << why;
  EXPECT_EQ(read_results(path_).status().message(), why);
}

// An answer that ends at once has a score, but no token that a policy can move.
TEST_F(ResultsTest, WhatIsNotComparedIsScored) {
  ResultLine ended = line("s2", "b", 0.1, 0);
  ended.compared = false;
  ended.score = 1;
  ResultLine usual = line("s1", "b", 0.1, 0.5);
  usual.score = 0;
  ASSERT_TRUE(open()->append({usual, ended, line("s1", "a", 0.1, 1), line("s2", "a", 0.1, 1)}).ok());
  const auto file = open();
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->lines()[0].compared);
  EXPECT_FALSE(file->lines()[1].compared);
  EXPECT_EQ(file->lines()[1].score, 1);
  const Summary summary = summarise(file->lines(), {"a", "b"}, "a");
  const SummaryRow& row = summary.rows[1];
  EXPECT_EQ(row.n_sample, 2);
  EXPECT_EQ(row.n_compared, 1);
  EXPECT_EQ(row.score, 0.5);
  EXPECT_EQ(row.kl.value, 0.5);
  EXPECT_EQ(row.n_pair, 1);
  EXPECT_NE(summary_table(summary).find(
                "| 10% | b | 2 | 40 | - | 4.0 KiB | 0.5000 | 0.5000 | 0.500 (s1) | 0.500 | 50.00 | 0.500 |"),
            std::string::npos)
      << "one sample has no interval: " << summary_table(summary);
  const std::string none = summary_table(summarise({ended}, {"b"}, ""));
  EXPECT_NE(none.find("| 10% | b | 1 | 40 | - | 4.0 KiB | - | - | - | - | 100.00 |"), std::string::npos) << none;
  EXPECT_TRUE(summary_json(summarise({ended}, {"b"}, "")).at("rows")[0].at("kl").is_null());
}

// Two ranks one after the other, the first last, which joins: lines in the order of the samples, none twice or lost.
TEST_F(ResultsTest, RanksWriteApartAndAreJoined) {
  const std::map<std::string, size_t> places = {{"s0", 0}, {"s1", 1}, {"s2", 2}, {"s3", 3}};
  const auto as_rank = [&](int rank) {
    auto file = ResultsFile::open(path_, {{"model", "a"}, {"n", 3}}, false, {rank, 2, nullptr});
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(*file);
  };
  ASSERT_TRUE(open()->append({line("s2", "a", 0.1, 0.5)}).ok());
  std::optional<ResultsFile> first = as_rank(0);
  ResultsFile second = as_rank(1);
  ASSERT_TRUE(first->append({line("s0", "b", 0.1, 0.1), line("s0", "c", 0.1, 0.2)}).ok());
  ASSERT_TRUE(second.append({line("s3", "b", 0.1, 0.3)}).ok());
  ASSERT_TRUE(second.append({line("s1", "b", 0.1, 0.4)}).ok());
  EXPECT_EQ(parts_of(path_).size(), 2U);
  first.reset();  // both die here. Another first rank, and one process, go on; a torn line of a part is dropped.
  std::ofstream(part_path(path_, 1), std::ios::app) << "{\"sample\": \"s2";
  first = as_rank(0);
  EXPECT_TRUE(first->has("s3", "b", QuestionMode::kAware, 0.1));
  EXPECT_TRUE(first->has("s0", "c", QuestionMode::kAware, 0.1));
  EXPECT_FALSE(first->has("s2", "b", QuestionMode::kAware, 0.1));
  first.reset();
  std::optional<ResultsFile> alone = opened();
  ASSERT_TRUE(alone->append({line("s2", "b", 0.1, 0.6)}).ok());
  ASSERT_TRUE(alone->join(places).ok());
  EXPECT_TRUE(parts_of(path_).empty());
  std::vector<std::string> order;
  for (const ResultLine& of : alone->lines()) order.push_back(of.sample + of.policy);
  EXPECT_EQ(order, (std::vector<std::string>{"s2a", "s0b", "s0c", "s1b", "s2b", "s3b"}));
  alone.reset();
  EXPECT_EQ(open()->lines().size(), 6U);

  // Killed between the joined file and the removal of the parts.
  ResultsFile late = as_rank(1);
  ASSERT_TRUE(late.append({line("s1", "b", 0.1, 0.4), line("s1", "z", 0.1, 0.4)}).ok());
  std::optional<ResultsFile> last = opened();
  ASSERT_TRUE(last->join(places).ok());
  EXPECT_EQ(last->lines().size(), 7U);
  last.reset();
  // A part of another run is refused, unless all is begun anew.
  ASSERT_TRUE(ResultsFile::open(part_path(path_, 3), {{"model", "other"}, {"n", 3}}, true).ok());
  EXPECT_NE(open().status().message().find("rank3.part: holds results with model"), std::string::npos)
      << open().status().message();
  EXPECT_TRUE(open("a", /*fresh=*/true)->lines().empty());
  EXPECT_TRUE(parts_of(path_).empty());
}

TEST_F(ResultsTest, ASummaryCountsAndCompares) {
  std::vector<ResultLine> lines;
  const std::vector<double> of_a = {0.1, 0.2, 0.6};
  const std::vector<double> of_b = {0.05, 0.1, 0.3};
  for (size_t i = 0; i < 3; ++i) {
    lines.push_back(line("s" + std::to_string(i), "a", 0.1, of_a[i]));
    lines.push_back(line("s" + std::to_string(i), "b", 0.1, of_b[i]));
  }
  ResultLine failed = line("s3", "b", 0.1, 0);
  failed.error = "x";
  lines.push_back(failed);
  const Summary summary = summarise(lines, {"full", "a", "b"}, "");
  EXPECT_EQ(summary.baseline, "a");
  ASSERT_EQ(summary.rows.size(), 2U);
  const SummaryRow& a = summary.rows[0];
  EXPECT_EQ(a.n_sample, 3);
  EXPECT_NEAR(a.kl.value, 0.3, 1e-12);
  EXPECT_EQ(a.kl_median, 0.2);
  EXPECT_EQ(a.kl_worst, 0.6);
  EXPECT_EQ(a.worst_sample, "s2");
  EXPECT_EQ(a.n_pair, 0);
  const SummaryRow& b = summary.rows[1];
  EXPECT_EQ(b.n_failed, 1);
  EXPECT_EQ(b.n_pair, 3);
  EXPECT_NEAR(b.kl_ratio.value, 0.5, 1e-12);
  EXPECT_NEAR(b.kl_ratio.low, 0.5, 1e-12) << "half in every sample";
  EXPECT_NEAR(b.sign_p, 0.25, 1e-12);
  const std::string table = summary_table(summary);
  EXPECT_NE(table.find("| 10% | b | 3 (1 failed) |"), std::string::npos) << table;
  EXPECT_EQ(summary_json(summary).at("rows").size(), 2U);
}

// Columns that compare need something to compare with; rows held are said beside those asked for.
TEST_F(ResultsTest, ASummaryWithoutABaseline) {
  ResultLine full = line("s1", "full", 1, 0);
  full.held = 1;
  const std::string table = summary_table(summarise({full}, {"full"}, ""));
  EXPECT_EQ(table.find("KL / "), std::string::npos) << table;
  EXPECT_EQ(table.find("sign"), std::string::npos) << table;
  EXPECT_NE(table.find("| 100% | full | 1 |"), std::string::npos) << table;
  const std::string head = table.substr(0, table.find('\n'));
  const std::string last = table.substr(table.rfind('|', table.size() - 3));
  EXPECT_EQ(std::count(table.begin(), table.end(), '|'), 3 * std::count(head.begin(), head.end(), '|'))
      << table << last;
  ResultLine short_prompt = line("s1", "a", 0.1, 0.5);
  short_prompt.held = 0.625;
  const std::string held = summary_table(summarise({full, short_prompt}, {"full", "a"}, ""));
  EXPECT_NE(held.find("| 10% | a | 1 | 40 | 62.5% |"), std::string::npos) << held;
}

// A baseline that is not listed is compared with; other policies of the file are left out; the later of two lines of
// one sample counts.
TEST_F(ResultsTest, ASummaryListsWhatWasAskedFor) {
  ResultLine failed = line("s1", "a", 0.1, 0);
  failed.error = "x";
  const std::vector<ResultLine> lines = {failed, line("s1", "b", 0.1, 0.2), line("s1", "c", 0.1, 9),
                                         line("s1", "a", 0.1, 0.4), line("s1", "a", 0.05, 0.8)};
  const Summary summary = summarise(lines, {"a"}, "b");
  ASSERT_EQ(summary.rows.size(), 2U);
  EXPECT_EQ(summary.rows[0].kept, 0.05);
  EXPECT_EQ(summary.rows[0].n_pair, 0);
  EXPECT_EQ(summary.rows[1].n_failed, 0);
  EXPECT_EQ(summary.rows[1].n_pair, 1);
  EXPECT_NEAR(summary.rows[1].kl_ratio.value, 2, 1e-12);
}

}  // namespace
}  // namespace ripplekv
