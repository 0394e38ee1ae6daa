// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The tables of the suites and what follows from them: reading, scoring, grouping. Metrics, groups and answer lengths
// are those of the papers and their programs (docs/eval.md); LongBench's answer lengths come from its own files.
#include "eval/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "eval/metrics.h"
#include "eval/readers.h"
#include "eval/task_files.h"

namespace ripplekv {
namespace {

constexpr std::array kLongBench = {
    TaskInfo{"narrativeqa", "single-document QA", "en", "qa_f1", 0, true},
    TaskInfo{"qasper", "single-document QA", "en", "qa_f1", 0, true},
    TaskInfo{"multifieldqa_en", "single-document QA", "en", "qa_f1", 0, true},
    TaskInfo{"multifieldqa_zh", "single-document QA", "zh", "qa_f1_zh", 0, true},
    TaskInfo{"hotpotqa", "multi-document QA", "en", "qa_f1", 0, true},
    TaskInfo{"2wikimqa", "multi-document QA", "en", "qa_f1", 0, true},
    TaskInfo{"musique", "multi-document QA", "en", "qa_f1", 0, true},
    TaskInfo{"dureader", "multi-document QA", "zh", "rouge_zh", 0, true},
    TaskInfo{"gov_report", "summarisation", "en", "rouge_l", 0, true},
    TaskInfo{"qmsum", "summarisation", "en", "rouge_l", 0, true},
    TaskInfo{"multi_news", "summarisation", "en", "rouge_l", 0, true},
    TaskInfo{"vcsum", "summarisation", "zh", "rouge_zh", 0, true},
    TaskInfo{"trec", "few-shot", "en", "classification", 0, false, true},
    TaskInfo{"triviaqa", "few-shot", "en", "qa_f1", 0, false, true},
    TaskInfo{"samsum", "few-shot", "en", "rouge_l", 0, false, true},
    TaskInfo{"lsht", "few-shot", "zh", "classification", 0, false, true},
    TaskInfo{"passage_count", "synthetic", "en", "count", 0, true},
    TaskInfo{"passage_retrieval_en", "synthetic", "en", "retrieval", 0, true},
    TaskInfo{"passage_retrieval_zh", "synthetic", "zh", "retrieval_zh", 0, true},
    TaskInfo{"lcc", "code", "code", "code_sim", 0, false},
    TaskInfo{"repobench-p", "code", "code", "code_sim", 0, false},
};

constexpr std::array kRuler = {
    TaskInfo{"niah_single_1", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_single_2", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_single_3", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_multikey_1", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_multikey_2", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_multikey_3", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_multivalue", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"niah_multiquery", "retrieval", "en", "string_match_all", 128},
    TaskInfo{"vt", "multi-hop tracing", "en", "string_match_all", 30},
    TaskInfo{"cwe", "aggregation", "en", "string_match_all", 120},
    TaskInfo{"fwe", "aggregation", "en", "string_match_all", 50},
    TaskInfo{"qa_1", "question answering", "en", "string_match_part", 32},
    TaskInfo{"qa_2", "question answering", "en", "string_match_part", 32},
};

// L-Eval's program lets every answer grow to 512 tokens; letters and short answers need fewer.
constexpr int kLongAnswer = 512;
constexpr int kShortAnswer = 128;
constexpr int kChoiceAnswer = 32;
constexpr std::array kLEval = {
    TaskInfo{"coursera", "closed-ended", "en", "choice", kChoiceAnswer, true},
    TaskInfo{"quality", "closed-ended", "en", "choice", kChoiceAnswer, true},
    TaskInfo{"tpo", "closed-ended", "en", "choice", kChoiceAnswer, true},
    TaskInfo{"topic_retrieval_longchat", "closed-ended", "en", "choice", kChoiceAnswer, true},
    TaskInfo{"financial_qa", "open-ended, F1", "en", "qa_f1", kShortAnswer, true},
    TaskInfo{"legal_contract_qa", "open-ended, F1", "en", "qa_f1", kShortAnswer, true},
    TaskInfo{"multidoc_qa", "open-ended, F1", "en", "qa_f1", kShortAnswer, true},
    TaskInfo{"narrative_qa", "open-ended, F1", "en", "qa_f1", kShortAnswer, true},
    TaskInfo{"natural_question", "open-ended, F1", "en", "qa_f1", kShortAnswer, true},
    TaskInfo{"scientific_qa", "open-ended, F1", "en", "qa_f1", kShortAnswer, true},
    TaskInfo{"gov_report_summ", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
    TaskInfo{"meeting_summ", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
    TaskInfo{"news_summ", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
    TaskInfo{"paper_assistant", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
    TaskInfo{"patent_summ", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
    TaskInfo{"review_summ", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
    TaskInfo{"tv_show_summ", "open-ended, ROUGE-L", "en", "rouge_l", kLongAnswer, true},
};

constexpr std::array kNeedle = {TaskInfo{"needle", "needle in a haystack", "en", "string_match_all", 32}};

constexpr std::array kSuites = {
    SuiteInfo{"longbench", "LongBench: 21 tasks in English, Chinese and code, from its files", kLongBench},
    SuiteInfo{"ruler", "RULER: 13 synthetic tasks, from its files or generated at any length", kRuler},
    SuiteInfo{"leval", "L-Eval: several questions about one long document, from its files", kLEval},
    SuiteInfo{"needle", "Needle in a haystack: one fact, by depth and length, generated", kNeedle},
};

struct Reader {
  std::string_view suite;
  Result<std::vector<EvalSample>> (*read)(const SuiteInfo&, const SuiteOptions&);
};
constexpr std::array<Reader, kSuites.size()> kReaders = {{
    {"longbench", read_longbench},
    {"ruler", read_ruler},
    {"leval", read_leval},
    {"needle", generate_needle},
}};

// The first line behind any line ends.
std::string_view first_line(std::string_view text) {
  const size_t begin = text.find_first_not_of('\n');
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  return text.substr(0, text.find('\n'));
}

Result<const TaskInfo*> find_task(const SuiteInfo& suite, const std::string& name) {
  RKV_ASSIGN_OR_RETURN(const std::vector<const TaskInfo*> tasks, select_tasks(suite, {name}));
  return tasks.front();
}

}  // namespace

std::span<const SuiteInfo> suite_registry() { return kSuites; }

Result<const SuiteInfo*> find_suite(std::string_view name) {
  std::vector<std::string_view> names;
  for (const SuiteInfo& suite : kSuites) {
    if (suite.name == name) return &suite;
    names.push_back(suite.name);
  }
  return invalid_argument(
      fmt::format("unknown suite: got {}, expected {}", ripplekv::quoted(name), fmt::join(names, ", ")));
}

Result<std::vector<EvalSample>> read_suite(std::string_view suite_name, const SuiteOptions& options) {
  RKV_ASSIGN_OR_RETURN(const SuiteInfo* suite, find_suite(suite_name));
  RKV_RETURN_IF_ERROR(select_tasks(*suite, options.tasks).status());
  if (options.n_samples < 0) {
    return invalid_argument(fmt::format("samples of each task: got {}, expected 0 or more", options.n_samples));
  }
  const auto reader =
      std::find_if(kReaders.begin(), kReaders.end(), [&](const Reader& r) { return r.suite == suite_name; });
  RKV_CHECK(reader != kReaders.end());
  RKV_ASSIGN_OR_RETURN(std::vector<EvalSample> samples, reader->read(*suite, options));
  // A metric that is not to be had is said now, not after hours of answers.
  std::set<std::string_view> metrics;
  for (const EvalSample& sample : samples) {
    if (!metrics.insert(sample.metric).second) continue;
    const Status usable = find_metric(sample.metric).status();
    if (!usable.ok()) return usable.with_context(fmt::format("{} task {}", suite_name, sample.task));
  }
  return samples;
}

Result<double> score_answer(const EvalSample& sample, std::string_view prediction) {
  RKV_ASSIGN_OR_RETURN(const SuiteInfo* suite, find_suite(sample.suite));
  RKV_ASSIGN_OR_RETURN(const TaskInfo* task, find_task(*suite, sample.task));
  RKV_ASSIGN_OR_RETURN(const MetricInfo* metric, find_metric(sample.metric));
  if (sample.metric != task->metric) {
    return invalid_argument(fmt::format("metric: got {}, expected {}, which {} scores {} by",
                                        ripplekv::quoted(sample.metric), task->metric, sample.suite, sample.task));
  }
  if (task->first_line) prediction = first_line(prediction);
  if (sample.answers.empty()) return invalid_argument("got no answer to score against, expected at least one");
  double best = 0;
  double sum = 0;
  for (const std::string& answer : sample.answers) {
    const Result<double> score = metric->score({prediction, answer, sample.classes});
    if (!score.ok()) {
      return score.status().with_context(fmt::format("{} {} {}", sample.suite, sample.task, sample.id));
    }
    best = std::max(best, *score);
    sum += *score;
  }
  return metric->mean_of_answers ? sum / static_cast<double>(sample.answers.size()) : best;
}

std::vector<GroupScore> group_scores(const SuiteInfo& suite, const std::map<std::string, double>& task_scores) {
  std::vector<GroupScore> groups;
  GroupScore average{"average"};
  for (const TaskInfo& task : suite.tasks) {
    const auto it = task_scores.find(std::string(task.name));
    if (it == task_scores.end()) continue;
    if (groups.empty() || groups.back().group != task.group) groups.push_back({task.group});
    groups.back().score += it->second;
    ++groups.back().n_task;
    average.score += it->second;
    ++average.n_task;
  }
  if (groups.empty()) return groups;
  double sum_of_groups = 0;
  for (GroupScore& group : groups) {
    group.score /= group.n_task;
    sum_of_groups += group.score;
  }
  const bool over_tasks = suite.name == "ruler";
  average.score = over_tasks ? average.score / average.n_task : sum_of_groups / static_cast<double>(groups.size());
  groups.push_back(average);
  return groups;
}

std::vector<int32_t> truncate_middle(std::span<const int32_t> ids, int64_t n_max) {
  RKV_CHECK(n_max >= 2);
  if (static_cast<int64_t>(ids.size()) <= n_max) return {ids.begin(), ids.end()};
  const auto half = static_cast<size_t>(n_max / 2);
  std::vector<int32_t> cut(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(half));
  cut.insert(cut.end(), ids.end() - static_cast<std::ptrdiff_t>(half), ids.end());
  return cut;
}

}  // namespace ripplekv
