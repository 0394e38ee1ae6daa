// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Reading what a report is made from: validation and benchmark files with nulls, extra keys and damage; names of files.
#include "report/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/record.h"
#include "report/report.h"
#include "test_util/artefact.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

class InputsTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  const std::string folder_ = test::temp_dir();
};

TEST_F(InputsTest, Validation) {
  const auto read = read_validation(put("v.json", R"({"model": "M", "samples": 4, "damage": [1], "spearman": [
      {"signal": "all", "kept": 0.1, "rho": 0.5, "lo": 0.25, "hi": 0.75, "more": {}},
      {"signal": "index", "kept": 0.2, "rho": null}]})"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->model, "M");
  EXPECT_EQ(read->n_sample, 4);
  ASSERT_EQ(read->rows.size(), 2U);
  EXPECT_EQ(read->rows[0].low, 0.25);
  EXPECT_EQ(read->rows[1].signal, "index");
  EXPECT_TRUE(std::isnan(read->rows[1].rho) && std::isnan(read->rows[1].high));
}

TEST_F(InputsTest, Bench) {
  const std::string list = R"([{"work": "decode", "context": 8192, "policy": "snapkv", "budget": 0.1, "threads": 2,
      "tokens_per_s": 40.5, "peer": "llama.cpp", "peer_tokens_per_s": 20.25, "ratio": 2},
      {"work": "prefill", "ratio": null}])";
  for (const std::string& text : {list, "{\"format\": \"x\", \"records\": " + list + "}"}) {
    const auto read = read_bench(put("b.json", text));
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ((*read)[0].work, "decode");
    EXPECT_EQ((*read)[0].context, 8192);
    EXPECT_EQ((*read)[0].budget, "0.1");
    EXPECT_EQ((*read)[0].ratio, 2);
    EXPECT_EQ((*read)[1].policy, "");
    EXPECT_TRUE(std::isnan((*read)[1].ratio) && std::isnan((*read)[1].figure));
  }
}

TEST_F(InputsTest, BenchFiguresByWork) {
  // The program's own records; a speed has seconds as well.
  BenchRecord prefill;
  prefill.work = "prefill";
  prefill.context = prefill.n_token = 256;
  prefill.policy = "snapkv";
  prefill.budget = "30%";
  prefill.format = {KvType::kF16, KvType::kQ8_0};
  prefill.seconds = {2};
  prefill.peer = "llama.cpp";
  prefill.peer_setting = "fa";
  prefill.peer_seconds = {4};
  BenchRecord first = prefill;
  first.work = "first_token";
  BenchRecord memory = prefill;
  memory.work = "memory";
  memory.seconds = memory.peer_seconds = {};
  memory.peak_bytes = 5000;
  memory.above_weights = 3000;
  memory.peer_peak_bytes = 4000;
  memory.peer_above_weights = 1500;
  const auto read = read_bench(put("b.json", records_json({prefill, first, memory}, {{"threads", 2}}).dump()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 3U);
  const struct {
    BenchUnit unit;
    double figure, peer_figure, ratio;
  } kExpected[] = {
      {BenchUnit::kTokensPerSecond, 128, 64, 2}, {BenchUnit::kSeconds, 2, 4, 0.5}, {BenchUnit::kBytes, 3000, 1500, 2}};
  for (size_t i = 0; i < read->size(); ++i) {
    EXPECT_EQ((*read)[i].unit, kExpected[i].unit) << i;
    EXPECT_EQ((*read)[i].figure, kExpected[i].figure) << i;
    EXPECT_EQ((*read)[i].peer_figure, kExpected[i].peer_figure) << i;
    EXPECT_EQ((*read)[i].ratio, kExpected[i].ratio) << i;
    EXPECT_EQ((*read)[i].formats, "f16/q8_0");
    EXPECT_EQ((*read)[i].peer_setting, "fa");
  }
  const auto other = read_bench(put("b.json", R"([{"work": "loading", "seconds": 3, "peer_seconds": 6}])"));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)[0].unit, BenchUnit::kSeconds);
  EXPECT_EQ((*other)[0].peer_figure, 6);
}

TEST_F(InputsTest, NumbersThatCannotBeAreRefused) {
  for (const char* record :
       {R"({"work": "decode", "tokens_per_s": -1})", R"({"work": "decode", "peer_tokens_per_s": -1})",
        R"({"work": "decode", "ratio": -1})", R"({"work": "memory", "above_weights_bytes": -1})",
        R"({"work": "first_token", "seconds": -1})"}) {
    const auto read = read_bench(put("b.json", std::string("[") + record + "]"));
    ASSERT_FALSE(read.ok()) << record;
    EXPECT_NE(read.status().message().find("b.json[0]: key"), std::string::npos) << read.status().message();
    EXPECT_NE(read.status().message().find("got -1, expected a number from 0 on"), std::string::npos);
  }
  for (const char* row :
       {R"("kept": 1.5, "rho": 0)", R"("kept": 0.1, "rho": 2)", R"("kept": 0.1, "rho": 0, "lo": -3)",
        R"("kept": 0.1, "rho": 0, "lo": 0.5, "hi": 0.4)", R"("kept": 0.1, "rho": 0.3, "lo": 0.4, "hi": 0.5)",
        R"("kept": 0.1, "rho": 0.6, "lo": 0.4, "hi": 0.5)"}) {
    const auto read = read_validation(put("v.json", std::string(R"({"spearman": [{"signal": "s", )") + row + "}]}"));
    ASSERT_FALSE(read.ok()) << row;
    EXPECT_NE(read.status().message().find("v.json: key 'spearman'[0]: key"), std::string::npos)
        << read.status().message();
  }
  const auto line = [](double kept, double kl) {
    return "{\"format\":\"ripplekv.eval\",\"version\":2}\n{\"sample\":\"s\",\"task\":\"t\",\"policy\":\"p\",\"kept\":" +
           std::to_string(kept) + ",\"n_prompt\":9,\"rows\":1,\"bytes\":2,\"kl\":" + std::to_string(kl) +
           ",\"kl_max\":2,\"top1\":1,\"nll\":1}\n";
  };
  EXPECT_TRUE(read_evaluations({put("r.jsonl", line(0.1, 0))}).ok());
  for (const auto& [kept, kl] : {std::pair{0.1, -1.0}, {1.5, 1.0}, {-0.1, 1.0}}) {
    const auto read = read_evaluations({put("r.jsonl", line(kept, kl))});
    ASSERT_FALSE(read.ok()) << kept << " " << kl;
    EXPECT_NE(read.status().message().find("r.jsonl: sample 's', policy 'p': key 'k"), std::string::npos)
        << read.status().message();
  }
  for (const auto& [number, instead] : {std::pair{"\"kl_max\":2", "\"kl_max\":0.5"},
                                        {"\"top1\":1", "\"top1\":5"},
                                        {"\"nll\":1", "\"nll\":-1"},
                                        {"\"nll\":1", "\"nll\":1,\"score\":5"},
                                        {"\"nll\":1", "\"nll\":1,\"score\":-3"},
                                        {"\"nll\":1", "\"nll\":1,\"held\":9"},
                                        {"\"nll\":1", "\"nll\":1,\"held\":-4"}}) {
    std::string text = line(0.1, 1);
    text.replace(text.find(number), std::string_view(number).size(), instead);
    EXPECT_FALSE(read_evaluations({put("r.jsonl", text)}).ok()) << text;
  }
}

TEST_F(InputsTest, DamageIsNamed) {
  const struct {
    const char* text;
    const char* fault;
  } kBench[] = {{"{}", "got object, expected a list"},
                {"[1]", "b.json[0]: got number, expected an object"},
                {"[{\"work\": \"a\", \"ratio\": \"fast\"}]", "b.json[0]: key 'ratio': got string, expected a number"},
                {"[{\"work\": []}]", "key 'work': got array, expected a text"},
                {"[{\"ratio\": 1}]", "expected a key 'work'"},
                {"[{\"work\": \"a\", \"ratio\": NaN}]", "b.json"},
                {"[", "b.json"}};
  for (const auto& of : kBench) {
    const auto read = read_bench(put("b.json", of.text));
    ASSERT_FALSE(read.ok()) << of.text;
    EXPECT_NE(read.status().message().find(of.fault), std::string::npos) << read.status().message();
  }
  for (const char* text : {"[]", "{}", "{\"spearman\": 1}", "{\"spearman\": [{\"kept\": 0.1}]}"}) {
    const auto read = read_validation(put("v.json", text));
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.status().message().find("v.json"), std::string::npos) << read.status().message();
  }
  EXPECT_EQ(read_bench(folder_ + "/none.json").status().code(), StatusCode::kNotFound);
}

TEST_F(InputsTest, ResultsAreNamedByFileAndKeepTheirSettings) {
  std::filesystem::create_directories(folder_ + "/other");
  const std::string header = "{\"format\":\"ripplekv.eval\",\"version\":2,\"suite\":\"leval\",\"seed\":7}\n";
  const std::string a = put("r.jsonl", header);
  const std::string b = put("other/r.jsonl", header);
  const auto one = read_evaluations({a});
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ((*one)[0].name, "r.jsonl");
  EXPECT_EQ((*one)[0].setting("suite"), "leval");
  EXPECT_EQ((*one)[0].setting("seed"), "7");
  EXPECT_EQ((*one)[0].setting("none"), "");
  const auto two = read_evaluations({a, b});
  ASSERT_TRUE(two.ok());
  EXPECT_EQ((*two)[0].name, a);
  EXPECT_EQ((*two)[1].name, b);
}

// Whatever is accepted makes a page.
class DamagedFileTest : public test::ArtefactTest {
 protected:
  static Status report(ReportInputs inputs) {
    const auto report = make_report(inputs);
    EXPECT_TRUE(report.ok() && !report_html(*report).empty() && !report_csv(*report).empty());
    return report.status();
  }
  static Status bench(const std::string& path) {
    ReportInputs inputs;
    RKV_ASSIGN_OR_RETURN(inputs.bench, read_bench(path));
    return report(inputs);
  }
  static Status validation(const std::string& path) {
    ReportInputs inputs;
    RKV_ASSIGN_OR_RETURN(inputs.validation, read_validation(path));
    return report(inputs);
  }
};

TEST_F(DamagedFileTest, Bench) {
  put(R"([{"work": "decode", "context": 8192, "policy": "snapkv", "budget": "10%", "tokens_per_s": 40.5,
           "peer": "llama.cpp", "peer_tokens_per_s": 20.25, "ratio": 2}, {"work": "prefill", "ratio": null}])");
  expect_truncation_refused(bench);
  expect_random_damage_survived(1, bench);
}

TEST_F(DamagedFileTest, Validation) {
  put(R"({"model": "M", "samples": 4, "spearman": [{"signal": "all", "kept": 0.1, "rho": 0.5, "lo": 0.25, "hi": 1},
          {"signal": "index", "kept": 0.2, "rho": null}]})");
  expect_truncation_refused(validation);
  expect_random_damage_survived(2, validation);
}

}  // namespace
}  // namespace ripplekv
