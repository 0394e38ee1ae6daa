// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The commands from outside, on a tiny model: the whole way from a profile to an answer, and what a user can get wrong.
#include <gguf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/shell.h"
#include "test_util/paths.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

using nlohmann::json;
using test::Outcome;

class CommandsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const test::TinyGguf tiny = test::tiny_chat_model();
    folder_ = test::temp_dir();
    model_ = folder_ + "/tiny.gguf";
    test::write_tiny_gguf(tiny, model_);
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += "ship " + std::to_string(i * 37 % 101) + " lies at quay " + std::to_string(i) + ". ";
    write("document.txt", text.substr(0, 400));
    const Outcome profiled =
        run("profile -m $M --limit 2 --max-tokens 400 --answer-tokens 4 --window 8 -o $D/profile.json");
    ASSERT_EQ(profiled.exit_code, 0) << profiled.text;
  }

  static void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  static std::string prefix() {
    return "export RIPPLEKV_CACHE_DIR='" + folder_ + "/cache' OMP_WAIT_POLICY=passive; D='" + folder_ + "'; M='" +
           model_ + "'; ";
  }
  static Outcome run(const std::string& args) { return test::shell(prefix() + "$P " + args + " 2>&1"); }
  static json run_json(const std::string& args) {
    const Outcome outcome = test::shell(prefix() + "$P " + args + " 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << args;
    return json::parse(outcome.text, nullptr, false);
  }
  static std::string folder_;
  static std::string model_;
};

std::string CommandsTest::folder_;
std::string CommandsTest::model_;

TEST_F(CommandsTest, TheWholeWay) {
  const json plan = run_json(
      "allocate --profile $D/profile.json --allocator ripple --kv-budget 25% --window 8 --tokens 200 --json "
      "-o $D/b.json");
  const auto rows = plan.at("rows").get<std::vector<int64_t>>();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), int64_t{0}), 150);
  EXPECT_EQ(plan.at("total_rows"), 150);

  const std::string prompt = "-m $M -f $D/document.txt --temp 0 -n 6 --json ";
  const json full = run_json("run " + prompt);
  const json frozen = run_json("run " + prompt + "--budget $D/b.json");
  const json direct =
      run_json("run " + prompt + "--kv-budget 25% --profile $D/profile.json --allocator ripple --window 8");
  EXPECT_EQ(frozen.at("rows"), direct.at("rows"));
  EXPECT_EQ(frozen.at("ids"), direct.at("ids"));
  EXPECT_LT(frozen.at("kv_bytes_held"), full.at("kv_bytes_held"));
  EXPECT_LE(frozen.at("kv_bytes_peak"), full.at("kv_bytes_peak"));
  for (const json& line : frozen.at("receipt")) EXPECT_EQ(line.at("rows_planned"), line.at("rows_held"));

  json input = {{"ids", full.at("prompt_ids")}, {"answer", full.at("ids")}};
  write("input.json", input.dump());
  const json trace = run_json("trace -m $M --input $D/input.json --budget $D/b.json --html $D/t.html");
  EXPECT_EQ(trace.at("kept").size(), 3U);
  EXPECT_EQ(trace.at("kept")[0].size(), 2U);
  for (size_t il = 0; il < 3; ++il) {
    for (const json& head : trace.at("kept")[il]) {
      EXPECT_EQ(head.size(), frozen.at("rows")[il].get<size_t>());
      EXPECT_TRUE(std::is_sorted(head.begin(), head.end()));
    }
  }
  EXPECT_EQ(trace.at("next_token_top10").size(), 10U);
  EXPECT_EQ(trace.at("next_token_top10")[0].size(), 2U);
  EXPECT_EQ(trace.at("answer_nll").size(), full.at("ids").size());
  EXPECT_GT(trace.at("kl").get<double>(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/t.html"));
  const json same = run_json("trace -m $M --input $D/input.json");
  EXPECT_NEAR(same.at("kl").get<double>(), 0, 1e-9);
  EXPECT_EQ(same.at("top1"), 1.0);
}

TEST_F(CommandsTest, ProfilesAreFoundByTheModelsFingerprint) {
  const std::string ask = "run -m $M -f $D/document.txt --temp 0 -n 2 --kv-budget 50% --window 8";
  std::filesystem::remove_all(folder_ + "/cache");
  EXPECT_NE(run(ask).text.find("every layer gets the same budget"), std::string::npos);
  EXPECT_EQ(run_json(ask + " --json").at("allocator"), "uniform");
  EXPECT_NE(run("allocate -m $M --kv-budget 50%").text.find("there is no profile of this model: make one"),
            std::string::npos);
  ASSERT_EQ(run("profile -m $M --limit 1 --max-tokens 400 --answer-tokens 4").exit_code, 0);
  EXPECT_EQ(run_json(ask + " --json").at("allocator"), "head_curves");
  const json found = run_json("models --json");
  ASSERT_EQ(found.at("profiles").size(), 1U);
  EXPECT_EQ(found.at("profiles")[0].at("fingerprint"), run_json("inspect -m $M --json").at("fingerprint"));
}

// A model whose window is shorter than its context can be looked at and allocated for within that window.
TEST_F(CommandsTest, AContextWithinTheWindow) {
  test::TinyGguf tiny;
  tiny.edit = [](gguf_context* g) { gguf_set_val_u32(g, "llama.attention.sliding_window", 600); };
  test::write_tiny_gguf(tiny, folder_ + "/window.gguf");
  const std::vector<std::string> commands = {
      "inspect -m $D/window.gguf --json",
      "allocate -m $D/window.gguf --allocator uniform --kv-budget 50% --tokens 600 --json"};
  for (const std::string& args : commands) {
    const Outcome refused = run(args);
    EXPECT_EQ(refused.exit_code, 1) << args;
    EXPECT_NE(refused.text.find("--ctx-size 600 stays within it"), std::string::npos) << refused.text;
    EXPECT_EQ(run(args + " -c 601").exit_code, 1) << args;
  }
  const json shape = run_json(commands[0] + " -c 600");
  EXPECT_EQ(shape.at("n_ctx"), 600);
  EXPECT_EQ(shape.at("n_ctx_train"), 4096);
  EXPECT_NE(run("inspect -m $D/window.gguf -c 600").text.find(" at 600 tokens"), std::string::npos);
  EXPECT_EQ(run_json(commands[1] + " -c 600").at("total_rows"), 600);
  // The profile alone would do; a context length is of the model, which is then read.
  EXPECT_NE(
      run("allocate --profile $D/profile.json --kv-budget 25% --window 8 -c 100 -m $D/none.gguf").text.find("none"),
      std::string::npos);
}

// For a file that is to be written, a limit of no bytes is a full disk: the old file stays, and nothing else does.
TEST_F(CommandsTest, AFullDiskLeavesTheOldFiles) {
  write("ids3.json", "{\"ids\": [5, 6, 7, 8, 9]}");
  const std::string out = folder_ + "/full";
  const std::string disk_full = "trap '' XFSZ; ulimit -f 0; ";
  struct Case {
    std::string args;
    std::string before = "";  // of $P
    int exit_code = 1;
    std::string old = "old";  // what is replaced unread must be of its kind
  };
  const std::vector<Case> cases = {
      {"allocate --profile $D/profile.json --kv-budget 25% --window 8 -o $O"},
      {"profile -m $M --limit 1 --max-tokens 400 --answer-tokens 4 --window 8 --fresh -o $O", "", 1,
       R"({"format": "ripplekv.profile"})"},
      {"trace -m $M --input $D/ids3.json --window 1 --kv-budget 9 --selector streaming_llm --n-sink 0 -o $O"},
      {"trace -m $M --input $D/ids3.json --html $O"},
      {"run -i -m $M -n 2 --temp 0", "printf 'hello\\n/save %s\\n' $O | ", 0, "RKVSESS"},  // a conversation outlives it
  };
  for (const Case& c : cases) {
    std::filesystem::remove_all(out);
    std::filesystem::create_directory(out);
    write("full/file", c.old);
    const std::string line = disk_full + c.before + "$P " + c.args;
    const Outcome outcome = test::shell(prefix() + "O=$D/full/file; { " + line + "; } 2>&1 >/dev/null");
    EXPECT_EQ(outcome.exit_code, c.exit_code) << c.args << outcome.text;
    EXPECT_NE(outcome.text.find("/full/file: cannot write: File too large\n"), std::string::npos) << c.args << "\n"
                                                                                                  << outcome.text;
    std::ifstream file(out + "/file");
    EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()), c.old) << c.args;
    const std::filesystem::directory_iterator left(out);
    EXPECT_EQ(std::distance(begin(left), end(left)), 1) << c.args;
  }
  // Standard output is a file too.
  write("pairs.json", R"([{"metric": "qa_f1", "prediction": "a", "answer": "a"}])");
  for (const std::string args :
       {"inspect -m $M", "inspect -m $M --json", "models --json", "trace -m $M --input $D/ids3.json",
        "run -m $M -p a -n 2 --json", "run -m $M -p a -n 2", "score $D/pairs.json",
        "export $D/full/b.json --tokens 64k", "allocate --profile $D/profile.json --kv-budget 25% --window 8",
        "run -m $M -i -n 2 --temp 0 <$D/pairs.json"}) {
    ASSERT_EQ(run("allocate --profile $D/profile.json --kv-budget 25% --window 8 -o $D/full/b.json").exit_code, 0);
    for (const auto& [to, reason] : {std::pair<std::string, std::string>{">/dev/full", "No space left on device"},
                                     {">&-", "Bad file descriptor"},
                                     {"| true", "Broken pipe"}}) {
      // The reader that leaves at once has left when the program begins.
      const Outcome outcome =
          to == "| true"
              ? test::shell(prefix() + "exec 3>&1; { sleep 0.2; $P " + args + " 2>&3; echo code $? >&3; } | true")
              : test::shell(prefix() + "$P " + args + " 2>&1 " + to + "; echo code $?");
      EXPECT_NE(outcome.text.find(": standard output could not be written: " + reason + "\n"), std::string::npos)
          << args << to << "\n"
          << outcome.text;
      EXPECT_NE(outcome.text.find("code 1\n"), std::string::npos) << args << to << "\n" << outcome.text;
    }
  }
}

// One rule for all commands: folders that are missing are made.
TEST_F(CommandsTest, MissingFoldersAreMade) {
  write("pairs.json", R"([{"metric": "qa_f1", "prediction": "a", "answer": "a"}])");
  for (const std::string args : {"score $D/pairs.json -o $D/made/$N/scores.json",
                                 "allocate --profile $D/profile.json --kv-budget 25% --window 8 -o $D/made/$N/b.json",
                                 "trace -m $M --input $D/document.txt -o $D/made/$N/t.json --html $D/made/$N/h/t.html",
                                 "run -m $M -i -n 2 --temp 0 < $D/turns.txt"}) {
    write("turns.txt", "hello\n/save " + folder_ + "/made/chat/session.bin\n");
    static int n = 0;
    const Outcome outcome = run("--version >/dev/null; N=" + std::to_string(n++) + "; $P " + args);
    EXPECT_EQ(outcome.exit_code, 0) << args << outcome.text;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/made/chat/session.bin"));
}

TEST_F(CommandsTest, CurvesMeasuredOtherwiseAreNoted) {
  const std::string allocate = "allocate --profile $D/profile.json --kv-budget 40% --window 8 ";
  EXPECT_EQ(run(allocate).text.find("note"), std::string::npos) << run(allocate).text;
  EXPECT_NE(
      run(allocate + "-ctk q8_0")
          .text.find("note: the profile's curves were measured with f16/f16 rows, not q8_0/f16; 'ripplekv profile'"),
      std::string::npos)
      << run(allocate + "-ctk q8_0").text;
  EXPECT_NE(run("run -m $M -f $D/document.txt -n 2 --profile $D/profile.json --kv-budget 40% --selector tova")
                .text.find("note: the profile's curves were measured with selector snapkv, not tova"),
            std::string::npos);
  EXPECT_NE(run(allocate + "--kernel 1").text.find("measured with other options of snapkv"), std::string::npos);
  EXPECT_EQ(run(allocate + "--kernel 1 --allocator uniform").text.find("note"), std::string::npos);
}

TEST_F(CommandsTest, DecodeStaysWithinItsBudget) {
  const std::string ask = "run -m $M -f $D/document.txt --temp 0 -n 60 --kv-budget 64 --window 8 --json";
  const json grown = run_json(ask);
  const json held = run_json(ask + " --decode-slack 4");
  if (grown.at("decode_tokens").get<int>() < 50) GTEST_SKIP() << "the tiny model ended its answer early";
  EXPECT_LT(held.at("kv_bytes_held"), grown.at("kv_bytes_held"));
}

TEST_F(CommandsTest, BadInputIsOneSentenceAndNothingIsWritten) {
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  write("empty.gguf", "");
  write("text.gguf", "this is no model at all");
  write("latin1.txt", "caf\xe9");
  write("empty.txt", "");
  write("damaged.json", "{\"format\": \"ripplekv.profile\", ");
  write("future.json", "{\"format\": \"ripplekv.profile\", \"version\": 99}");
  write("ids2.json", "{\"ids\": [5, 6, 7, 8, 9]}");
  write("ids.json", "{\"ids\": [1, 2, -3]}");
  std::ifstream source(model_, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(source)), std::istreambuf_iterator<char>());
  write("cut.gguf", bytes.substr(0, bytes.size() / 2));
  // The profile of another model.
  std::ifstream profile_file(folder_ + "/profile.json");
  std::string profile((std::istreambuf_iterator<char>(profile_file)), std::istreambuf_iterator<char>());
  const auto at = profile.find("xxh3:") + 5;
  profile.replace(at, 4, "0000");
  write("other.json", profile);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"inspect -m $D/none.gguf", "No such file"},
      {"inspect -m $D", "not a file"},
      {"inspect -m $D/empty.gguf", "expected a GGUF file"},
      {"inspect -m $D/text.gguf", "magic"},
      {"inspect -m $D/cut.gguf", "truncated"},
      {"run -m $M -f $D/none.txt", "none.txt"},
      {"run -m $M -f $D/latin1.txt", "UTF-8 at byte 3"},
      {"run -m $M -f $D/empty.txt", "0 bytes"},
      {"run -m $M -f $D", "$D"},
      {"run -m $M -f $D/document.txt -c 32", "the context holds 32"},
      {"run -m $M -f $D/document.txt --kv-budget 2% --allocator uniform", "smallest budget that fits"},
      {"run -m $M -p a --kv-budget 50% --allocator ripple --profile $D/damaged.json", "damaged.json"},
      {"run -m $M -p a --kv-budget 50% --allocator ripple --profile $D/future.json", "version"},
      {"run -m $M -p a --kv-budget 50% --allocator ripple --profile $D/other.json", "0000"},
      {"run -m $M -p a --budget $D/profile.json", "ripplekv.budgets"},
      {"run -m $M -p a -ngl 3", "no GPU backend"},
      {"run -m $M -p a --selector full --kv-budget 30%", "keeps every row"},
      {"run -m $M -p a -t 4096", "--threads"},
      {"profile -m $M -c 10 -o $D/new.json", "leaves no room"},
      {"trace -m $M --input $D/ids.json", "token id"},
      {"trace -m $M --input $D/none.json", "none.json"},
      {"trace -m $M --input $D/document.txt -o $D/document.txt/x.json", "x"},
      {"allocate --profile $D/profile.json --kv-budget 25% --window 8 --tokens 200 -o /dev/full", "/dev/full"},
      {"profile -m $M --calibration $D/none.txt -o $D/new.json", "none.txt"},
      // What cannot be written is said before the samples are looked for, and before a prompt is traced.
      {"profile -m $M --calibration $D/none.txt -o /dev/full", "/dev/full: is a device or pipe"},
      {"profile -m $M --calibration $D/none.txt -o $D/pipe", "pipe: is a device or pipe"},
      {"profile -m $M --calibration $D/none.txt -o $D", ": is a folder"},
      {"profile -m $M --weights f32 --calibration $D/none.txt -o $D/document.txt/p.json", "document.txt"},
      {"trace -m $M --input $D/ids2.json --kv-budget 1 -o /dev/full", "/dev/full: is a device or pipe"},
      {"trace -m $M --input $D/ids2.json --kv-budget 1 --html $D", ": is a folder"},
      {"profile -m $M --limit 2 --max-tokens 400 --answer-tokens 5 --window 8 --eps 0.5 -o $D/profile.json",
       "settings.eps: got 1.0, expected 0.5, settings.n_answer: got 4, expected 5"},
      {"profile -m $M --limit 1 --max-tokens 200 --answer-tokens 2 --window 8 --curves none --fresh -o $D/document.txt",
       "document.txt: holds something else than a profile"},
      {"profile -m $M --limit 1 --max-tokens 20 -o $D/new.json", "longer than 20 tokens"},
      {"profile -m $M --calibration $D/ids2.json -o $D/new.json", "no row to nudge"},
  };
  for (const auto& [args, expected] : cases) {
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.exit_code, 1) << args << "\n" << outcome.text;
    EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 1) << args << "\n" << outcome.text;
    const std::string wanted = expected == "$D" ? folder_ : expected;
    EXPECT_NE(outcome.text.find(wanted), std::string::npos) << args << "\n" << outcome.text;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new.json"));
}

}  // namespace
}  // namespace ripplekv
