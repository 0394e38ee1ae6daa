// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "eval/calibrated.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/statistics.h"

namespace ripplekv {

Result<std::vector<ResultLine>> measure_on(Engine& engine, const std::vector<ProfilerSample>& samples,
                                           const RunnerOptions& options,
                                           const std::function<void(int64_t, int64_t)>& on_progress) {
  constexpr int64_t kUnits = 1000;  // of one sample
  std::vector<ResultLine> lines;
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto begun = static_cast<int64_t>(i) * kUnits;
    const auto total = static_cast<int64_t>(samples.size()) * kUnits;
    const auto measured = run_prompt(engine, samples[i].ids, options, [&](int64_t done, int64_t of) {
      if (on_progress) on_progress(begun + done * (kUnits / 2) / of, total);
    });
    if (!measured.ok() && measured.status().code() == StatusCode::kCancelled) {
      return cancelled("interrupted; nothing was chosen");
    }
    if (!measured.ok()) return measured.status().with_context(fmt::format("sample '{}'", samples[i].id));
    for (const PolicyResult& result : measured->results) {
      if (!result.error.empty()) return invalid_argument(fmt::format("sample '{}': {}", samples[i].id, result.error));
      lines.push_back(result_line(samples[i].id, /*task=*/"", QuestionMode::kAware, *measured, result));
    }
    if (on_progress) on_progress(begun + kUnits, total);
  }
  return lines;
}

std::vector<EvalPolicy> candidates(const Policy& base, const Profile& profile) {
  std::vector<EvalPolicy> all;
  const auto add = [&](const std::string& name, const std::string& allocator) -> Policy& {
    EvalPolicy& policy = all.emplace_back(EvalPolicy{base.selector + "+" + name, base, &profile});
    policy.policy.allocator = allocator;
    return policy.policy;
  };
  add("uniform", "uniform");
  add("pyramid", "pyramid");
  for (const Transform transform : {Transform::kLinear, Transform::kSqrt, Transform::kLog, Transform::kRank}) {
    for (const double r : {2.0, 4.0, 8.0, 16.0}) {
      Policy& policy = add(fmt::format("ripple:r={0:g}:gamma={0:g}:transform={1}", r, to_string(transform)), "ripple");
      policy.ripple.r = r;
      policy.ripple.gamma = r;
      policy.ripple.transform = transform;
    }
  }
  if (!profile.settings.curve_fractions.empty()) add("curves", "curves");
  if (!profile.settings.head_fractions.empty()) add("head_curves", "head_curves");
  return all;
}

std::vector<double> target_ladder() {
  std::vector<double> ladder;
  // To whole hundredths of a percent, which is what people write and read.
  for (double kept = 0.02; kept < 0.97; kept *= 1.06) ladder.push_back(std::round(kept * 1e4) / 1e4);
  ladder.push_back(1);
  return ladder;
}

Result<double> smallest_kept(const std::vector<ResultLine>& lines, const Target& target) {
  std::map<double, std::vector<const ResultLine*>> by_kept;
  for (const ResultLine& line : lines) by_kept[line.kept].push_back(&line);
  double smallest = 0;
  double best_kl = 0;
  double best_top1 = 0;
  for (auto of = by_kept.rbegin(); of != by_kept.rend(); ++of) {  // from the largest down
    std::vector<double> kl;
    std::vector<double> top1;
    for (const ResultLine* line : of->second) {
      kl.push_back(line->kl);
      top1.push_back(line->top1);
    }
    if (of == by_kept.rbegin()) {
      best_kl = mean_of(kl);
      best_top1 = mean_of(top1);
    }
    if ((target.kl > 0 && mean_of(kl) > target.kl) || (target.top1 > 0 && mean_of(top1) < target.top1)) break;
    smallest = of->first;
  }
  if (smallest > 0) return smallest;
  return not_found(
      fmt::format("no budget holds the target: with all rows kept the KL is {:.4g} and the likeliest token "
                  "agrees in {:.1f}%; a finer kv format (-ctk, -ctv) may",
                  best_kl, 100 * best_top1));
}

}  // namespace ripplekv
