// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv score: the metrics of the suites on a list of predictions and answers, beside the scores that the list has.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/standard_output.h"
#include "eval/metrics.h"
#include "eval/suite.h"

namespace ripplekv {
namespace {

struct Sums {
  int64_t n_pair = 0;
  double score = 0;
  int64_t n_compared = 0;
  double difference_max = 0;
};

Result<double> score_pair(const JsonObject& pair) {
  RKV_ASSIGN_OR_RETURN(const std::string name, pair.text("metric"));
  RKV_ASSIGN_OR_RETURN(const std::string prediction, pair.text("prediction"));
  std::vector<std::string> classes;
  if (pair.has("all_classes")) {
    RKV_ASSIGN_OR_RETURN(classes, pair.texts("all_classes"));
  }
  const Result<const MetricInfo*> metric = find_metric(name);
  if (!metric.ok()) return pair.error("metric", metric.status().message());
  // All that a suite accepts, scored as it publishes.
  if (pair.has("answers") || pair.has("suite") || pair.has("task")) {
    EvalSample sample;
    RKV_ASSIGN_OR_RETURN(sample.suite, pair.text("suite"));
    RKV_ASSIGN_OR_RETURN(sample.task, pair.text("task"));
    RKV_ASSIGN_OR_RETURN(sample.answers, pair.texts("answers"));
    sample.metric = name;
    sample.classes = classes;
    const Result<double> score = score_answer(sample, prediction);
    return score.ok() ? *score : Result<double>(pair.error("", score.status().message()));
  }
  RKV_ASSIGN_OR_RETURN(const std::string answer, pair.text("answer"));
  const Result<double> score = (*metric)->score({prediction, answer, classes});
  if (!score.ok()) return pair.error("", score.status().message());
  return *score;
}

}  // namespace

Status cmd_score(const ScoreArgs& args) {
  if (!args.output_file.empty()) RKV_RETURN_IF_ERROR(prepare_output(args.output_file));
  RKV_ASSIGN_OR_RETURN(const std::string text, read_file(args.input_file, kJsonSizeMax));
  RKV_ASSIGN_OR_RETURN(const nlohmann::json pairs, parse_json(text, args.input_file));
  if (!pairs.is_array() || pairs.empty()) {
    return data_loss(fmt::format("{}: got no list of pairs, expected one or more", args.input_file));
  }
  auto scored = nlohmann::ordered_json::parse(text);  // the same, keys in their order
  std::map<std::string, Sums> sums;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::string key = fmt::format("[{}]", i);
    if (!pairs[i].is_object()) {
      return data_loss(
          fmt::format("{}: key '{}': got {}, expected an object", args.input_file, key, pairs[i].type_name()));
    }
    const JsonObject pair(pairs[i], args.input_file, key);
    RKV_ASSIGN_OR_RETURN(const double score, score_pair(pair));
    Sums& sum = sums[pairs[i]["metric"].get<std::string>()];
    ++sum.n_pair;
    sum.score += score;
    if (pair.has("score")) {
      RKV_ASSIGN_OR_RETURN(const double other, pair.number("score"));
      ++sum.n_compared;
      sum.difference_max = std::max(sum.difference_max, std::abs(score - other));
    }
    scored[i]["score"] = score;
  }
  if (!args.output_file.empty()) RKV_RETURN_IF_ERROR(write_file_atomically(args.output_file, scored.dump(1) + "\n"));
  print("{:<20}{:>8}{:>10}{:>12}{:>22}\n", "metric", "pairs", "mean", "compared", "largest difference");
  for (const auto& [metric, sum] : sums) {
    print("{:<20}{:>8}{:>10.4f}{:>12}{:>22}\n", metric, sum.n_pair, sum.score / static_cast<double>(sum.n_pair),
          sum.n_compared, sum.n_compared > 0 ? fmt::format("{:.2g}", sum.difference_max) : "-");
  }
  return ok_status();
}

}  // namespace ripplekv
