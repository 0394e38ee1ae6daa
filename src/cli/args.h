// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What each command is told: plain structs, grouped as the user sees them. Defaults are the member initialisers; each
// flag's name, help and limits stand in one registration (args.cpp), from which help, docs and errors are made.
// A struct that was parsed without error is valid by itself; what depends on the model or a file is the command's.
// Knows no engine: commands (commands.h) turn these into its options.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/allocation.h"
#include "ripplekv/kv_type.h"
#include "ripplekv/profile.h"
#include "ripplekv/selection.h"

namespace ripplekv {

class OptionTable;

constexpr int kGpuLayersAuto = -1;
constexpr int kGpuLayersAll = std::numeric_limits<int>::max();

struct ModelArgs {
  std::string path;                   // empty: the default model
  std::string weights = "native";     // native | f32 | bf16
  int n_gpu_layers = kGpuLayersAuto;  // or kGpuLayersAll, or a number
  int n_threads = 0;                  // 0: all physical cores
  int n_ubatch = 512;                 // tokens of one prefill chunk
  int64_t n_ctx = 0;                  // 0: the model's trained context
};

struct SelectorArgs {
  std::string name = "snapkv";
  SelectorOptions options;
  bool operator==(const SelectorArgs&) const = default;
};

struct AllocatorArgs {
  std::string name;          // empty: chosen by what profile there is; "file" only beside KvArgs::budget_file
  std::string profile_file;  // empty: looked up by the model's fingerprint
  RippleOptions ripple;
  Signal signal = Signal::kSensitivity;  // of ripple
  PyramidOptions pyramid;                // window: always the selector's
  bool operator==(const AllocatorArgs&) const = default;
};

struct KvTypeArgs {
  std::optional<KvType> k;  // not given: f16, or what the budgets file says
  std::optional<KvType> v;
  bool automatic = false;  // each layer's types are the allocator's choice
  KvFormat format() const { return {k.value_or(KvType::kF16), v.value_or(KvType::kF16)}; }
  bool operator==(const KvTypeArgs&) const = default;
};

// No budget and no budgets file: the full cache.
struct KvArgs {
  std::optional<KvBudget> budget;
  std::string budget_file;  // excludes `budget` and the flags of allocator and selector
  AllocatorArgs allocator;
  SelectorArgs selector;
  KvTypeArgs type;
  std::optional<int64_t> decode_slack;  // rows over its budget at which a layer is compressed again; not given: never
};

struct SamplingArgs {
  std::optional<uint32_t> seed;  // not given: random
  double temperature = 0.8;      // 0: greedy
  int top_k = 40;                // 0: off
  double top_p = 0.95;           // 1: off
  double min_p = 0.05;           // 0: off
  double repeat_penalty = 1.0;   // 1: off
  int repeat_last_n = 64;        // -1: the whole context
  int64_t n_predict = -1;        // -1: until the model ends or the context is full
};

struct PromptArgs {
  std::optional<std::string> prompt;  // neither prompt nor file: standard input
  std::string file;                   // "-": standard input
  std::string system_prompt;
  bool raw = false;               // no chat template
  std::vector<std::string> stop;  // none is empty
};

struct OutputArgs {
  bool json = false;
  bool receipt = false;
  int verbosity = 0;  // 1: information; 2: ggml's and llama's own messages too
};

struct InspectArgs {
  static constexpr std::string_view kName = "inspect";
  static constexpr std::string_view kSummary =
      "Show what a GGUF model is: shape, tensors, bytes of its cache per token";
  static constexpr std::string_view kExample = "-m model.gguf";
  std::string model;  // empty: the default model
  int64_t n_ctx = 0;  // 0: the model's trained context
  OutputArgs output;
};

// Which measurements are our choice, and are left out where they cannot be had, in place of an error.
struct ProfileFit {
  bool curves = false;   // fractions too small for the samples
  bool formats = false;  // those that the model's rows cannot have
  bool heads = false;    // of a model with one KV head, and likewise fractions too small
};

struct ProfileArgs {
  static constexpr std::string_view kName = "profile";
  static constexpr std::string_view kSummary =
      "Measure, once per model, how much each layer's cache matters to the model's output";
  static constexpr std::string_view kExample = "-m model.gguf -o profile.json";
  ProfileArgs() {
    settings.curve_fractions = {0.05, 0.1, 0.2, 0.4, 1};
    settings.head_fractions = {0.1};
    settings.curve_formats = {{}, {KvType::kQ8_0, KvType::kQ8_0}, {KvType::kQ8_0, KvType::kQ4_0}};
  }
  ModelArgs model;
  SelectorArgs selector;
  KvTypeArgs type;
  ProfileSettings settings;  // complete but for `calibration`: the other members that repeat
                             // one of ours agree with it
  std::string calibration;   // file or folder; empty: the built-in generator
  ProfileFit fit = {true, true, true};
  int n_sample = 8;
  std::string output_file;  // empty: the cache folder, under the model's fingerprint
  bool fresh = false;       // do not resume
  OutputArgs output;
};

struct ValidateArgs {
  static constexpr std::string_view kName = "validate";
  static constexpr std::string_view kSummary =
      "Check how well nudges foretell the damage of really compressing each layer alone";
  static constexpr std::string_view kExample = "-m model.gguf --data samples.jsonl --json validation.json";
  ValidateArgs() { settings.curve_fractions = {0.1, 0.2, 0.4}; }
  ModelArgs model;
  SelectorArgs selector;
  KvTypeArgs type;
  ProfileSettings settings;  // as in ProfileArgs; rows and direction are the command's
  std::string data;
  std::string profile_file;  // empty: none is compared
  int n_sample = 8;
  std::string output_file;
  bool fresh = false;
  OutputArgs output;
};

// Samples that a choice is made on: others than those profiled, and than those a result is reported on.
struct ChoiceArgs {
  std::string calibration;  // file or folder; empty: the built-in generator
  int n_sample = 8;
  uint64_t seed = 1000;  // of the generator; `profile` takes 0
  int64_t max_tokens = 2048;
  int n_answer = 32;
};

struct AllocateArgs {
  static constexpr std::string_view kName = "allocate";
  static constexpr std::string_view kSummary = "Turn a profile and a global budget into rows per layer";
  static constexpr std::string_view kExample = "--profile profile.json --kv-budget 10% -o budgets.json";
  ModelArgs model;                 // path empty: the profile's, or the default model
  std::optional<KvBudget> budget;  // or a target
  double target_kl = 0;            // nats; 0: not asked for
  double target_top1 = 0;          // fraction; 0: not asked for
  bool audit = false;
  ChoiceArgs choice;  // of a target or an audit
  AllocatorArgs allocator;
  SelectorArgs selector;
  KvTypeArgs type;
  int64_t n_prompt = 2048;  // rows are shown for a prompt of this length
  std::string output_file;  // empty: nothing is written
  OutputArgs output;
};

struct TuneArgs {
  static constexpr std::string_view kName = "tune";
  static constexpr std::string_view kSummary = "Choose an allocation for a budget by measuring on calibration samples";
  static constexpr std::string_view kExample = "-m model.gguf --kv-budget 10% -o budgets.json";
  ModelArgs model;
  KvBudget budget;           // a fraction
  std::string profile_file;  // empty: looked up by the model's fingerprint
  ChoiceArgs choice;
  SelectorArgs selector;
  KvTypeArgs type;
  std::string output_file;  // empty: nothing is written
  OutputArgs output;
};

struct RunArgs {
  static constexpr std::string_view kName = "run";
  static constexpr std::string_view kSummary = "Answer a prompt with a full or a compressed cache";
  static constexpr std::string_view kExample = "-m model.gguf --kv-budget 10% -f document.txt";
  ModelArgs model;
  KvArgs kv;
  bool auto_profile = false;  // profile first if there is none
  bool interactive = false;   // a conversation; the prompt, if there is one, is its first turn
  SamplingArgs sampling;
  PromptArgs prompt;
  OutputArgs output;
};

struct TraceArgs {
  static constexpr std::string_view kName = "trace";
  static constexpr std::string_view kSummary =
      "Show which rows each layer keeps, and what that does to the next tokens";
  static constexpr std::string_view kExample = "-m model.gguf --input in.json --kv-budget 10% -o out.json";
  ModelArgs model;
  KvArgs kv;
  std::string input_file;
  std::string output_file;  // empty: standard output
  std::string html_file;    // empty: no page
  OutputArgs output;
};

// A policy as it is written in a list: SELECTOR[+ALLOCATOR][:OPTION[=VALUE]]..., or full.
struct PolicyArgs {
  std::string text;
  bool full = false;
  AllocatorArgs allocator;
  SelectorArgs selector;
  KvTypeArgs type;
  bool operator==(const PolicyArgs&) const = default;
};
// Options are the flags of allocation, selection and format without their dashes: "snapkv+ripple:r=8:transform=sqrt".
// A lone selector has the uniform allocator. Errors: as those flags; an option given twice.
Result<PolicyArgs> parse_policy(std::string_view text);

struct EvalArgs {
  static constexpr std::string_view kName = "eval";
  static constexpr std::string_view kSummary =
      "Compare cache policies: every prompt is prefilled once and forked for each policy and budget";
  static constexpr std::string_view kExample =
      "leval --data DIR --policies snapkv,snapkv+ripple --budgets 10%,20% -o results.jsonl";
  ModelArgs model;
  std::string suite;
  std::string data_dir;
  std::vector<std::string> tasks;                        // empty: all
  int64_t n_sample = 0;                                  // of each task; 0: all, of generated ones 1
  std::vector<int64_t> lengths = {4096};                 // tokens of generated samples
  std::vector<double> depths = {0, 0.25, 0.5, 0.75, 1};  // of generated needles
  uint64_t seed = 1;                                     // of generated samples
  int64_t max_tokens = 0;                                // of a prompt; 0: what the context holds
  std::string question = "aware";                        // of compression: aware | agnostic | both
  std::vector<PolicyArgs> policies;
  std::vector<double> kept = {0.1, 0.2, 0.3};
  bool match_bytes = false;
  std::string profile_file;  // of the policies that name none
  KvTypeArgs type;           // of the full cache, and of policies that name none
  int n_answer = 32;
  bool generate = false;  // let every policy answer, and score it
  int n_parallel = 1;     // forks that answer at once
  std::string output_file;
  std::string prompts_file;  // empty: not written
  std::string baseline;      // policy that ratios are taken to; empty: the first compressed one
  bool fresh = false;
  OutputArgs output;
};

struct ReportArgs {
  static constexpr std::string_view kName = "report";
  static constexpr std::string_view kSummary = "Show profiles, budgets, evaluations and benchmarks in one HTML page";
  static constexpr std::string_view kExample = "--profile profile.json --results results.jsonl -o page.html";
  std::string profile_file;  // each of them may be left out, but not all
  std::vector<std::string> budgets_files;
  std::vector<std::string> results_files;
  std::string validation_file;
  std::string bench_file;
  std::string baseline;  // empty: the first policy that is not full
  int64_t n_prompt = 2048;
  std::string output_file;  // ends in .html; the tables go beside it as .csv and .md
  OutputArgs output;
};

struct BenchArgs {
  static constexpr std::string_view kName = "bench";
  static constexpr std::string_view kSummary =
      "Time prefill, decode and loading and weigh memory, of caches and of another program in the same run";
  static constexpr std::string_view kExample = "-m model.gguf --peer llama.cpp --contexts 1k,8k --json bench.json";
  ModelArgs model;
  std::string prompt_file;  // empty: tokens drawn from the seed
  uint64_t seed = 1;
  std::vector<std::string> works = {"prefill", "decode", "first_token", "memory"};
  std::vector<int64_t> contexts = {1024, 8192};
  std::vector<PolicyArgs> policies;  // empty: full and snapkv
  std::vector<double> kept = {0.1};
  std::vector<KvFormat> formats = {KvFormat{}};  // of policies that name none
  std::string profile_file;                      // of the policies that name none
  std::string peer;                              // empty: none
  int n_decode = 32;
  int n_repeat = 3;
  std::string output_file;  // empty: nothing is written
  OutputArgs output;
};

struct ExportArgs {
  static constexpr std::string_view kName = "export";
  static constexpr std::string_view kSummary = "Write a budgets file's rows in the words of other programs";
  static constexpr std::string_view kExample = "budgets.json --to kvpress --tokens 4k";
  std::string budget_file;
  std::string to = "json";
  int64_t n_prompt = 2048;
  std::string output_file;  // empty: standard output
  OutputArgs output;
};

struct ModelsArgs {
  static constexpr std::string_view kName = "models";
  static constexpr std::string_view kSummary = "List the models and profiles that are found without being named";
  static constexpr std::string_view kExample = "--json";
  OutputArgs output;
};

struct ScoreArgs {
  static constexpr std::string_view kName = "score";
  static constexpr std::string_view kSummary = "Score answers with the metrics of the benchmark suites";
  static constexpr std::string_view kExample = "pairs.json -o scores.json";
  std::string input_file;
  std::string output_file;  // empty: nothing is written
  OutputArgs output;
};

// Registers the command's options and rules on a table; `args` must outlive it.
void add_args(OptionTable& table, InspectArgs& args);
void add_args(OptionTable& table, ProfileArgs& args);
void add_args(OptionTable& table, ValidateArgs& args);
void add_args(OptionTable& table, AllocateArgs& args);
void add_args(OptionTable& table, TuneArgs& args);
void add_args(OptionTable& table, RunArgs& args);
void add_args(OptionTable& table, TraceArgs& args);
void add_args(OptionTable& table, EvalArgs& args);
void add_args(OptionTable& table, ReportArgs& args);
void add_args(OptionTable& table, BenchArgs& args);
void add_args(OptionTable& table, ExportArgs& args);
void add_args(OptionTable& table, ModelsArgs& args);
void add_args(OptionTable& table, ScoreArgs& args);

}  // namespace ripplekv
