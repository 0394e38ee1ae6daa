// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// argv -> command, help or error: unknown names, llama.cpp's habits, help and Markdown, random arguments.
// The values of the flags are args_test.cpp's, exit codes and streams program_test.cpp's.
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/parsing.h"

namespace ripplekv {
namespace {

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  const std::vector<Refusal> cases = {
      // typing errors
      {{"run", "--promt", "x"}, {"unknown flag '--promt'", "did you mean --prompt?"}},
      {{"run", "--kv-budgt=10%"}, {"unknown flag '--kv-budgt'", "--kv-budget"}},
      {{"run", "-nlg", "3"}, {"did you mean -ngl?"}},
      {{"run", "--zzzzzzzz"}, {"unknown flag '--zzzzzzzz'", "--help"}},
      {{"run", "-z"}, {"unknown flag '-z'"}},
      {{"run", "-n128"}, {"-n '128'"}},
      {{"run", "-fx"}, {"unknown flag '-fx'"}},
      {{"run", "-pp", "x"}, {"unknown flag '-pp'"}},
      {{"run", std::string("--") + std::string(100000, 'a')}, {"unknown flag", "..."}},
      // llama.cpp's
      {{"run", "-fa"}, {"'-fa'", "flash attention is always on"}},
      {{"run", "-fa", "on"}, {"flash attention is always on"}},
      {{"run", "--flash-attn=on"}, {"flash attention is always on"}},
      {{"run", "--mlock"}, {"mapped"}},
      {{"run", "--no-mmap"}, {"--weights f32"}},
      {{"run", "-b", "512"}, {"--ubatch-size"}},
      {{"run", "--rope-scaling", "yarn"}, {"RoPE"}},
      {{"run", "-st"}, {"--interactive"}},
      {{"run", "-no-cnv"}, {"--raw"}},
      {{"run", "-mli"}, {"a line is a turn"}},
      {{"run", "--grammar", "x"}, {"--reverse-prompt"}},
      {{"run", "--keep", "4"}, {"--n-sink"}},
      {{"run", "-hf", "a/b"}, {"--model"}},
      // another command's
      {{"run", "--tokens", "5"}, {"`ripplekv allocate`"}},
      {{"inspect", "--temp", "1"}, {"`ripplekv run`"}},
      {{"models", "-ngl", "1"}, {"`ripplekv profile` and ", " and `ripplekv run` and `ripplekv trace` and "}},
      // no value, or a flag in its place
      {{"run", "-m"}, {"--model: got no value, expected FILE"}},
      {{"run", "-m", "-p", "x"}, {"--model: got the flag -p", "--model=-p"}},
      {{"run", "--json=yes"}, {"--json: got the value 'yes', expected none"}},
      // arguments
      {{"run", "hello"}, {"unexpected argument 'hello'", "-p"}},
      {{"run", "--"}, {"unexpected argument '--'"}},
      {{"run", "-"}, {"unexpected argument '-'"}},
      {{"run", ""}, {"unexpected argument ''"}},
      {{"inspect", "m.gguf"}, {"unexpected argument 'm.gguf', expected a flag"}},
      {{"score", "a.json", "b.json"}, {"unexpected argument 'b.json'"}},
      {{"score", "--input", "a.json", "b.json"}, {"unexpected argument 'b.json'"}},
      {{"score", "-"}, {"unexpected argument '-'"}},
      {{"score", ""}, {"unexpected argument ''"}},
      // commands
      {{"rnu"},
       {"ripplekv: unknown command 'rnu'",
        "inspect, profile, validate, allocate, tune, run, trace, eval, report, score, bench, export, models, help",
        "mean run?"}},
      {{"Run"}, {"mean run?"}},
      {{"xyzzy"}, {"expected inspect"}},
      {{""}, {"unknown command ''"}},
      {{"-m", "x.gguf", "-p", "hi"}, {"got '-m' first, expected a command: inspect"}},
      {{"--help-me"}, {"expected a command"}},
      {{"help", "rnu"}, {"ripplekv help: unknown command 'rnu'", "mean run?"}},
      {{"help", "run", "trace"}, {"'trace'", "expected one command"}},
  };
  check_refusals(cases);
}

std::string text_of(const Words& args) {
  const Result<CommandLine> line = parse(args);
  EXPECT_TRUE(line.ok()) << joined(args);
  if (!line.ok()) return "";
  EXPECT_EQ(line->invocation, nullptr);
  return line->text;
}

TEST(Help, IsFoundWhereverItIsAskedFor) {
  EXPECT_EQ(text_of({"--version"}), "ripplekv 1.2.3\n");
  const std::string overview = text_of({});
  for (const Command& command : kCommands) {
    const std::string name(command.name);
    EXPECT_NE(overview.find("\n  " + name + " "), std::string::npos);
    EXPECT_NE(overview.find(command.summary), std::string::npos);
    const std::string help = text_of({"help", name});
    EXPECT_NE(help.find("usage: ripplekv " + name), std::string::npos);
    EXPECT_EQ(text_of({name, "--help"}), help);
    EXPECT_EQ(text_of({name, "-h"}), help);
  }
  for (const Words& args :
       {Words{"--help"}, Words{"-h"}, Words{"help"}, Words{"help", "help"}, Words{"help", "--help"}}) {
    EXPECT_EQ(text_of(args), overview);
  }
  EXPECT_NE(text_of({"run", "-p", "x", "-h", "--nonsense"}).find("usage"), std::string::npos);
  EXPECT_EQ(parsed<RunArgs>({"--prompt=--help"}).prompt.prompt, "--help");
}

TEST(Help, NamesEveryFlagExactlyOnceWithItsDefault) {
  for (const Command& command : kCommands) {
    SCOPED_TRACE(command.name);
    std::multiset<std::string> shown;
    std::istringstream help(text_of({"help", std::string(command.name)}));
    for (std::string line; std::getline(help, line);) {
      EXPECT_LE(line.size(), 110U) << line;
      if (!line.starts_with("  -")) continue;
      std::istringstream words(line);
      for (std::string word; words >> word && word.starts_with('-');) {
        if (word.back() == ',') word.pop_back();
        shown.insert(word);
      }
    }
    const std::vector<std::string> names = command.make()->options().names();
    EXPECT_EQ(shown, std::multiset<std::string>(names.begin(), names.end()));
  }
  const std::string run = std::regex_replace(text_of({"help", "run"}), std::regex("\\s+"), " ");
  for (const char* shown :
       {"[default: 0.95]", "[default: 512]", "[default: 40]", "[default: -1]", "[default: linear]", "[default: avg]",
        "[default: snapkv]", "[default: the full cache]", "full, streaming_llm, snapkv, h2o, tova, knorm"}) {
    EXPECT_NE(run.find(shown), std::string::npos) << shown;
  }
  EXPECT_NE(text_of({"help", "trace"}).find("[required]"), std::string::npos);
}

TEST(Help, MarkdownHoldsEveryFlagOfEveryCommand) {
  const std::string markdown = text_of({"help", "--markdown"});
  size_t begin = 0;
  for (const Command& command : kCommands) {
    SCOPED_TRACE(command.name);
    begin = markdown.find("## `ripplekv " + std::string(command.name) + "`", begin);
    ASSERT_NE(begin, std::string::npos);
    const std::string section = markdown.substr(begin, markdown.find("\n## ", begin) - begin);
    for (const std::string& name : command.make()->options().names()) {
      const std::string cell = "`" + name + "`";
      const size_t at = section.find(cell);
      ASSERT_NE(at, std::string::npos) << name;
      EXPECT_EQ(section.find(cell, at + 1), std::string::npos) << name << " twice";
    }
  }
  // Each row has three cells: the | of choices is escaped.
  std::istringstream lines(std::regex_replace(markdown, std::regex("\\\\\\|"), ""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('|')) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 4) << line;
    }
  }
}

// Whatever is typed: a run, a text, or an error that begins with the program's name and is short.
TEST(CommandLine, SurvivesRandomArguments) {
  std::mt19937 random(7);
  Words pool = {"",      "-",     "--",    "=",      "--=",       "-=",   "---",    "x",    "0",     "-1",   "nan",
                "1e99",  "10%",   "8k",    "f32",    "snapkv",    "\xFF", "\n",     "--\n", "--r=4", "-vv",  "-hh",
                "-vh",   "--v",   "-m=",   "--json", "--no-mmap", "-fa",  "a=b",    "{}",   "[,]",   "help", "run",
                "5%,6%", "-\xFF", "--r==", "file",   "ripple",    "--",   "-ngl=1", "-n-1", "-1-"};
  for (const Command& command : kCommands) {
    pool.emplace_back(command.name);
    for (const std::string& name : command.make()->options().names()) {
      pool.push_back(name);
      pool.push_back(name.substr(0, name.size() - 1));
      pool.push_back(name + "=");
    }
  }
  int n_run = 0;
  for (int i = 0; i < 2000; ++i) {
    Words args;
    if (random() % 8 != 0) args.emplace_back(kCommands[random() % kCommands.size()].name);
    for (size_t n = random() % 5; n > 0; --n) args.push_back(pool[random() % pool.size()]);
    const Result<CommandLine> line = parse(args);
    if (line.ok()) {
      EXPECT_NE(line->invocation == nullptr, line->text.empty()) << joined(args);
      n_run += line->invocation != nullptr;
    } else {
      EXPECT_TRUE(line.status().message().starts_with("ripplekv")) << joined(args);
      EXPECT_LT(line.status().message().size(), 600U) << joined(args);
    }
  }
  EXPECT_GT(n_run, 100);
}

// Flags are independent of each other and of their order: any shuffle of any subset sets exactly its own members.
TEST(CommandLine, OrderOfFlagsDoesNotMatter) {
  std::mt19937 random(11);
  const std::vector<std::pair<Words, std::function<std::string(const RunArgs&)>>> flags = {
      {{"-n", "5"}, [](const RunArgs& a) { return std::to_string(a.sampling.n_predict); }},
      {{"--temp", "0.25"}, [](const RunArgs& a) { return std::to_string(a.sampling.temperature); }},
      {{"-ngl", "3"}, [](const RunArgs& a) { return std::to_string(a.model.n_gpu_layers); }},
      {{"-ctk", "q4_0"}, [](const RunArgs& a) { return std::string(to_string(a.kv.type.format().k)); }},
      {{"-ub", "32"}, [](const RunArgs& a) { return std::to_string(a.model.n_ubatch); }},
      {{"--window", "9"}, [](const RunArgs& a) { return std::to_string(a.kv.allocator.pyramid.window); }},
      {{"--raw"}, [](const RunArgs& a) { return std::to_string(a.prompt.raw); }},
      {{"-v"}, [](const RunArgs& a) { return std::to_string(a.output.verbosity); }},
  };
  const RunArgs none = parsed<RunArgs>({});
  for (int i = 0; i < 100; ++i) {
    std::vector<size_t> order(flags.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random);
    order.resize(random() % (flags.size() + 1));
    Words args = {"--kv-budget", "10%"};
    for (const size_t k : order) args = args + flags[k].first;
    const RunArgs some = parsed<RunArgs>(args);
    for (size_t k = 0; k < flags.size(); ++k) {
      const bool given = std::find(order.begin(), order.end(), k) != order.end();
      const std::string value = flags[k].second(some);
      EXPECT_EQ(value != flags[k].second(none), given) << joined(args) << flags[k].first[0] << " is " << value;
    }
  }
}

}  // namespace
}  // namespace ripplekv
