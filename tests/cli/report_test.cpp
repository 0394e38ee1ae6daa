// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `ripplekv report` from outside: files in, three files out; what it refuses, and that it then writes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/parsing.h"
#include "cli/shell.h"
#include "eval/results.h"
#include "ripplekv/budgets.h"
#include "test_util/artefact.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using test::Outcome;

class ReportCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Budgets budgets;
    budgets.model = {test::kHash, "Tiny", "llama", 2};
    budgets.allocator = "ripple";
    budgets.budget = *parse_kv_budget("25%");
    budgets.weights = {{1, 3}, 0};
    budgets.kv_format.resize(2);
    ASSERT_TRUE(write_budgets(budgets, folder_ + "/b.json").ok());
    put("r.jsonl", R"({"format":"ripplekv.eval","version":2,"model":"Tiny","suite":"leval"}
{"sample":"s","task":"coursera","policy":"snapkv","kept":0.1,"n_prompt":9,"rows":1,"bytes":2,"kl":1.5,"kl_max":2,"top1":1,"nll":1}
{"sample":"s","task":"coursera","policy":"h2o","kept":0.1,"n_prompt":9,"rows":1,"bytes":2,"kl":0.5,"kl_max":2,"top1":1,"nll":1}
)");
    put("v.json", R"({"spearman": [{"signal": "all", "kept": 0.1, "rho": 0.5, "lo": 0.2, "hi": 0.7}]})");
    put("s.json", R"([{"work": "decode", "context": 100, "policy": "p", "ratio": 2}])");
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(folder_ + "/" + name) << text; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Outcome run(const std::string& args) const {
    return test::shell("cd '" + folder_ + "' && $P report " + args + " 2>&1");
  }
  const std::string folder_ = test::temp_dir();
};

TEST_F(ReportCommandTest, WritesPageAndTables) {
  const Outcome outcome =
      run("--budgets b.json --results r.jsonl --validation v.json --bench s.json --baseline h2o -o new/page.html");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  const std::string page = text_of("new/page.html");
  for (const char* part : {"Rows kept in each layer", "KL beside h2o", "Spearman", "Speed of decode"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_NE(text_of("new/page.csv").find("\"Fidelity and size\",1,\"mean KL [95%]\",0.5"), std::string::npos)
      << text_of("new/page.csv");
  EXPECT_NE(text_of("new/page.md").find("| 10% | snapkv | 1 | 0 |"), std::string::npos) << text_of("new/page.md");
}

TEST_F(ReportCommandTest, RefusesAndWritesNothing) {
  put("bad.jsonl", text_of("r.jsonl") + "{\"sample\": 1}\n");
  const std::pair<const char*, const char*> cases[] = {{"--results none.jsonl", "none.jsonl"},
                                                       {"--results bad.jsonl", "bad.jsonl:4"},
                                                       {"--profile b.json", "ripplekv.profile"},
                                                       {"--budgets b.json --tokens 100", "b.json"},
                                                       {"--results r.jsonl --baseline tova", "--baseline: got 'tova'"}};
  for (const auto& [args, fault] : cases) {
    const Outcome outcome = run(std::string(args) + " -o page.html");
    EXPECT_EQ(outcome.exit_code, 1) << args;
    EXPECT_NE(outcome.text.find(fault), std::string::npos) << outcome.text;
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/page.html"));
  }
}

TEST_F(ReportCommandTest, OverwritesNoInput) {
  std::filesystem::create_directories(folder_ + "/sub");
  std::filesystem::create_symlink("../b.json", folder_ + "/sub/linked.csv");
  const char* kFiles[] = {"b.json", "r.jsonl", "v.json", "s.json"};
  const char* kFlags[] = {"--budgets", "--results", "--validation", "--bench"};
  for (size_t i = 0; i < std::size(kFiles); ++i) {
    for (const char* extension : {"html", "csv", "md"}) {
      const std::string input = std::string("x.") + extension;
      put(input, text_of(kFiles[i]));
      for (const char* output : {"x.html", "./sub/../x.html"}) {
        const Outcome outcome = run(fmt::format("{} {} --results r.jsonl -o {}", kFlags[i], input, output));
        EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
        EXPECT_NE(outcome.text.find("would overwrite the input '" + input + "'"), std::string::npos) << outcome.text;
        EXPECT_EQ(text_of(input), text_of(kFiles[i]));
      }
      std::filesystem::remove(folder_ + "/" + input);
      for (const char* other : {"html", "csv", "md"}) EXPECT_FALSE(std::filesystem::exists(folder_ + "/x." + other));
    }
  }
  const Outcome linked = run("--budgets b.json -o sub/linked.html");
  EXPECT_NE(linked.text.find("would overwrite the input 'b.json'"), std::string::npos) << linked.text;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/sub/linked.html"));
}

TEST(ReportArguments, AreChecked) {
  check_refusals({{{"report", "-o", "a.html"}, {"nothing to report", "--profile", "--bench"}},
                  {{"report", "--bench", "b.json"}, {"--output"}},
                  {{"report", "--bench", "b.json", "-o", "a.csv"}, {"--output", "'a.csv'", ".html"}},
                  {{"report", "--bench", "b.json", "-o", "a.html", "--tokens", "0"}, {"--tokens"}}});
  const auto args = parsed<ReportArgs>({"--results", "a", "--results", "b", "--budgets", "c", "-o", "d.html"});
  EXPECT_EQ(args.results_files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(args.budgets_files, (std::vector<std::string>{"c"}));
}

}  // namespace
}  // namespace ripplekv
