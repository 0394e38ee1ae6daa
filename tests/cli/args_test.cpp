// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// argv -> Args: every flag under every name, defaults, bad values, flags that contradict each other. The flags under
// test are held against the tables, so a flag without a test row fails here.
#include "cli/args.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cli/parsing.h"

namespace ripplekv {
namespace {

template <class Args, class Get>
Cases<Args> selector_cases(Words beside, Get get) {
  return {
      {{"--selector"}, "random", beside, [get](const Args& a) { return get(a).name == "random"; }},
      {{"--window"}, "16", beside, [get](const Args& a) { return get(a).options.window == 16; }},
      {{"--kernel"}, "7", beside, [get](const Args& a) { return get(a).options.kernel == 7; }},
      {{"--pooling"}, "max", beside, [get](const Args& a) { return get(a).options.pooling == Pooling::kMax; }},
      {{"--group"}, "max", beside, [get](const Args& a) { return get(a).options.group == GroupReduce::kMax; }},
      {{"--value-norm"}, "", beside, [get](const Args& a) { return get(a).options.value_norm; }},
      {{"--head-floor"}, "0.2", beside, [get](const Args& a) { return get(a).options.head_floor == 0.2; }},
      {{"--n-sink"},
       "0",
       beside + Words{"--selector", "streaming_llm"},
       [get](const Args& a) { return get(a).options.n_sink == 0; }},
  };
}

template <class Args>
Cases<Args> choice_cases(Words beside = {}) {
  return {
      {{"--calibration"}, "texts", beside, [](const Args& a) { return a.choice.calibration == "texts"; }},
      {{"--limit"}, "3", beside, [](const Args& a) { return a.choice.n_sample == 3; }},
      {{"--max-tokens"}, "1k", beside, [](const Args& a) { return a.choice.max_tokens == 1024; }},
      {{"--answer-tokens"}, "9", beside, [](const Args& a) { return a.choice.n_answer == 9; }},
      {{"-s", "--seed"}, "7", beside, [](const Args& a) { return a.choice.seed == 7; }},
  };
}

template <class Args, class Get>
Cases<Args> allocator_cases(Words beside, Get get) {
  return {
      {{"--allocator"}, "pyramid", beside, [get](const Args& a) { return get(a).name == "pyramid"; }},
      {{"--profile"}, "p.json", beside, [get](const Args& a) { return get(a).profile_file == "p.json"; }},
      {{"--r"}, "8", beside, [get](const Args& a) { return get(a).ripple.r == 8; }},
      {{"--gamma"}, "2.5", beside, [get](const Args& a) { return get(a).ripple.gamma == 2.5; }},
      {{"--transform"}, "sqrt", beside, [get](const Args& a) { return get(a).ripple.transform == Transform::kSqrt; }},
      {{"--signal"}, "local", beside, [get](const Args& a) { return get(a).signal == Signal::kLocal; }},
      {{"--beta"}, "1.5", beside, [get](const Args& a) { return get(a).pyramid.beta == 1.5; }},
  };
}

template <class Args, class Get>
Cases<Args> kv_type_cases(Get get) {
  return {
      {{"-ctk", "--cache-type-k"}, "q8_0", {}, [get](const Args& a) { return get(a).k == KvType::kQ8_0 && !get(a).v; }},
      {{"-ctv", "--cache-type-v"}, "q4_0", {}, [get](const Args& a) { return get(a).v == KvType::kQ4_0 && !get(a).k; }},
      {{"--kv-type"},
       "f32",
       {},
       [get](const Args& a) {
         return get(a).format() == KvFormat{KvType::kF32, KvType::kF32};
       }},
  };
}

template <class Args>
Cases<Args> kv_cases() {
  const Words budget = {"--kv-budget", "10%"};
  const Cases<Args> own = {
      {{"--kv-budget"},
       "256MiB",
       {},
       [](const Args& a) {
         return a.kv.budget && a.kv.budget->kind == KvBudget::Kind::kBytes && a.kv.budget->value == 256.0 * 1024 * 1024;
       }},
      {{"--budget"}, "b.json", {}, [](const Args& a) { return a.kv.budget_file == "b.json"; }},
  };
  return all(own, allocator_cases<Args>(budget, [](const Args& a) { return a.kv.allocator; }),
             selector_cases<Args>(budget, [](const Args& a) { return a.kv.selector; }),
             kv_type_cases<Args>([](const Args& a) { return a.kv.type; }));
}

template <class Args>
FlagCase<Args> json_case() {
  return {{"--json"}, "", {}, [](const Args& a) { return a.output.json; }};
}

TEST(Args, RunTakesEveryFlag) {
  using A = RunArgs;
  const Cases<A> own = {
      {{"--decode-slack"}, "64", {"--kv-budget", "10%"}, [](const A& a) { return a.kv.decode_slack == 64; }},
      {{"-p", "--prompt"}, "a prompt", {}, [](const A& a) { return a.prompt.prompt == "a prompt"; }},
      {{"-f", "--file"}, "-", {}, [](const A& a) { return a.prompt.file == "-"; }},
      {{"-sys", "--system-prompt"}, "be brief", {}, [](const A& a) { return a.prompt.system_prompt == "be brief"; }},
      {{"--raw"}, "", {}, [](const A& a) { return a.prompt.raw; }},
      {{"-r", "--reverse-prompt", "--stop"}, "User:", {}, [](const A& a) { return a.prompt.stop == Words{"User:"}; }},
      {{"-n", "--predict", "--n-predict"}, "2k", {}, [](const A& a) { return a.sampling.n_predict == 2048; }},
      {{"-s", "--seed"}, "4294967295", {}, [](const A& a) { return a.sampling.seed == 4294967295U; }},
      {{"--temp", "--temperature"}, "0", {}, [](const A& a) { return a.sampling.temperature == 0; }},
      {{"--top-k"}, "0", {}, [](const A& a) { return a.sampling.top_k == 0; }},
      {{"--top-p"}, "1", {}, [](const A& a) { return a.sampling.top_p == 1; }},
      {{"--min-p"}, "1e-2", {}, [](const A& a) { return a.sampling.min_p == 0.01; }},
      {{"--repeat-penalty"}, "1.1", {}, [](const A& a) { return a.sampling.repeat_penalty == 1.1; }},
      {{"--repeat-last-n"}, "-1", {}, [](const A& a) { return a.sampling.repeat_last_n == -1; }},
      {{"--auto-profile"}, "", {"--kv-budget", "10%"}, [](const A& a) { return a.auto_profile; }},
      {{"--receipt"}, "", {}, [](const A& a) { return a.output.receipt; }},
      {{"-i", "--interactive", "-cnv", "--conversation"}, "", {}, [](const A& a) { return a.interactive; }},
      json_case<A>(),
      verbose_case<A>(),
  };
  check_flags<A>({}, all(own, model_cases<A>(), kv_cases<A>()));
}

TEST(Args, TraceTakesEveryFlag) {
  using A = TraceArgs;
  const Cases<A> own = {
      {{"--input"}, "in.json", {}, [](const A& a) { return a.input_file == "in.json"; }, true},
      {{"-o", "--output"}, "out.json", {}, [](const A& a) { return a.output_file == "out.json"; }},
      {{"--html"}, "o.html", {}, [](const A& a) { return a.html_file == "o.html"; }},
      verbose_case<A>(),
  };
  check_flags<A>({"--input", "x"}, all(own, model_cases<A>(), kv_cases<A>()));
}

TEST(Args, ProfileTakesEveryFlag) {
  using A = ProfileArgs;
  const Cases<A> own = {
      {{"--calibration"}, "dir/", {}, [](const A& a) { return a.calibration == "dir/"; }},
      {{"--limit"}, "3", {}, [](const A& a) { return a.n_sample == 3; }},
      {{"--max-tokens"}, "4k", {}, [](const A& a) { return a.settings.max_tokens == 4096; }},
      {{"--answer-tokens"}, "16", {}, [](const A& a) { return a.settings.n_answer == 16; }},
      {{"--eps"}, "0.25", {}, [](const A& a) { return a.settings.eps == 0.25; }},
      {{"--direction"}, "head", {}, [](const A& a) { return a.settings.direction == "head"; }},
      {{"--curve-types"},
       "f16,q8_0/q4_0",
       {},
       [](const A& a) {
         return a.settings.curve_formats == std::vector<KvFormat>{{}, {KvType::kQ8_0, KvType::kQ4_0}};
       }},
      {{"--rows"}, "all", {}, [](const A& a) { return a.settings.rows == "all"; }},
      {{"--repeats"}, "5", {}, [](const A& a) { return a.settings.n_repeat == 5; }},
      {{"-s", "--seed"}, "9223372036854775807", {}, [](const A& a) { return a.settings.seed == (1ULL << 63) - 1; }},
      {{"--curves"},
       "40%,5%,0.1",
       {},
       [](const A& a) {
         return a.settings.curve_fractions == std::vector<double>{0.05, 0.1, 0.4, 1};
       }},
      {{"--head-curves"},
       "40%,5%",
       {},
       [](const A& a) {
         return a.settings.head_fractions == std::vector{0.05, 0.4};
       }},
      {{"-o", "--output"}, "p.json", {}, [](const A& a) { return a.output_file == "p.json"; }},
      {{"--resume"}, "", {"--fresh"}, [](const A& a) { return !a.fresh; }, false, true},
      {{"--fresh"}, "", {}, [](const A& a) { return a.fresh; }},
      json_case<A>(),
      verbose_case<A>(),
  };
  check_flags<A>({}, all(own, model_cases<A>(), selector_cases<A>({}, [](const A& a) { return a.selector; }),
                         kv_type_cases<A>([](const A& a) { return a.type; })));
}

TEST(Args, ProfileSettingsAgreeWithTheSharedFlags) {
  const ProfileArgs args = parsed<ProfileArgs>(
      {"--weights", "f32", "--kv-type", "f32", "--selector", "streaming_llm", "--window", "64", "--n-sink", "2"});
  EXPECT_EQ(args.settings.weights, "f32");
  EXPECT_EQ(args.settings.kv_format, (KvFormat{KvType::kF32, KvType::kF32}));
  EXPECT_EQ(args.settings.selector, "streaming_llm");
  EXPECT_EQ(args.settings.selector_options.window, 64);
  EXPECT_EQ(args.settings.selector_options.n_sink, 2);
  ProfileSettings usual;
  usual.curve_fractions = {0.05, 0.1, 0.2, 0.4, 1};
  usual.curve_formats = ProfileArgs().settings.curve_formats;
  usual.head_fractions = {0.1};
  EXPECT_EQ(parsed<ProfileArgs>({}).settings, usual);
}

TEST(Args, AllocateTakesEveryFlag) {
  using A = AllocateArgs;
  const Cases<A> own = {
      {{"-c", "--ctx-size"}, "4k", {}, [](const A& a) { return a.model.n_ctx == 4096; }},
      {{"--kv-budget"},
       "8k",
       {},
       [](const A& a) { return a.budget->kind == KvBudget::Kind::kRowsPerLayer && a.budget->value == 8192; },
       true},
      {{"--target-kl"}, "0.05", {}, [](const A& a) { return a.target_kl == 0.05; }, true},
      {{"--target-top1"}, "95%", {}, [](const A& a) { return a.target_top1 == 0.95; }, true},
      {{"--audit"}, "", {}, [](const A& a) { return a.audit; }},
      {{"-o", "--output"}, "b.json", {}, [](const A& a) { return a.output_file == "b.json"; }},
      {{"--tokens"}, "4096", {}, [](const A& a) { return a.n_prompt == 4096; }},
      json_case<A>(),
      verbose_case<A>(),
  };
  Cases<A> loading = loading_cases<A>();
  for (FlagCase<A>& flag : loading) flag.beside = {"--audit"};
  check_flags<A>({"--kv-budget", "10%"}, all(own, loading, choice_cases<A>({"--audit"}),
                                             allocator_cases<A>({}, [](const A& a) { return a.allocator; }),
                                             selector_cases<A>({}, [](const A& a) { return a.selector; }),
                                             kv_type_cases<A>([](const A& a) { return a.type; })));
}

TEST(Args, TuneTakesEveryFlag) {
  using A = TuneArgs;
  const Cases<A> own = {
      {{"--kv-budget"}, "20%", {}, [](const A& a) { return a.budget.value == 0.2; }, true},
      {{"--profile"}, "p.json", {}, [](const A& a) { return a.profile_file == "p.json"; }},
      {{"-o", "--output"}, "b.json", {}, [](const A& a) { return a.output_file == "b.json"; }},
      json_case<A>(),
      verbose_case<A>(),
  };
  check_flags<A>({"--kv-budget", "10%"}, all(own, model_cases<A>(), choice_cases<A>(),
                                             selector_cases<A>({}, [](const A& a) { return a.selector; }),
                                             kv_type_cases<A>([](const A& a) { return a.type; })));
}

TEST(Args, ValidateTakesEveryFlag) {
  using A = ValidateArgs;
  const Cases<A> own = {
      {{"--data"}, "texts", {"--json", "o"}, [](const A& a) { return a.data == "texts"; }, true},
      {{"-o", "--output", "--json"},
       "v.json",
       {"--data", "d"},
       [](const A& a) { return a.output_file == "v.json"; },
       true},
      {{"--limit"}, "3", {}, [](const A& a) { return a.n_sample == 3; }},
      {{"--max-tokens"}, "1k", {}, [](const A& a) { return a.settings.max_tokens == 1024; }},
      {{"--answer-tokens"}, "9", {}, [](const A& a) { return a.settings.n_answer == 9; }},
      {{"--eps"}, "0.5", {}, [](const A& a) { return a.settings.eps == 0.5; }},
      {{"--repeats"}, "5", {}, [](const A& a) { return a.settings.n_repeat == 5; }},
      {{"-s", "--seed"}, "7", {}, [](const A& a) { return a.settings.seed == 7; }},
      {{"--kept"},
       "30%,5%",
       {},
       [](const A& a) {
         return a.settings.curve_fractions == std::vector<double>{0.05, 0.3};
       }},
      {{"--profile"}, "p.json", {}, [](const A& a) { return a.profile_file == "p.json"; }},
      {{"--fresh"}, "", {}, [](const A& a) { return a.fresh; }},
      verbose_case<A>(),
  };
  check_flags<A>({"--data", "d", "--json", "o"},
                 all(own, model_cases<A>(), selector_cases<A>({}, [](const A& a) { return a.selector; }),
                     kv_type_cases<A>([](const A& a) { return a.type; })));
}

TEST(Args, EvalTakesEveryFlagAndABareSuite) {
  using A = EvalArgs;
  const Words rest = {"--policies", "snapkv,h2o", "-o", "o"};
  const Cases<A> own = {
      {{"--suite"}, "ruler", rest, [](const A& a) { return a.suite == "ruler"; }, true},
      {{"--data"}, "d", {}, [](const A& a) { return a.data_dir == "d"; }},
      {{"--tasks"},
       "a,b",
       {},
       [](const A& a) {
         return a.tasks == std::vector<std::string>{"a", "b"};
       }},
      {{"--limit"}, "3", {}, [](const A& a) { return a.n_sample == 3; }},
      {{"--lengths"},
       "1k,2k",
       {},
       [](const A& a) {
         return a.lengths == std::vector<int64_t>{1024, 2048};
       }},
      {{"--depths"},
       "0%,50%",
       {},
       [](const A& a) {
         return a.depths == std::vector<double>{0, 0.5};
       }},
      {{"-s", "--seed"}, "7", {}, [](const A& a) { return a.seed == 7; }},
      {{"--max-tokens"}, "1k", {}, [](const A& a) { return a.max_tokens == 1024; }},
      {{"--policies"}, "full,knorm", {"leval", "-o", "o"}, [](const A& a) { return a.policies.size() == 2; }, true},
      {{"--budgets"}, "5%", {}, [](const A& a) { return a.kept == std::vector<double>{0.05}; }},
      {{"--question"}, "both", {}, [](const A& a) { return a.question == "both"; }},
      {{"--match"}, "bytes", {}, [](const A& a) { return a.match_bytes; }},
      {{"--profile"}, "p.json", {}, [](const A& a) { return a.profile_file == "p.json"; }},
      {{"-ctk", "--cache-type-k"}, "f32", {}, [](const A& a) { return a.type.k == KvType::kF32; }},
      {{"-ctv", "--cache-type-v"}, "f32", {}, [](const A& a) { return a.type.v == KvType::kF32; }},
      {{"--kv-type"}, "f32", {}, [](const A& a) { return a.type.v == KvType::kF32; }},
      {{"--answer-tokens"}, "9", {}, [](const A& a) { return a.n_answer == 9; }},
      {{"--generate"}, "", {}, [](const A& a) { return a.generate; }},
      {{"-np", "--parallel"}, "4", {"--generate"}, [](const A& a) { return a.n_parallel == 4; }},
      {{"-o", "--output"},
       "r.jsonl",
       {"leval", "--policies", "snapkv"},
       [](const A& a) { return a.output_file == "r.jsonl"; },
       true},
      {{"--prompts"}, "p.jsonl", {}, [](const A& a) { return a.prompts_file == "p.jsonl"; }},
      {{"--baseline"}, "h2o", {}, [](const A& a) { return a.baseline == "h2o"; }},
      {{"--fresh"}, "", {}, [](const A& a) { return a.fresh; }},
      json_case<A>(),
      verbose_case<A>(),
  };
  check_flags<A>(Words{"--suite", "leval"} + rest, all(own, model_cases<A>()));
  EXPECT_EQ(parsed<A>(Words{"needle"} + rest).suite, "needle");
}

TEST(Args, ExportTakesEveryFlagAndABareFile) {
  using A = ExportArgs;
  check_flags<A>({"b.json"}, {{{"--budget"}, "x.json", {}, [](const A& a) { return a.budget_file == "x.json"; }, true},
                              {{"--tokens"}, "1k", {}, [](const A& a) { return a.n_prompt == 1024; }},
                              {{"--to"}, "csv", {}, [](const A& a) { return a.to == "csv"; }},
                              {{"-o", "--output"}, "o.json", {}, [](const A& a) { return a.output_file == "o.json"; }},
                              verbose_case<A>()});
}

TEST(Args, InspectAndModelsTakeEveryFlag) {
  check_flags<InspectArgs>({},
                           {{{"-m", "--model"}, "m.gguf", {}, [](const InspectArgs& a) { return a.model == "m.gguf"; }},
                            {{"-c", "--ctx-size"}, "4k", {}, [](const InspectArgs& a) { return a.n_ctx == 4096; }},
                            json_case<InspectArgs>(),
                            verbose_case<InspectArgs>()});
  check_flags<ModelsArgs>({}, {json_case<ModelsArgs>(), verbose_case<ModelsArgs>()});
}

TEST(Args, ScoreTakesEveryFlagAndABareFile) {
  using A = ScoreArgs;
  check_flags<A>({"--input", "x"},
                 {{{"--input"}, "in.json", {}, [](const A& a) { return a.input_file == "in.json"; }, true},
                  {{"-o", "--output"}, "out.json", {}, [](const A& a) { return a.output_file == "out.json"; }},
                  verbose_case<A>()});
  EXPECT_EQ(parsed<A>({"in.json", "-o", "out.json"}).input_file, "in.json");
  EXPECT_EQ(parsed<A>({"-o", "out.json", "in.json"}).input_file, "in.json");
}

TEST(Args, DefaultsAreLlamaCpps) {
  const RunArgs args = parsed<RunArgs>({});
  EXPECT_EQ(args.sampling.temperature, 0.8);
  EXPECT_EQ(args.sampling.top_k, 40);
  EXPECT_EQ(args.sampling.top_p, 0.95);
  EXPECT_EQ(args.sampling.min_p, 0.05);
  EXPECT_EQ(args.sampling.repeat_penalty, 1.0);
  EXPECT_EQ(args.sampling.repeat_last_n, 64);
  EXPECT_EQ(args.sampling.n_predict, -1);
  EXPECT_FALSE(args.sampling.seed);
  EXPECT_EQ(args.model.n_ubatch, 512);
  EXPECT_EQ(args.model.n_ctx, 0);
  EXPECT_EQ(args.model.n_threads, 0);
  EXPECT_EQ(args.kv.type.format(), KvFormat());
  EXPECT_FALSE(args.kv.budget);
  EXPECT_EQ(args.kv.allocator.name, "");
  EXPECT_FALSE(args.prompt.prompt);
  EXPECT_EQ(parsed<AllocateArgs>({"--kv-budget", "10%"}).allocator.name, "") << "chosen by the profile";
  EXPECT_EQ(parsed<AllocateArgs>({"--kv-budget", "10%", "--transform", "log"}).allocator.name, "ripple");
  EXPECT_EQ(parsed<AllocateArgs>({"--beta", "9", "--kv-budget", "10%"}).allocator.name, "pyramid");
}

TEST(Args, SpecialValues) {
  EXPECT_EQ(parsed<RunArgs>({"-ngl", "auto"}).model.n_gpu_layers, kGpuLayersAuto);
  EXPECT_EQ(parsed<RunArgs>({"-ngl", "all"}).model.n_gpu_layers, kGpuLayersAll);
  EXPECT_FALSE(parsed<RunArgs>({"-s", "7", "-s", "-1"}).sampling.seed);
  EXPECT_EQ(parsed<RunArgs>({"-n", "-1"}).sampling.n_predict, -1);
  EXPECT_EQ(parsed<RunArgs>({"-v", "-v"}).output.verbosity, 2);
  EXPECT_EQ(parsed<RunArgs>({"-vv"}).output.verbosity, 2);
  EXPECT_EQ(parsed<RunArgs>({"-n", "1", "-n", "2"}).sampling.n_predict, 2);
  // Stop strings add up, -r and --r are different flags.
  const RunArgs both = parsed<RunArgs>({"-r", "a", "--r", "6", "--stop=b", "--kv-budget", "5%"});
  EXPECT_EQ(both.prompt.stop, (Words{"a", "b"}));
  EXPECT_EQ(both.kv.allocator.ripple.r, 6);
  // One window: the pyramid's is the selector's, wherever the flags stand.
  EXPECT_EQ(
      parsed<RunArgs>({"--window", "48", "--kv-budget", "5%", "--allocator", "pyramid"}).kv.allocator.pyramid.window,
      48);
  // A budgets file leaves the types to the user, and `file` names what it is.
  const RunArgs file = parsed<RunArgs>({"--allocator", "file", "--budget", "b.json", "--kv-type", "q8_0"});
  EXPECT_EQ(file.kv.allocator.name, "file");
  EXPECT_EQ(file.kv.type.k, KvType::kQ8_0);
  EXPECT_EQ(parsed<RunArgs>({"--selector", "full"}).kv.selector.name, "full");
}

TEST(Args, TextReachesThePromptUntouched) {
  for (const std::string text : {"",      " ",          "[a,b]", "[INST] hi [/INST]",
                                 "{}",    "%%",         "{a}",   "[]",
                                 "-",     "--",         "-1",    "--x",
                                 "-xyz",  "a=b",        "=",     "/p",
                                 "++",    "\"quoted\"", "'",     "line\nbreak",
                                 "tab\t", "run",        "help",  "\xE2\x82\xAC",
                                 "a,b,c", "\\n",        "true"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(parsed<RunArgs>({"-p", text}).prompt.prompt, text);
    EXPECT_EQ(parsed<RunArgs>({"--prompt=" + text}).prompt.prompt, text);
    EXPECT_EQ(parsed<RunArgs>({"-p", text, "--json"}).output.json, true);
    EXPECT_EQ(parsed<RunArgs>({"--prompt=" + text, "--json"}).output.json, true);
    if (!text.empty()) {
      EXPECT_EQ(parsed<RunArgs>({"-r", text}).prompt.stop, Words{text});
    }
  }
  EXPECT_EQ(parsed<RunArgs>({"--prompt=--json"}).prompt.prompt, "--json");
  EXPECT_EQ(parsed<RunArgs>({"-p", std::string(1 << 20, 'x')}).prompt.prompt->size(), size_t{1} << 20);
}

TEST(Args, RefusesBadValues) {
  const std::vector<Refusal> cases = {
      {{"run", "--temp", "nan"}, {"ripplekv run: --temp: got 'nan'", "expected a finite number"}},
      {{"run", "--temp", "inf"}, {"'inf'"}},
      {{"run", "--temp", "0.8x"}, {"'0.8x'"}},
      {{"run", "--temp", ""}, {"''"}},
      {{"run", "--temp", " 1"}, {"' 1'"}},
      {{"run", "--temp", "1,5"}, {"'1,5'"}},
      {{"run", "--temp", "-0.1"}, {"'-0.1'", "of at least 0"}},
      {{"run", "--top-p", "1.01"}, {"'1.01'", "of at least 0 and at most 1"}},
      {{"run", "--min-p", "-0.1"}, {"at most 1"}},
      {{"run", "--repeat-penalty", "0"}, {"above 0"}},
      {{"run", "--repeat-last-n", "-2"}, {"of at least -1"}},
      {{"run", "--top-k", "-1"}, {"of at least 0"}},
      {{"run", "--top-k", "4.5"}, {"a whole number"}},
      {{"run", "--top-k", "2147483648"}, {"at most 2147483647"}},
      {{"run", "--top-k", "99999999999999999999"}, {"--top-k"}},
      {{"run", "-s", "4294967296"}, {"--seed", "at most 4294967295"}},
      {{"run", "-s", "-2"}, {"of at least -1"}},
      {{"run", "-n", "-2"}, {"--predict", "of at least -1"}},
      {{"run", "-n", "many"}, {"'many'"}},
      {{"run", "-n", "8kk"}, {"'8kk'"}},
      {{"run", "-c", "-1"}, {"--ctx-size"}},
      {{"run", "-c", "1.5"}, {"'1.5'"}},
      {{"run", "-c", "3g"}, {"at most 2147483647"}},
      {{"run", "-ub", "0"}, {"--ubatch-size", "of at least 1"}},
      {{"run", "-t", "-1"}, {"--threads"}},
      {{"run", "-ngl", "some"}, {"--n-gpu-layers", "auto or all"}},
      {{"run", "-ngl", "-1"}, {"auto or all"}},
      {{"run", "--weights", "nativ"}, {"did you mean native?"}},
      {{"run", "--weights", "f16"}, {"expected native, f32"}},
      {{"run", "--kv-type", "q8"}, {"--kv-type", "q8"}},
      {{"run", "--kv-type", "auto"}, {"--kv-type auto", "--kv-budget"}},
      {{"run", "--kv-type", "auto", "--budget", "b.json"}, {"--kv-type auto", "file fixes the types"}},
      {{"profile", "--kv-type", "auto"}, {"--kv-type", "auto"}},
      {{"tune", "--kv-budget", "10%", "--kv-type", "auto"}, {"--kv-type", "auto"}},
      {{"eval", "leval", "--policies", "snapkv+curves:kv-type=auto", "-o", "x"}, {"--match bytes"}},
      {{"run", "-ctk", "int4"}, {"--cache-type-k", "int4"}},
      {{"run", "-m", ""}, {"--model: got '', expected a path"}},
      {{"run", "-f", ""}, {"--file"}},
      {{"run", "-r", ""}, {"--reverse-prompt"}},
      {{"run", "-p", "ab\xFF"}, {"--prompt", "\\xff", "UTF-8", "at byte 2"}},
      {{"run", "-sys", "\xC3"}, {"--system-prompt", "UTF-8"}},
      {{"run", "-r", "\xC3"}, {"--reverse-prompt", "UTF-8"}},
      {{"run", "--kv-budget", "0"}, {"--kv-budget"}},
      {{"run", "--kv-budget", "101%"}, {"--kv-budget"}},
      {{"run", "--kv-budget", "nan%"}, {"--kv-budget"}},
      {{"run", "--kv-budget", ""}, {"--kv-budget"}},
      {{"run", "--kv-budget", "10%", "--r", "0.5"}, {"--r: got '0.5'", "of at least 1"}},
      {{"run", "--kv-budget", "10%", "--r", "nan"}, {"--r: got 'nan'"}},
      {{"run", "--kv-budget", "10%", "--gamma", "0"}, {"--gamma"}},
      {{"run", "--kv-budget", "10%", "--beta", "1"}, {"--beta", "above 1"}},
      {{"run", "--kv-budget", "10%", "--transform", "cube"}, {"--transform", "cube"}},
      {{"run", "--kv-budget", "10%", "--allocator", "ripples"}, {"--allocator", "did you mean ripple?"}},
      {{"run", "--kv-budget", "10%", "--selector", "snap_kv"}, {"--selector", "did you mean snapkv?"}},
      {{"run", "--kv-budget", "10%", "--kernel", "4"}, {"kernel", "odd"}},
      {{"run", "--kv-budget", "10%", "--window", "0"}, {"--window"}},
      {{"run", "--kv-budget", "10%", "--window", "1048577"}, {"--window", "1048576"}},
      {{"run", "--kv-budget", "10%", "--n-sink", "-1"}, {"--n-sink"}},
      {{"run", "--kv-budget", "10%", "--head-floor", "1.1"}, {"--head-floor: got '1.1'"}},
      {{"run", "--kv-budget", "10%", "--pooling", "min"}, {"--pooling", "avg, max"}},
      {{"run", "--kv-budget", "10%", "--group", "min"}, {"--group", "mean, max"}},
      {{"run", "--kv-budget", "10%", "--decode-slack", "0"}, {"--decode-slack", "of at least 1"}},
      {{"profile", "--eps", "0"}, {"ripplekv profile: --eps", "above 0"}},
      {{"profile", "--rows", "some"}, {"all, evictable"}},
      {{"profile", "--repeats", "0"}, {"--repeats"}},
      {{"profile", "--limit", "0"}, {"--limit"}},
      {{"profile", "--max-tokens", "0"}, {"--max-tokens"}},
      {{"profile", "--answer-tokens", "1"}, {"--answer-tokens"}},
      {{"profile", "--seed", "-1"}, {"--seed", "of at least 0"}},
      {{"profile", "--curves", "5%,,10%"}, {"--curves"}},
      {{"profile", "--curves", "5%,150%"}, {"--curves", "150%"}},
      {{"profile", "--curves", "5%,0.05"}, {"--curves", "twice"}},
      {{"profile", "--kernel", "2"}, {"odd"}},
      {{"profile", "--curves", "100%"}, {"--curves: got 100% alone"}},
      {{"profile", "--head-curves", "10%,100%"}, {"--head-curves: got 100%"}},
      {{"profile", "--head-curves", "0"}, {"--head-curves"}},
      {{"profile", "--curves", "none", "--curve-types", "q8_0"}, {"--curve-types", "--curves none"}},
      {{"profile", "--curves", "1", "--curve-types", "q8_0"}, {"--curves: got 100% alone"}},
      {{"profile", "--curves", "100%", "--curve-types", "f16"}, {"--curves: got 100% alone"}},
      {{"allocate", "--target-top1", "95%,50%"}, {"--target-top1: got '95%,50%', expected a fraction"}},
      {{"tune", "--kv-budget", "2MiB"}, {"--kv-budget: got '2MiB', expected a fraction"}},
      {{"tune", "--kv-budget", "512"}, {"--kv-budget: got '512', expected a fraction"}},
      {{"tune", "--kv-budget", "10%,20%"}, {"--kv-budget: got '10%,20%', expected a fraction"}},
      {{"allocate", "--kv-budget", "10%", "--tokens", "0"}, {"--tokens"}},
      {{"allocate", "--kv-budget", "10%", "--allocator", "file"}, {"--allocator", "uniform, pyramid, ripple"}},
  };
  check_refusals(cases);
}

TEST(Args, RefusesFlagsThatContradictOrDoNothing) {
  const std::vector<Refusal> cases = {
      {{"run", "-p", "a", "-f", "b"}, {"--file", "--prompt"}},
      {{"run", "--raw", "-sys", "x"}, {"--system-prompt", "--raw"}},
      {{"eval", "leval", "--policies", "snapkv", "-o", "x", "-np", "2"}, {"--parallel", "--generate"}},
      {{"run", "-i", "--json"}, {"--json", "--interactive"}},
      {{"run", "--raw", "-cnv"}, {"--raw", "--interactive"}},
      {{"run", "-i", "-f", "-"}, {"--file", "--interactive"}},
      {{"run", "--kv-type", "f32", "-ctk", "f16"}, {"--kv-type", "--cache-type-k"}},
      {{"run", "-ctv", "f16", "--kv-type", "f32"}, {"--kv-type", "--cache-type-v"}},
      {{"run", "--selector", "snapkv"}, {"--selector", "--kv-budget"}},
      {{"run", "--allocator", "ripple"}, {"--allocator", "--kv-budget"}},
      {{"run", "--profile", "p.json"}, {"--profile", "--kv-budget"}},
      {{"run", "--window", "8"}, {"--window", "--kv-budget"}},
      {{"run", "--decode-slack", "8"}, {"--decode-slack", "--kv-budget"}},
      {{"run", "--auto-profile"}, {"--auto-profile", "--kv-budget"}},
      {{"run", "--budget", "b.json", "--auto-profile"}, {"--auto-profile"}},
      {{"run", "--budget", "b.json", "--kv-budget", "10%"}, {"--kv-budget", "--budget"}},
      {{"run", "--budget", "b.json", "--selector", "full"}, {"--selector", "--budget"}},
      {{"run", "--budget", "b.json", "--allocator", "uniform"}, {"--allocator", "--budget"}},
      {{"run", "--budget", "b.json", "--r", "2"}, {"--r", "--budget"}},
      {{"run", "--allocator", "file", "--kv-budget", "10%"}, {"--allocator", "--budget FILE"}},
      {{"trace", "--input", "i", "--selector", "snapkv"}, {"ripplekv trace: --selector", "--kv-budget"}},
      {{"trace", "--kv-budget", "10%"}, {"--input", "required"}},
      {{"allocate"}, {"ripplekv allocate", "--kv-budget: it is required, or --target-kl"}},
      {{"allocate", "--kv-budget", "10%", "--target-kl", "0.1"}, {"--kv-budget: got a target as well"}},
      {{"allocate", "--kv-budget", "10%", "--allocator", "uniform", "--r", "8"},
       {"--r: got it beside --allocator uniform"}},
      {{"run", "--kv-budget", "10%", "--allocator", "ripple", "--beta", "8"},
       {"--beta: got it beside --allocator ripple"}},
      {{"trace", "--input", "x", "-o", "t", "--html", "t"}, {"--output", "which --html names"}},
      {{"allocate", "--kv-budget", "10%", "-t", "1"}, {"--threads: got it with nothing to measure", "--audit"}},
      {{"allocate", "--kv-budget", "10%", "--limit", "3"}, {"--limit: got it with nothing to measure", "--audit"}},
      {{"run", "--kv-budget", "10%", "--selector", "tova", "--kernel", "1"},
       {"--kernel: got it beside --selector tova, which reads no option"}},
      {{"profile", "--selector", "streaming_llm", "--group", "max"}, {"--group", "only --window, --n-sink"}},
      {{"tune", "--kv-budget", "10%", "--selector", "h2o", "--n-sink", "3"}, {"--n-sink", "only --head-floor"}},
      {{"run", "--kv-budget", "10%", "--selector", "tova", "--head-floor", "0.2"},
       {"--head-floor: got it beside --selector tova, which reads no option"}},
      {{"run", "--head-floor", "0.2"}, {"--head-floor", "--kv-budget"}},
      {{"tune"}, {"ripplekv tune", "--kv-budget", "required"}},
      {{"validate", "--json", "x"}, {"ripplekv validate", "--data", "required"}},
      {{"eval", "leval", "-o", "x"}, {"ripplekv eval", "--policies", "required"}},
      {{"eval", "nothing", "--policies", "snapkv", "-o", "x"}, {"got 'nothing', expected"}},
      {{"eval", "leval", "--policies", "snapkv,snapkv", "-o", "x"}, {"got 'snapkv' twice"}},
      {{"eval", "leval", "--policies", "snapkv:q=3", "-o", "x"}, {"'snapkv:q=3': option 'q' does not exist"}},
      {{"eval", "leval", "--policies", "snapkv:kernel=4", "-o", "x"}, {"'snapkv:kernel=4'", "kernel"}},
      {{"eval", "leval", "--policies", "full:kernel=5", "-o", "x"}, {"expected full without options"}},
      {{"eval", "leval", "--policies", "snapkv", "--baseline", "h2o", "-o", "x"}, {"expected one of --policies"}},
      {{"eval", "leval", "--policies", "snapkv", "--prompts", "x", "-o", "x"}, {"--output", "which --prompts names"}},
      {{"eval", "leval", "--policies", "snapkv", "--prompts", "./x", "-o", "x"}, {"--output", "which --prompts names"}},
      {{"eval", "leval", "-m", "m", "--policies", "snapkv", "-o", "m"}, {"--output", "which --model names"}},
      {{"bench", "-f", "ids.json", "--json", "./ids.json"}, {"--output", "which --file names"}},
      {{"trace", "--input", "p.txt", "--kv-budget", "30%", "-o", "q/../p.txt"}, {"--output", "which --input names"}},
      {{"trace", "--input", "p", "--kv-budget", "30%", "-o", "x", "--html", "./x"}, {"--output", "which --html names"}},
      {{"export", "b.json", "-o", "b.json"}, {"--output", "names, too"}},
      {{"profile", "--calibration", "d", "-o", "d/x.jsonl"}, {"--output", "--calibration would read as samples"}},
      {{"validate", "--data", ".", "--json", "x.txt"}, {"--output", "--data would read as samples"}},
      {{"eval", "leval", "--data", "d", "--policies", "snapkv", "--lengths", "1k", "-o", "x"},
       {"--lengths: got it beside --data"}},
      {{"eval", "leval", "--depths", "50%", "--policies", "snapkv", "--data", "d", "-o", "x"},
       {"--depths: got it beside --data"}},
      {{"eval", "leval", "-s", "1", "--data", "d", "--policies", "snapkv", "-o", "x"},
       {"--seed: got it beside --data"}},
      {{"eval", "leval", "--policies", "snapkv", "-ctk", "q8_0", "-o", "x"}, {"expected f16 or f32"}},
      {{"bench", "--peer", "vllm"}, {"ripplekv bench: --peer: got 'vllm', expected llama.cpp"}},
      {{"bench", "--contexts", "8x"}, {"--contexts: got '8x'"}},
      {{"bench", "--contexts", "0"}, {"--contexts: got '0', expected"}},
      {{"bench", "--contexts", "1k,1024"}, {"--contexts: got 1024 tokens twice"}},
      {{"bench", "--works", "decoding"}, {"--works: got 'decoding', expected prefill, decode, first_token, memory"}},
  };
  check_refusals(cases);
}

}  // namespace
}  // namespace ripplekv
