// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// CLI11 stores, parses and dispatches the options; this file is the only one that knows it. Before it runs, names are
// resolved here: CLI11 would read llama.cpp's -ngl as -n with the value "gl", and takes the next flag for the value
// of "--prompt=". After that every token it sees is a long name or the value of one.
#include "cli/option_table.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/places.h"

namespace ripplekv {
namespace {

constexpr size_t kHelpColumn = 34;
constexpr size_t kHelpWidth = 110;

// Carries a setter's status through CLI11; never leaves this file.
struct Refused {
  Status status;
};

bool is_long(std::string_view name) { return name.starts_with("--"); }
bool is_short(std::string_view name) { return name.size() == 2 && name[0] == '-' && name[1] != '-'; }

std::string_view without_dashes(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return name;
}

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> out;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    out.emplace_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return out;
}

// `text` broken at spaces to lines of `width`, the second and later ones indented.
std::string wrapped(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

struct OptionTable::Entry {
  std::vector<std::string> names;
  std::string long_name;  // "--ubatch-size"
  OptionText text;
  std::string group;
  bool is_help = false;
  bool given = false;
  std::string given_value;  // the last one

  bool takes_value() const { return !text.value.empty(); }
  std::string help() const { return text.help + (text.bare ? "; the flag's name may be left out" : ""); }
  std::string remark() const {
    if (text.required) return " [required]";
    return text.default_text.empty() ? "" : fmt::format(" [default: {}]", text.default_text);
  }
};

class OptionTable::Parser {
 public:
  CLI::App app;
};

OptionTable::OptionTable() : parser_(std::make_unique<Parser>()) { parser_->app.set_help_flag(); }
OptionTable::~OptionTable() = default;

void OptionTable::begin_group(std::string_view title) { group_ = title; }

OptionTable::Entry& OptionTable::add_entry(OptionText text) {
  auto entry = std::make_unique<Entry>();
  entry->names = split_names(text.names);
  for (const std::string& name : entry->names) RKV_CHECK(!has(name));
  const auto first_long = std::find_if(entry->names.begin(), entry->names.end(), is_long);
  RKV_CHECK(first_long != entry->names.end());
  entry->long_name = *first_long;
  entry->text = std::move(text);
  entry->group = group_;
  entries_.push_back(std::move(entry));
  return *entries_.back();
}

void OptionTable::add_value(OptionText text, Setter set) {
  RKV_CHECK(!text.value.empty());
  const Entry& entry = add_entry(std::move(text));
  const auto callback = [name = entry.long_name, set = std::move(set)](const CLI::results_t& results) {
    Status status = set(results.front());
    if (!status.ok()) throw Refused{status.with_context(name)};
    return true;
  };
  // trigger_on_parse: without it CLI11 runs callbacks in the order of registration and refuses a repeated option.
  parser_->app.add_option(entry.long_name, callback)->required(entry.text.required)->trigger_on_parse();
}

void OptionTable::add_flag(std::string_view names, std::string_view help, std::function<void()> set) {
  const Entry& entry = add_entry({.names = names, .help = std::string(help)});
  parser_->app.add_flag_callback(entry.long_name, std::move(set))->trigger_on_parse();
}

void OptionTable::add_help_flag() { add_entry({.names = "-h,--help", .help = "Show this text"}).is_help = true; }

void OptionTable::add_rule(std::function<Status()> rule) { rules_.push_back(std::move(rule)); }

OptionTable::Entry* OptionTable::find(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (std::find(entry->names.begin(), entry->names.end(), name) != entry->names.end()) return entry.get();
  }
  return nullptr;
}

OptionTable::Entry* OptionTable::bare_entry() const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [](const auto& entry) { return entry->text.bare; });
  return found == entries_.end() ? nullptr : found->get();
}

bool OptionTable::has(std::string_view name) const { return find(name) != nullptr; }

bool OptionTable::given(std::string_view name) const {
  const Entry* entry = find(name);
  RKV_CHECK(entry != nullptr);
  return entry->given;
}

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> out;
  for (const auto& entry : entries_) out.insert(out.end(), entry->names.begin(), entry->names.end());
  return out;
}

Status OptionTable::unknown_flag(std::string_view flag, const Explain& explain) const {
  if (const std::string word = explain(flag); !word.empty()) {
    return invalid_argument(fmt::format("unknown flag {}: {}", quoted(flag), word));
  }
  const Entry* first_letter = flag.size() > 2 && flag[1] != '-' ? find(flag.substr(0, 2)) : nullptr;
  if (first_letter && first_letter->takes_value() && flag[2] >= '0' && flag[2] <= '9') {
    return invalid_argument(fmt::format("unknown flag {}: expected a space before the value, as in {} {}", quoted(flag),
                                        flag.substr(0, 2), quoted(flag.substr(2))));
  }
  std::vector<std::string_view> candidates;
  const std::vector<std::string> known = names();
  for (const std::string& name : known) {
    if (!is_short(name)) candidates.push_back(without_dashes(name));
  }
  const std::string_view nearest = nearest_name(candidates, without_dashes(flag));
  if (nearest.empty())
    return invalid_argument(fmt::format("unknown flag {}, expected one that --help lists", quoted(flag)));
  const auto named = std::find_if(known.begin(), known.end(),
                                  [&](const std::string& name) { return without_dashes(name) == nearest; });
  return invalid_argument(fmt::format("unknown flag {}, did you mean {}?", quoted(flag), *named));
}

Status OptionTable::unexpected_argument(std::string_view argument) const {
  return invalid_argument(fmt::format("unexpected argument {}, expected a flag{}", quoted(argument),
                                      has("--prompt") ? " (a prompt follows -p)" : ""));
}

Result<std::string> OptionTable::value_of(const Entry& entry, std::span<const std::string> args, size_t& i) const {
  if (i + 1 >= args.size()) {
    return invalid_argument(fmt::format("{}: got no value, expected {}", entry.long_name, entry.text.value));
  }
  const std::string& next = args[i + 1];
  // A value that is spelled like one of our flags is nearly always a value forgotten.
  if (has(next)) {
    return invalid_argument(fmt::format("{}: got the flag {}, expected {} (or write {}={} if it is meant)",
                                        entry.long_name, next, entry.text.value, entry.long_name, next));
  }
  ++i;
  return next;
}

Result<std::vector<std::string>> OptionTable::rewrite(std::span<const std::string> args, const Explain& explain) {
  std::vector<std::string> out;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg.size() < 2 || arg[0] != '-' || arg == "--") {
      Entry* bare = arg.empty() || arg[0] == '-' ? nullptr : bare_entry();
      if (!bare || bare->given) return unexpected_argument(arg);
      bare->given = true;
      bare->given_value = args[i];
      out.insert(out.end(), {bare->long_name, args[i]});
      continue;
    }
    const size_t equals = std::min(arg.find('='), arg.size());
    const std::string_view name = arg.substr(0, equals);
    const bool has_value = equals < arg.size();

    Entry* entry = find(name);
    size_t n_times = 1;
    if (!entry && arg.size() > 2 && arg.find_first_not_of(arg[1], 1) == std::string_view::npos) {
      entry = find(arg.substr(0, 2));  // -vv is -v twice
      if (entry && entry->takes_value()) entry = nullptr;
      n_times = arg.size() - 1;
    }
    if (!entry) return unknown_flag(name, explain);
    if (entry->is_help) {
      help_asked_ = true;
      return out;
    }
    if (has_value && !entry->takes_value()) {
      return invalid_argument(
          fmt::format("{}: got the value {}, expected none", entry->long_name, quoted(arg.substr(equals + 1))));
    }
    entry->given = true;
    out.insert(out.end(), n_times, entry->long_name);
    if (!entry->takes_value()) continue;
    if (has_value) {
      entry->given_value = arg.substr(equals + 1);
    } else {
      RKV_ASSIGN_OR_RETURN(entry->given_value, value_of(*entry, args, i));
    }
    out.push_back(entry->given_value);
  }
  return out;
}

Status OptionTable::check_written_files() const {
  for (const auto& written : entries_) {
    if (!written->text.writes || !written->given) continue;
    for (const auto& other : entries_) {
      if (other == written || !other->given || !other->text.value.starts_with("FILE")) continue;
      if (same_file(written->given_value, other->given_value)) {
        return invalid_argument(fmt::format("{}: got {}, which {} names, too, expected another file",
                                            written->long_name, ripplekv::quoted(written->given_value),
                                            other->long_name));
      }
      if (other->text.value == "FILE|DIR" && is_sample_in(written->given_value, other->given_value)) {
        return invalid_argument(fmt::format("{}: got {}, which {} would read as samples, expected another folder",
                                            written->long_name, ripplekv::quoted(written->given_value),
                                            other->long_name));
      }
    }
  }
  return ok_status();
}

Status OptionTable::parse(std::span<const std::string> args, const Explain& explain) {
  RKV_ASSIGN_OR_RETURN(std::vector<std::string> tokens, rewrite(args, explain));
  if (help_asked_) return ok_status();
  std::reverse(tokens.begin(), tokens.end());  // CLI11 takes them from the back
  try {
    parser_->app.parse(std::move(tokens));
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const CLI::ParseError& error) {
    return invalid_argument(error.what());
  }
  RKV_RETURN_IF_ERROR(check_written_files());
  for (const auto& rule : rules_) RKV_RETURN_IF_ERROR(rule());
  return ok_status();
}

std::string OptionTable::help() const {
  std::string out;
  std::string_view group;
  for (const auto& entry : entries_) {
    if (entry->group != group) out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", entry->group);
    group = entry->group;
    std::string left = fmt::format("  {} {}", fmt::join(entry->names, ", "), entry->text.value);
    if (left.size() + 1 > kHelpColumn) {
      left += '\n' + std::string(kHelpColumn, ' ');
    } else {
      left.resize(kHelpColumn, ' ');
    }
    out += left + wrapped(entry->help() + entry->remark(), kHelpWidth - kHelpColumn, kHelpColumn) + '\n';
  }
  return out;
}

std::string OptionTable::markdown() const {
  std::string out;
  std::string_view group;
  for (const auto& entry : entries_) {
    if (entry->group != group) {
      out += fmt::format("\n### {}\n\n| flag | default | meaning |\n| --- | --- | --- |\n", entry->group);
    }
    group = entry->group;
    std::string flags;
    for (const std::string& name : entry->names) flags += fmt::format("{}`{}`", flags.empty() ? "" : ", ", name);
    if (entry->takes_value()) flags += fmt::format(" `{}`", entry->text.value);
    const std::string fallback = entry->text.required ? "required" : entry->text.default_text;
    out +=
        fmt::format("| {} | {} | {} |\n", markdown_cell(flags), markdown_cell(fallback), markdown_cell(entry->help()));
  }
  return out;
}

}  // namespace ripplekv
