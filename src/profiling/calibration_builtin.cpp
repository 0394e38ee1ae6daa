// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The Writer that composes one document from the grammar and asks about it. Slots in the grammar's texts:
//   {a|b|}        one of the options          {#3-40}  a whole number         {lb} {rb}  the braces themselves
//   {name}        a variable or else an option of the rule <domain>.name, <genre>.name or name
//   {name=x}      the same, remembered as variable x until the end of the sentence (outside a sentence: of the block)
//   {S} {F} {R}   a sentence, a fact (noted in the ledger), a reference to an earlier fact
//   {T} {T,}      a line of talk, the second with a comma at its end
#include "profiling/calibration_builtin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "profiling/calibration_grammar.h"

namespace ripplekv {
namespace {

constexpr double kCharsPerToken = 4.2;
constexpr size_t kPartChars = 12000;     // a longer document gets annexes of other genres about the same cast
constexpr double kEdge = 0.35;           // part of the document at either end where the asked facts lie
constexpr size_t kBlocksPerHeading = 3;  // within a part
constexpr std::array<std::string_view, 8> kGenres = {"report", "minutes",   "story", "article",
                                                     "manual", "catalogue", "code",  "email"};
constexpr std::array<std::string_view, 5> kKinds = {"fact", "combine", "changed", "list", "summary"};

// SplitMix64 (Steele, Lea and Flood 2014). The standard's distributions differ between libraries, so below() is ours.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // In [0, n). The modulo's bias is below n / 2^64. REQUIRES: n > 0.
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }

  template <class T>
  void shuffle(T& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  uint64_t state_;
};

// ---- small repairs of English ----

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// "a old oak" -> "an old oak".
std::string with_articles(std::string text) {
  constexpr std::array<std::string_view, 5> kLikeConsonants = {"one", "uni", "use", "usu", "eu"};
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    const bool word_start = i == 0 || text[i - 1] == ' ' || text[i - 1] == '"' || text[i - 1] == '\n';
    if (!word_start || (text[i] != 'a' && text[i] != 'A') || text[i + 1] != ' ') continue;
    const std::string_view next = std::string_view(text).substr(i + 2);
    const bool vowel = std::string_view("aeiou").find(next[0]) != std::string_view::npos;
    const bool excepted = std::any_of(kLikeConsonants.begin(), kLikeConsonants.end(),
                                      [&](std::string_view prefix) { return next.starts_with(prefix); });
    if (vowel && !excepted) text.insert(i + 1, "n");
  }
  return text;
}

std::string as_sentence(std::string text) {
  text = with_articles(std::move(text));
  const size_t first = text[0] == '"' ? 1 : 0;
  if (is_lower(text[first])) text[first] = static_cast<char>(text[first] - 'a' + 'A');
  return text;
}

std::string enumerated(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

// ---- one document ----

struct Person {
  std::string first, last, title, role;
  bool woman = false;
  std::string full() const { return first + " " + last; }
};

using Variables = std::map<std::string, std::string, std::less<>>;

// A fact as it was told.
struct LedgerEntry {
  const FactSpec* spec = nullptr;
  Variables variables;  // of the block and the sentence: what its question, answer and recall are filled from
  std::string sentence, question, answer, recall;
  std::string update;  // the sentence that corrected it; empty if none did
};

class Writer {
 public:
  Writer(uint64_t seed, std::string_view genre) : random_(seed), genre_(genre) {}

  // Writes the document. Call once.
  std::string write(size_t chars_min);

  // The question and the answer of that kind, of a kind that the document supports if it has too little for this one.
  struct Task {
    std::string kind, question, answer;
  };
  Task task(std::string_view kind, std::string_view document, double depth);

 private:
  // Expansion.
  std::string expand(std::string_view text);
  std::string expand_slot(std::string_view body);
  std::string resolve(std::string_view name);
  std::string number(std::string_view range);
  std::string bystander();
  const std::string& pick(const std::string& rule);
  std::string sentence(const std::string& rule);
  std::string fact();
  std::string recall();
  std::optional<LedgerEntry> new_entry(const FactSpec& spec);

  // The world of the document.
  void make_world(size_t chars);
  std::vector<std::string> distinct(std::string_view rule, size_t n);
  void make_cast(size_t n);
  void set_person(const std::string& name, const Person& person);
  void focus();        // who and what the next block is about
  void advance_day();  // blocks follow each other in time

  std::optional<Task> fact_task(std::string_view document, double depth);
  std::optional<Task> combine_task();
  std::optional<Task> changed_task();
  Task list_task();
  Task summary_task();

  SplitMix random_;
  std::string genre_;
  std::string domain_;
  std::string title_;
  std::vector<Person> cast_;
  std::vector<std::string> items_, places_;
  std::vector<std::string> roster_, inventory_;  // as the opening names them
  std::chrono::sys_days day_;
  Variables document_, block_, sentence_;
  int sentence_depth_ = 0;
  std::map<std::string, std::vector<size_t>, std::less<>> decks_;  // options of a rule that have not been used yet
  std::vector<LedgerEntry> ledger_;
  std::set<std::string, std::less<>> questions_;  // asked once each, so that every question has one answer
};

// Every option comes once before any comes again.
const std::string& Writer::pick(const std::string& rule) {
  const std::vector<std::string>& options = calibration_grammar().rules.find(rule)->second;
  std::vector<size_t>& deck = decks_[rule];
  if (deck.empty()) {
    for (size_t i = 0; i < options.size(); ++i) deck.push_back(i);
    random_.shuffle(deck);
  }
  const size_t i = deck.back();
  deck.pop_back();
  return options[i];
}

std::string Writer::number(std::string_view range) {
  const size_t dash = range.find('-');
  RKV_CHECK(dash != std::string_view::npos);
  const int low = std::stoi(std::string(range.substr(0, dash)));
  const int high = std::stoi(std::string(range.substr(dash + 1)));
  RKV_CHECK(low <= high);
  return std::to_string(low + static_cast<int>(random_.below(static_cast<size_t>(high - low + 1))));
}

// Somebody the block is not about.
std::string Writer::bystander() {
  while (true) {
    const std::string name = cast_[random_.below(cast_.size())].full();
    if (name != block_["P"] && name != block_["Q"]) return name;
  }
}

std::string Writer::resolve(std::string_view name) {
  if (name == "S") return sentence(random_.below(4) == 0 ? "common.sentence" : genre_ + ".sentence");
  if (name == "T") return sentence("story.talk");
  if (name == "T,") {
    std::string talk = sentence("story.talk");
    if (talk.ends_with('.')) talk.back() = ',';
    return talk;
  }
  if (name == "F") return fact();
  if (name == "R") return recall();
  if (name == "lb") return "{";
  if (name == "rb") return "}";
  if (name == "P_any" || name == "Q_any") return bystander();
  if (name == "I_any") return items_[random_.below(items_.size())];
  if (name == "L_any") return places_[random_.below(places_.size())];
  for (const Variables* scope : {&sentence_, &block_, &document_}) {
    if (const auto it = scope->find(name); it != scope->end()) return it->second;
  }
  for (const std::string& rule :
       {domain_ + "." + std::string(name), genre_ + "." + std::string(name), std::string(name)}) {
    if (calibration_grammar().rules.contains(rule)) return expand(pick(rule));
  }
  std::fprintf(stderr, "ripplekv: calibration grammar has no rule '%s' (genre %s)\n", std::string(name).c_str(),
               genre_.c_str());
  std::abort();
}

std::string Writer::expand_slot(std::string_view body) {
  std::vector<std::string_view> options;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '{') ++depth;
    if (body[i] == '}') --depth;
    if (body[i] == '|' && depth == 0) {
      options.push_back(body.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (!options.empty()) {
    options.push_back(body.substr(begin));
    return expand(options[random_.below(options.size())]);
  }
  const size_t equals = body.find('=');
  const std::string_view name = body.substr(0, equals);
  std::string value = name.starts_with('#') ? number(name.substr(1)) : resolve(name);
  if (equals != std::string_view::npos) {
    (sentence_depth_ > 0 ? sentence_ : block_)[std::string(body.substr(equals + 1))] = value;
  }
  return value;
}

std::string Writer::expand(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') {
      out += text[i];
      continue;
    }
    const size_t begin = i + 1;
    for (int depth = 1; depth > 0;) {
      RKV_CHECK(++i < text.size());
      if (text[i] == '{') ++depth;
      if (text[i] == '}') --depth;
    }
    out += expand_slot(text.substr(begin, i - begin));
  }
  return out;
}

std::string Writer::sentence(const std::string& rule) {
  // A line of talk inside a sentence has variables of its own.
  Variables outer = std::exchange(sentence_, {});
  ++sentence_depth_;
  std::string text = as_sentence(expand(pick(rule)));
  --sentence_depth_;
  sentence_ = std::move(outer);
  return text;
}

std::optional<LedgerEntry> Writer::new_entry(const FactSpec& spec) {
  LedgerEntry entry;
  entry.spec = &spec;
  sentence_.clear();
  ++sentence_depth_;
  entry.sentence = as_sentence(expand(spec.sentence));
  entry.question = as_sentence(expand(spec.question));
  entry.answer = expand(spec.answer);
  entry.recall = with_articles(expand(spec.recall));
  --sentence_depth_;
  entry.variables = block_;
  for (const auto& [name, value] : std::exchange(sentence_, {})) entry.variables[name] = value;
  if (!questions_.insert(entry.question).second) return std::nullopt;
  return entry;
}

std::string Writer::fact() {
  // The same question may have been asked already; with every spec tried a plain sentence takes its place.
  constexpr int kTries = 6;
  for (int i = 0; i < kTries; ++i) {
    const std::vector<FactSpec>& specs =
        calibration_grammar().facts.find(random_.below(3) == 0 ? "common.fact" : genre_ + ".fact")->second;
    std::optional<LedgerEntry> entry = new_entry(specs[random_.below(specs.size())]);
    if (!entry) continue;
    ledger_.push_back(std::move(*entry));
    return ledger_.back().sentence;
  }
  return resolve("S");
}

std::string Writer::recall() {
  if (ledger_.empty()) return resolve("S");
  LedgerEntry& entry = ledger_[random_.below(ledger_.size())];
  if (!entry.update.empty()) return resolve("S");  // what it said is no longer true
  const bool corrects = !entry.spec->update.empty() && random_.below(2) == 0;
  if (!corrects) {
    document_["recall"] = entry.recall;
    return sentence("common.recall");
  }
  Variables block = std::exchange(block_, entry.variables);
  ++sentence_depth_;
  do {
    sentence_.clear();
    entry.update = as_sentence(expand(entry.spec->update));
  } while (sentence_["w"] == entry.variables["v"]);
  --sentence_depth_;
  entry.variables["w"] = std::exchange(sentence_, {})["w"];
  block_ = std::move(block);
  return entry.update;
}

std::vector<std::string> Writer::distinct(std::string_view rule, size_t n) {
  // A domain has only so many names: a large cast may come out a little smaller.
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (size_t tries = 0; names.size() < n && tries < 8 * n; ++tries) {
    std::string name = resolve(rule);
    if (seen.insert(name).second) names.push_back(std::move(name));
  }
  return names;
}

void Writer::make_cast(size_t n) {
  // Surnames are unique, because text and dialogue use them alone.
  for (std::string& last : distinct("last", n)) {
    Person person;
    person.woman = random_.below(2) == 0;
    person.first = resolve(person.woman ? "first_f" : "first_m");
    person.last = std::move(last);
    person.title = person.woman ? "Ms" : "Mr";
    person.role = resolve("role");
    cast_.push_back(std::move(person));
  }
}

void Writer::set_person(const std::string& name, const Person& person) {
  block_[name] = person.full();
  block_[name + ".f"] = person.first;
  block_[name + ".l"] = person.last;
  block_[name + ".s"] = person.title + " " + person.last;
  block_[name + ".role"] = person.role;
  block_[name + ".he"] = person.woman ? "she" : "he";
  block_[name + ".his"] = person.woman ? "her" : "his";
  block_[name + ".him"] = person.woman ? "her" : "him";
}

void Writer::make_world(size_t chars) {
  domain_ = resolve("domain");
  const auto fix = [&](const char* name, const char* rule) { document_[name] = resolve(rule); };
  fix("home", "town");
  fix("O", "org_name");
  fix("field", "field");
  fix("river_here", "river");
  fix("currency_here", "currency");
  fix("module", "module_name");
  const int year = 1952 + static_cast<int>(random_.below(72));
  document_["year"] = std::to_string(year);
  document_["last_year"] = std::to_string(year - 1);
  document_["next_year"] = std::to_string(year + 1);
  document_["section"] = "0";
  day_ = std::chrono::sys_days(std::chrono::year(year) / std::chrono::January / 4);
  make_cast(std::min<size_t>(6 + chars / 6000, 40));
  items_ = distinct("item_name", std::min<size_t>(5 + chars / 5000, 40));
  places_ = distinct("place_name", std::min<size_t>(5 + chars / 8000, 24));
  const size_t n_named = chars < 2000 ? 3 : 5;
  for (size_t i = 0; i < n_named; ++i) roster_.push_back(fmt::format("{} ({})", cast_[i].full(), cast_[i].role));
  inventory_.assign(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(n_named));
  document_["roster"] = enumerated(roster_);
  document_["inventory"] = enumerated(inventory_);
}

void Writer::advance_day() {
  day_ += std::chrono::days(1 + random_.below(9));
  const std::chrono::year_month_day date(day_);
  constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                        "May",       "June",     "July",     "August",
                                                        "September", "October",  "November", "December"};
  document_["date"] = fmt::format("{} {} {}", static_cast<unsigned>(date.day()),
                                  kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()));
}

void Writer::focus() {
  block_.clear();
  advance_day();
  const auto two_of = [&](size_t n) {
    const size_t first = random_.below(n);
    return std::pair(first, (first + 1 + random_.below(n - 1)) % n);
  };
  const auto [p, q] = two_of(cast_.size());
  set_person("P", cast_[p]);
  set_person("Q", cast_[q]);
  const auto [i, j] = two_of(items_.size());
  block_["I"] = items_[i];
  block_["J"] = items_[j];
  const auto [l, m] = two_of(places_.size());
  block_["L"] = places_[l];
  block_["M"] = places_[m];
}

std::string Writer::write(size_t chars_min) {
  make_world(chars_min);
  focus();
  title_ = as_sentence(expand(pick(genre_ + ".title")));
  std::string text = title_ + "\n\n" + as_sentence(expand(pick(genre_ + ".opening")));
  const auto first_genre = static_cast<size_t>(std::find(kGenres.begin(), kGenres.end(), genre_) - kGenres.begin());
  size_t part_begin = 0;
  size_t n_annex = 0;
  int section = 0;
  // At least two blocks, so that there is something to ask about in the shortest document.
  for (size_t n_block = 0; n_block < 2 || text.size() < chars_min; ++n_block) {
    focus();
    if (text.size() - part_begin > kPartChars) {
      part_begin = text.size();
      genre_ = kGenres[(first_genre + ++n_annex) % kGenres.size()];
      text += fmt::format("\n\nAnnex {}. {}", n_annex, as_sentence(expand(pick(genre_ + ".title"))));
    }
    if (n_block % kBlocksPerHeading == 0) {
      document_["section"] = std::to_string(++section);
      text += "\n\n" + as_sentence(expand(pick(genre_ + ".heading")));
    }
    std::string block = with_articles(expand(pick(genre_ + ".block")));
    while (block.ends_with('\n')) block.pop_back();
    text += "\n\n" + block;
  }
  return text;
}

// ---- questions ----

std::optional<Writer::Task> Writer::fact_task(std::string_view document, double depth) {
  const LedgerEntry* best = nullptr;
  double best_distance = std::numeric_limits<double>::max();
  for (const LedgerEntry& entry : ledger_) {
    if (!entry.update.empty()) continue;
    const size_t at = document.find(entry.sentence);
    RKV_CHECK(at != std::string_view::npos);
    const double end = static_cast<double>(at + entry.sentence.size()) / static_cast<double>(document.size());
    const double begin = static_cast<double>(at) / static_cast<double>(document.size());
    const double distance = std::abs(begin - depth);
    // A short document may have facts in its middle only.
    const double penalty = end > kEdge && begin < 1 - kEdge ? 1 : 0;
    if (distance + penalty < best_distance) {
      best = &entry;
      best_distance = distance + penalty;
    }
  }
  if (best == nullptr) return std::nullopt;
  return Task{"fact", best->question, best->answer};
}

std::optional<Writer::Task> Writer::combine_task() {
  if (ledger_.size() < 2) return std::nullopt;
  std::vector<std::pair<const LedgerEntry*, const LedgerEntry*>> sums;
  std::vector<const LedgerEntry*> constant;
  for (const LedgerEntry& entry : ledger_) {
    if (!entry.update.empty()) continue;
    for (const LedgerEntry* other : constant) {
      if (other->spec == entry.spec && !entry.spec->measure.empty()) sums.emplace_back(other, &entry);
    }
    constant.push_back(&entry);
  }
  if (!sums.empty()) {
    const auto [a, b] = sums[random_.below(sums.size())];
    const auto measure = [&](const LedgerEntry& entry) {
      block_ = entry.variables;
      return expand(entry.spec->measure);
    };
    return Task{"combine", fmt::format("What is the sum of {} and {}?", measure(*a), measure(*b)),
                std::to_string(std::stoi(a->answer) + std::stoi(b->answer))};
  }
  if (constant.size() < 2) return std::nullopt;
  const LedgerEntry& a = *constant.front();
  const LedgerEntry& b = *constant.back();
  return Task{"combine", fmt::format("Answer both questions. {} {}", a.question, b.question),
              fmt::format("{}; {}", a.answer, b.answer)};
}

std::optional<Writer::Task> Writer::changed_task() {
  std::vector<const LedgerEntry*> changed;
  for (const LedgerEntry& entry : ledger_) {
    if (!entry.update.empty()) changed.push_back(&entry);
  }
  if (changed.empty()) return std::nullopt;
  const LedgerEntry& entry = *changed[random_.below(changed.size())];
  return Task{"changed",
              fmt::format("One of the things stated in the text is changed later on: {}. What is it first, and what "
                          "does it become?",
                          entry.recall),
              fmt::format("{}; {}", entry.variables.at("v"), entry.variables.at("w"))};
}

Writer::Task Writer::list_task() {
  if (random_.below(2) == 0) {
    return {"list", "List everybody who is named in the opening, with what they do.", enumerated(roster_)};
  }
  return {"list", "Which things does the opening name, in its order?", enumerated(inventory_)};
}

Writer::Task Writer::summary_task() {
  std::vector<std::string> told;
  for (size_t i = 0; i < 4 && i < ledger_.size(); ++i) told.push_back(ledger_[i * ledger_.size() / 4].recall);
  return {"summary", "Summarise the text in five sentences.",
          fmt::format("{}. Among other things it deals with {}.", title_, enumerated(told))};
}

Writer::Task Writer::task(std::string_view kind, std::string_view document, double depth) {
  std::optional<Task> task;
  if (kind == "list") return list_task();
  if (kind == "changed") task = changed_task();
  if (kind == "combine") task = combine_task();
  if (kind == "fact") task = fact_task(document, depth);
  if (!task) task = fact_task(document, depth);
  if (!task || kind == "summary") return summary_task();
  return *task;
}

}  // namespace

std::vector<CalibrationSample> builtin_calibration(int n_samples, uint64_t seed, int64_t target_tokens) {
  RKV_CHECK(n_samples >= 0);
  RKV_CHECK(target_tokens >= 1 && target_tokens <= int64_t{1} << 24);
  const auto chars_min = static_cast<size_t>(static_cast<double>(target_tokens) * kCharsPerToken) + 1;
  std::vector<CalibrationSample> samples;
  std::array<std::string_view, 8> genres = kGenres;
  for (int i = 0; i < n_samples; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const uint64_t round = index / kGenres.size();
    if (index % kGenres.size() == 0) {
      genres = kGenres;
      SplitMix(SplitMix(seed).next() + round).shuffle(genres);
    }
    const std::string_view genre = genres[index % kGenres.size()];
    Writer writer(SplitMix(seed ^ SplitMix(index).next()).next(), genre);
    CalibrationSample sample;
    sample.document = writer.write(chars_min);
    // Golden-ratio steps spread the depths that are asked for; the round shifts kinds against genres.
    const double depth = 0.618033988749895 * static_cast<double>(index);
    const std::string_view kind = kKinds[(index + round) % kKinds.size()];
    Writer::Task task = writer.task(kind, sample.document, depth - static_cast<double>(static_cast<int64_t>(depth)));
    sample.id = fmt::format("builtin:{}:{}:{}", i, genre, task.kind);
    sample.question = std::move(task.question);
    sample.answer = std::move(task.answer);
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace ripplekv
