// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// One function per family of tasks turns a number of units into a draft; the length decides how many units. Parameters
// (numbers of keys, values and queries, hops, frequencies) are those of RULER's 13 tasks.
#include "eval/ruler_generator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "eval/haystack.h"
#include "eval/readers.h"
#include "eval/task_files.h"

namespace ripplekv {
namespace {

constexpr int64_t kLengthMax = int64_t{1} << 22;
constexpr int64_t kUnitsMax = int64_t{1} << 24;  // more than any length has
constexpr int64_t kBytesPerToken = 8;            // of prose, and then some

// A source of drafts for one sample.
struct Maker {
  std::function<Draft(int64_t n_unit)> draft;
  int64_t n_unit_min = 0;
  int64_t n_unit_max = kUnitsMax;
};

enum class Hay { kNoise, kProse, kNeedles };
enum class Kind { kWord, kNumber, kUuid };

struct NiahForm {
  std::string_view task;
  Hay hay;
  Kind keys;
  Kind values;
  int n_key = 1;    // in prose, those not asked for distract
  int n_value = 1;  // of a key that is asked for
  int n_query = 1;
};
constexpr std::array kNiahForms = {
    NiahForm{"niah_single_1", Hay::kNoise, Kind::kWord, Kind::kNumber},
    NiahForm{"niah_single_2", Hay::kProse, Kind::kWord, Kind::kNumber},
    NiahForm{"niah_single_3", Hay::kProse, Kind::kWord, Kind::kUuid},
    NiahForm{"niah_multikey_1", Hay::kProse, Kind::kWord, Kind::kNumber, 4},
    NiahForm{"niah_multikey_2", Hay::kNeedles, Kind::kWord, Kind::kNumber},
    NiahForm{"niah_multikey_3", Hay::kNeedles, Kind::kUuid, Kind::kUuid},
    NiahForm{"niah_multivalue", Hay::kProse, Kind::kWord, Kind::kNumber, 1, 4},
    NiahForm{"niah_multiquery", Hay::kProse, Kind::kWord, Kind::kNumber, 4, 1, 4},
};

constexpr int kNeedleDigits = 7;
constexpr int kValueDigits = 5;

// More than the length has: a unit of noise has over 20 words.
int64_t noise_units(int64_t length) { return length / 16 + 8; }

std::string draw(Names& names, Kind kind) {
  if (kind == Kind::kWord) return names.word();
  return kind == Kind::kUuid ? names.uuid() : names.number(kNeedleDigits);
}

std::string_view noun_of(Kind kind) { return kind == Kind::kUuid ? "code" : "number"; }

std::string needle(std::string_view key, Kind values, std::string_view value) {
  return fmt::format("The secret {} of {} is {}.", noun_of(values), key, value);
}

std::string joined(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// A needle in a haystack: the form's, at random depths, or at `depth` where that is not negative.
Maker niah_maker(const NiahForm& form, uint64_t seed, int64_t length, double depth = -1) {
  Names names(seed);
  std::vector<std::string> keys;
  std::vector<std::string> sentences;
  std::vector<double> depths;
  Draft frame;
  for (int k = 0; k < form.n_key; ++k) {
    keys.push_back(draw(names, form.keys));
    for (int v = 0; v < form.n_value; ++v) {
      const std::string value = draw(names, form.values);
      sentences.push_back(needle(keys.back(), form.values, value));
      depths.push_back(depth < 0 ? names.random().uniform() : depth);
      if (k < form.n_query) frame.answers.push_back(value);
    }
  }
  keys.resize(static_cast<size_t>(form.n_query));
  const bool many = frame.answers.size() > 1;
  const std::string noun = fmt::format("{}{}", noun_of(form.values), many ? "s" : "");
  const std::string intro =
      fmt::format("Somewhere in the text below {}. Remember {}: you will be asked at the end.\n\n",
                  many ? fmt::format("some secret {} are given", noun) : fmt::format("a secret {} is given", noun),
                  many ? "them" : "it");
  frame.question = fmt::format(
      "\n\nQuestion: What {} the secret {} of {} in the text above?\nAnswer: The secret {} of "
      "{} in the text above {}",
      many ? "are" : "is", noun, joined(keys), noun, joined(keys), many ? "are" : "is");
  if (form.hay == Hay::kNeedles) {
    // Every line is a needle; the one that is asked for stands at its depth among the others.
    const uint64_t line_seed = names.random().next();
    return {[=](int64_t n_unit) {
      Names others(line_seed);
      std::vector<std::string> lines;
      for (int64_t i = 0; i < n_unit; ++i) {
        std::string key = draw(others, form.keys);
        if (key == keys.front()) key = draw(others, form.keys);
        lines.push_back(needle(key, form.values, draw(others, form.values)));
      }
      lines.insert(lines.begin() + std::llround(depths[0] * static_cast<double>(n_unit)), sentences[0]);
      Draft draft = frame;
      draft.document = fmt::format("{}{}", intro, fmt::join(lines, "\n"));
      return draft;
    }};
  }
  const Haystack haystack = form.hay == Hay::kProse ? prose_haystack(names.random().next(), length * kBytesPerToken)
                                                    : noise_haystack(noise_units(length));
  const auto draft_of = [=](int64_t n_unit) {
    Draft draft = frame;
    draft.document = intro + with_sentences(haystack, n_unit, sentences, depths);
    return draft;
  };
  return {draft_of, 1, haystack.n_unit()};
}

// ---- variable tracking ----

struct Chain {
  std::string value;
  std::vector<std::string> variables;
  std::vector<std::string> statements;
};

Chain make_chain(Names& names, int n_hop, int n_letter) {
  Chain chain;
  chain.value = names.number(kValueDigits);
  for (int i = 0; i <= n_hop; ++i) {
    chain.variables.push_back(names.letters('A', n_letter));
    chain.statements.push_back(i == 0 ? fmt::format("VAR {} = {}", chain.variables[0], chain.value)
                                      : fmt::format("VAR {} = VAR {}", chain.variables[static_cast<size_t>(i)],
                                                    chain.variables[static_cast<size_t>(i) - 1]));
  }
  return chain;
}

std::string vt_document(const Haystack& haystack, int64_t n_unit, const Chain& chain,
                        const std::vector<double>& depths) {
  return "Keep track of the variables that are set in the text below, directly or from one another.\n\n" +
         with_sentences(haystack, n_unit, chain.statements, depths);
}

std::string vt_question(const Chain& chain) {
  return fmt::format(
      "\nQuestion: Which variables hold the value {} at the end of the text above?\nAnswer: These {} "
      "variables hold the value {}:",
      chain.value, chain.variables.size(), chain.value);
}

std::vector<double> sorted_depths(Random& random, size_t n) {
  std::vector<double> depths(n);
  for (double& depth : depths) depth = random.uniform();
  std::sort(depths.begin(), depths.end());
  return depths;
}

Maker vt_maker(uint64_t seed, int64_t length) {
  constexpr int kHops = 4;
  constexpr int kLetters = 5;
  constexpr int kExampleLetters = 3;
  constexpr int64_t kExampleUnits = 5;
  Names names(seed);
  const Haystack haystack = noise_haystack(noise_units(length));
  const Chain example = make_chain(names, kHops, kExampleLetters);
  const std::vector<double> example_depths = sorted_depths(names.random(), example.statements.size());
  const std::string shown = fmt::format("{}{} {}\n\n", vt_document(haystack, kExampleUnits, example, example_depths),
                                        vt_question(example), fmt::join(example.variables, " "));
  const Chain chain = make_chain(names, kHops, kLetters);
  const std::vector<double> depths = sorted_depths(names.random(), chain.statements.size());
  const auto draft_of = [=](int64_t n_unit) {
    return Draft{shown + vt_document(haystack, n_unit, chain, depths), vt_question(chain), chain.variables};
  };
  return {draft_of, 1, haystack.n_unit()};
}

// ---- common words ----

constexpr int kCommonWords = 10;

struct Frequencies {
  int common, uncommon;
};

// A numbered list of shuffled words, and the common ones.
std::pair<std::string, std::vector<std::string>> word_list(Names& names, int64_t n_uncommon, Frequencies frequencies) {
  std::vector<std::string> words(static_cast<size_t>(kCommonWords + n_uncommon));
  for (std::string& word : words) word = names.short_word();
  names.shuffle(words);  // the short ones are drawn first
  const std::vector<std::string> common(words.begin(), words.begin() + kCommonWords);
  std::vector<std::string> list;
  for (size_t i = 0; i < words.size(); ++i) {
    list.insert(list.end(), static_cast<size_t>(i < kCommonWords ? frequencies.common : frequencies.uncommon),
                words[i]);
  }
  names.shuffle(list);
  std::string text = "In the numbered list below some words stand more often than others. Remember those.\n\n";
  for (size_t i = 0; i < list.size(); ++i) text += fmt::format("{}{}. {}", i == 0 ? "" : " ", i + 1, list[i]);
  return {text, common};
}

Maker cwe_maker(uint64_t seed, int64_t length) {
  // RULER's: fewer repetitions where 10 words of 30 would fill the text.
  constexpr int64_t kLong = 4096;
  const bool is_long = length >= kLong;
  const Frequencies frequencies = is_long ? Frequencies{30, 3} : Frequencies{6, 1};
  const Frequencies example_frequencies = is_long ? Frequencies{10, 3} : Frequencies{3, 1};
  const int n_example_uncommon = is_long ? 30 : 10;
  const std::string question = fmt::format(
      "\n\nQuestion: Which {} words stand most often in the list above?\nAnswer: The {} words that stand "
      "most often are:",
      kCommonWords, kCommonWords);
  return {[=](int64_t n_unit) {
    Names names(seed);
    const auto [example, example_common] = word_list(names, n_example_uncommon, example_frequencies);
    std::string shown = example + question;
    for (int i = 0; i < kCommonWords; ++i) {
      shown += fmt::format(" {}. {}", i + 1, example_common[static_cast<size_t>(i)]);
    }
    const auto [list, common] = word_list(names, n_unit, frequencies);
    return Draft{shown + "\n\n" + list, question, common};
  }};
}

// ---- frequent words ----

// Ranks follow a zeta distribution; the first rank is dots, the next three are asked for.
Maker fwe_maker(uint64_t seed, int64_t length) {
  constexpr double kAlpha = 2.0;
  constexpr double kZetaOfAlpha = 1.6449340668482264;  // pi^2 / 6
  constexpr int kLetters = 6;
  constexpr int kAskedFor = 3;
  constexpr int64_t kWordsMin = 53;  // from here on the last rank asked for is more frequent than the one after it
  Names names(seed);
  std::vector<std::string> words = {"..."};
  for (int64_t i = 0; i < std::max<int64_t>(length / 50, kAskedFor + 1); ++i)
    words.push_back(names.letters('a', kLetters));
  const uint64_t order_seed = names.random().next();
  const auto draft_of = [=](int64_t n_word) {
    std::vector<std::string> list;
    for (size_t rank = 1; rank <= words.size(); ++rank) {
      const auto n = static_cast<size_t>(static_cast<double>(n_word) * std::pow(rank, -kAlpha) / kZetaOfAlpha);
      list.insert(list.end(), n, words[rank - 1]);
    }
    Names(order_seed).shuffle(list);
    return Draft{fmt::format("The text below is in code. Count how often each word of it stands there.\n\n{}",
                             fmt::join(list, " ")),
                 "\n\nQuestion: Which three words stand most often in the text above? Dots are no words.\nAnswer: The "
                 "three words that stand most often are:",
                 {words.begin() + 1, words.begin() + 1 + kAskedFor}};
  };
  return {draft_of, kWordsMin};
}

Maker maker_of(std::string_view task, uint64_t seed, int64_t length) {
  for (const NiahForm& form : kNiahForms) {
    if (form.task == task) return niah_maker(form, seed, length);
  }
  if (task == "vt") return vt_maker(seed, length);
  if (task == "cwe") return cwe_maker(seed, length);
  RKV_CHECK(task == "fwe");
  return fwe_maker(seed, length);
}

Status check_options(const SuiteInfo& suite, const SuiteOptions& options) {
  if (options.lengths.empty()) {
    return invalid_argument(fmt::format("no lengths to generate {} at, expected at least one", suite.name));
  }
  for (const int64_t length : options.lengths) {
    if (length < 1 || length > kLengthMax) {
      return invalid_argument(fmt::format("length to generate: got {}, expected 1 to {}", length, kLengthMax));
    }
  }
  RKV_CHECK(options.count_tokens);
  return ok_status();
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0;
  for (const char c : text) hash = seed_from(hash, static_cast<unsigned char>(c));
  return hash;
}

Result<EvalSample> sample_of(const SuiteInfo& suite, const TaskInfo& task, const SuiteOptions& options, int64_t length,
                             const Maker& maker, std::string id) {
  EvalSample sample = sample_of_task(suite, task, std::move(id));
  Result<Draft> draft =
      fit_draft(maker.draft, maker.n_unit_min, maker.n_unit_max, length - task.n_answer_max, options.count_tokens);
  if (!draft.ok()) {
    return draft.status().with_context(
        fmt::format("{} {} at length {}, {} of it for the answer", suite.name, task.name, length, task.n_answer_max));
  }
  sample.document = std::move(draft->document);
  sample.question = std::move(draft->question);
  sample.answers = std::move(draft->answers);
  sample.length = length;
  return sample;
}

}  // namespace

Result<std::vector<EvalSample>> generate_ruler(const SuiteInfo& suite, const SuiteOptions& options) {
  RKV_RETURN_IF_ERROR(check_options(suite, options));
  RKV_ASSIGN_OR_RETURN(const std::vector<const TaskInfo*> tasks, select_tasks(suite, options.tasks));
  std::vector<EvalSample> samples;
  for (const TaskInfo* task : tasks) {
    if (task->metric == "string_match_part") {
      if (options.tasks.empty()) continue;
      return unsupported(fmt::format("{} {}: its questions are not generated, expected a folder with its file",
                                     suite.name, task->name));
    }
    for (const int64_t length : options.lengths) {
      for (int64_t i = 0; i < std::max<int64_t>(options.n_samples, 1); ++i) {
        const Maker maker = maker_of(task->name, seed_from(options.seed, hash_of(task->name), length, i), length);
        RKV_ASSIGN_OR_RETURN(EvalSample sample,
                             sample_of(suite, *task, options, length, maker, fmt::format("{}:{}", length, i)));
        samples.push_back(std::move(sample));
      }
    }
  }
  return samples;
}

Result<std::vector<EvalSample>> generate_needle(const SuiteInfo& suite, const SuiteOptions& options) {
  if (!options.data_dir.empty()) {
    return invalid_argument(fmt::format("{} is generated: got folder {}, expected none", suite.name, options.data_dir));
  }
  RKV_RETURN_IF_ERROR(check_options(suite, options));
  if (options.depths.empty()) return invalid_argument("no depths for the needle, expected at least one from 0 to 1");
  for (const double depth : options.depths) {
    if (!(depth >= 0 && depth <= 1)) {
      return invalid_argument(fmt::format("depth of the needle: got {}, expected 0 to 1", depth));
    }
  }
  constexpr NiahForm kForm = {"needle", Hay::kProse, Kind::kWord, Kind::kNumber};
  std::vector<EvalSample> samples;
  for (const int64_t length : options.lengths) {
    for (const double depth : options.depths) {
      for (int64_t i = 0; i < std::max<int64_t>(options.n_samples, 1); ++i) {
        // Without the depth: a row of the grid moves one needle through one text.
        const Maker maker = niah_maker(kForm, seed_from(options.seed, hash_of(suite.name), length, i), length, depth);
        RKV_ASSIGN_OR_RETURN(EvalSample sample, sample_of(suite, suite.tasks.front(), options, length, maker,
                                                          fmt::format("{}:{}:{}", length, depth, i)));
        sample.depth = depth;
        samples.push_back(std::move(sample));
      }
    }
  }
  return samples;
}

}  // namespace ripplekv
