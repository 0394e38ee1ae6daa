// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Small inputs of a report whose numbers can be checked by hand, with room for a hostile name.
#pragma once

#include <string>

#include "base/utf8.h"
#include "report/report.h"

namespace ripplekv::test {

inline const std::string kFingerprint = "xxh3:0123456789abcdef0123456789abcdef";

// Four layers, two samples, damage at 10% and 20%.
inline Profile small_profile(const std::string& name = "Tiny") {
  Profile profile;
  profile.model = {kFingerprint, name, "llama", 4};
  profile.settings.curve_fractions = {0.1, 0.2};
  profile.settings.n_repeat = 1;
  profile.settings.calibration = name;
  profile.n_sample_planned = 2;
  for (const double scale : {1.0, 3.0}) {
    ProfileSample sample;
    sample.id = name + std::to_string(scale);
    sample.content_hash = kFingerprint;
    sample.n_prompt = 200;
    sample.n_answer = 8;
    sample.sensitivity = {{0.01 * scale, 0.02 * scale, 0.08 * scale, 0.04 * scale}};
    sample.local_response = sample.sensitivity;
    sample.damage = {{0.1 * scale, 0.2, 0.3, 0.4}, {0.05, 0.1, 0.15, 0.2}};
    profile.samples.push_back(sample);
  }
  return profile;
}

inline NamedBudgets small_budgets(const std::string& name = "a.json") {
  Budgets budgets;
  budgets.model = {kFingerprint, name, "llama", 4};
  budgets.allocator = "ripple";
  budgets.budget = {KvBudget::Kind::kFraction, 0.25};
  budgets.weights = {{1, 1, 2, 4}, 0};
  budgets.kv_format.resize(4);
  return {name, budgets};
}

inline ResultLine result(const std::string& sample, const std::string& task, const std::string& policy, double kept,
                         double kl, double score = -1) {
  ResultLine line;
  line.sample = sample;
  line.task = task;
  line.policy = policy;
  line.kept = kept;
  line.n_prompt = 1000;
  line.rows = static_cast<int64_t>(4000 * kept);
  line.bytes = line.rows * 1024;
  line.kl = kl;
  line.kl_max = 2 * kl;
  line.top1 = 0.5;
  line.nll = 1;
  line.score = score;
  return line;
}

// LongBench: two tasks of a group and one of another; `b` has half of `a`'s KL; scored.
inline Evaluation small_evaluation(const std::string& a = "a", const std::string& b = "b") {
  Evaluation of;
  of.name = "results.jsonl";
  of.settings = {{"format", "ripplekv.eval"}, {"model", "Tiny"}, {"suite", "longbench"}, {"match", "rows"}};
  for (const double kept : {0.1, 0.2}) {
    int i = 0;
    for (const char* task : {"qasper", "narrativeqa", "lcc"}) {
      for (int k = 0; k < 2; ++k) {
        const std::string sample = std::string(task) + ":" + std::to_string(k);
        const double kl = (0.1 + 0.1 * ++i) * (0.1 / kept);
        of.lines.push_back(result(sample, task, a, kept, kl, 0.25));
        of.lines.push_back(result(sample, task, b, kept, kl / 2, task[0] == 'l' ? 0.5 : 0.75));
        of.lines.back().answer = "answer of " + b;
        if (kept == 0.1) of.lines.push_back(result(sample, task, "full", 1, 0, 0.8));
      }
    }
  }
  return of;
}

// The same in both modes; the agnostic half has a quarter of the KL, and `b` is the worse there, by as much.
inline Evaluation both_modes() {
  Evaluation of = small_evaluation();
  const std::vector<ResultLine> aware = of.lines;
  for (ResultLine line : aware) {
    line.question = QuestionMode::kAgnostic;
    line.kl *= line.policy == "b" ? 1 : 0.25;
    of.lines.push_back(line);
  }
  return of;
}

inline Evaluation small_needles(bool scored = true) {
  Evaluation of;
  of.name = "needle.jsonl";
  of.settings = {{"suite", "needle"}};
  for (const char* place : {"1024:0:0", "1024:0.5:0", "2048:0:0", "2048:0.5:0"}) {
    const std::string sample = std::string("needle:") + place;
    const bool found = std::string(place) != "2048:0.5:0";
    of.lines.push_back(result(sample, "needle", "snapkv", 0.1, found ? 0.01 : 2, scored ? (found ? 1 : 0) : -1));
  }
  return of;
}

inline Validation small_validation(const std::string& signal = "all rows") {
  return {"Tiny", 3, {{signal, 0.1, 0.5, 0.25, 0.75}, {signal, 0.2, kNoValue, kNoValue, kNoValue}}};
}

inline std::vector<BenchRow> small_bench(const std::string& policy = "snapkv") {
  const BenchRow decode = {.work = "decode",
                           .policy = policy,
                           .budget = "10%",
                           .peer = "llama.cpp",
                           .context = 8192,
                           .figure = 100,
                           .peer_figure = 50,
                           .ratio = 2};
  BenchRow prefill = decode;
  prefill.work = "prefill";
  prefill.figure = 90;
  prefill.peer_figure = 100;
  prefill.ratio = 0.9;
  return {decode, prefill, {.work = "decode", .policy = policy, .context = 1024}};
}

// Everything, with `name` wherever a file may have a text of its own.
inline ReportInputs all_inputs(const std::string& name = "Tiny") {
  ReportInputs inputs;
  inputs.profile = small_profile(valid_utf8(name) ? name : "x");  // reading a profile refuses other bytes
  inputs.budgets = {small_budgets(name), small_budgets("other.json")};
  inputs.evaluations = {small_evaluation(name + "1", name + "2"), small_needles()};
  inputs.evaluations[0].settings.emplace_back(name, name);
  inputs.evaluations[0].name = name;
  ResultLine failed = result(name, name, name + "1", 0.1, 0);
  failed.error = name;
  inputs.evaluations[0].lines.push_back(failed);
  inputs.validation = small_validation(name);
  inputs.bench = small_bench(name);
  inputs.bench[0].peer = inputs.bench[0].work = name;
  return inputs;
}

inline size_t count_of(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

}  // namespace ripplekv::test
