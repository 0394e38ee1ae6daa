// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// OptionTable: the options of one command. Each is registered once, and help, Markdown, parsing, "did you mean" and
// the refusal of bad values all come from that one registration. CLI11 parses and dispatches behind it.
// Knows no particular option (args.h) and prints nothing. Setters write where the caller told them to, so the
// targets must outlive the table. Not for use by several threads.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

struct OptionText {
  std::string_view names;  // "-ub,--ubatch-size": at least one long name; the first long one is used in messages
  std::string value;       // placeholder of the value, "N"
  std::string help;        // one sentence, no full stop
  std::string default_text;
  bool required = false;
  bool bare = false;    // the first argument that is no flag is its value, too: "score FILE"
  bool writes = false;  // a file that is written: refused where another option names the same one
};

class OptionTable {
 public:
  using Setter = std::function<Status(std::string_view)>;
  // A word on a flag that this table lacks; empty if there is nothing to say.
  using Explain = std::function<std::string(std::string_view flag)>;

  OptionTable();
  ~OptionTable();
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  // Options registered from here on are listed under `title`.
  void begin_group(std::string_view title);
  // `set` is called once per occurrence, in the order of the command line.
  void add_value(OptionText text, Setter set);
  void add_flag(std::string_view names, std::string_view help, std::function<void()> set);
  void add_help_flag();
  // Checked after all values are set, in the order added: what no single option can see.
  void add_rule(std::function<Status()> rule);

  // Errors: an unknown flag, a value that is missing or refused, a required option left out, a broken rule.
  // Stops at a help flag: help_asked().
  Status parse(std::span<const std::string> args, const Explain& explain);
  bool help_asked() const { return help_asked_; }
  bool given(std::string_view name) const;  // on the command line that was parsed
  bool has(std::string_view name) const;

  std::vector<std::string> names() const;  // every name of every option, with its dashes
  std::string help() const;                // the groups with their options, wrapped
  std::string markdown() const;            // one table per group

 private:
  struct Entry;
  class Parser;

  Entry& add_entry(OptionText text);
  Entry* find(std::string_view name) const;
  Entry* bare_entry() const;
  Status unknown_flag(std::string_view flag, const Explain& explain) const;
  Status unexpected_argument(std::string_view argument) const;
  Result<std::string> value_of(const Entry& entry, std::span<const std::string> args, size_t& i) const;
  // Every option by its long name, its value apart: what CLI11 is given.
  Status check_written_files() const;
  Result<std::vector<std::string>> rewrite(std::span<const std::string> args, const Explain& explain);

  std::unique_ptr<Parser> parser_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::function<Status()>> rules_;
  std::string group_;
  bool help_asked_ = false;
};

}  // namespace ripplekv
