// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Typed options on an OptionTable: text, numbers with limits, sizes, choices. The default that help shows is the
// target's value at registration, so it is written down once. Which options exist is args.cpp's business.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_table.h"

namespace ripplekv {

template <class T>
struct Limits {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
  bool min_excluded = false;
};

// Both refuse what is out of the limits. Whole numbers, or sizes ("8k") with `allow_units`.
Result<int64_t> parse_whole(std::string_view text, const Limits<int64_t>& limits, bool allow_units);
Result<double> parse_real(std::string_view text, const Limits<double>& limits);

// Errors: not one of `names`; suggests the nearest.
Result<size_t> parse_choice(std::string_view text, const std::vector<std::string_view>& names);

// UTF-8 that a model will read: the error names the byte at which it is not.
Result<std::string> parse_prose(std::string_view text);
// A path: anything but empty.
Result<std::string> parse_path(std::string_view text);

// An option whose value `parse` turns into a T.
template <class T, class Parse>
void add_parsed(OptionTable& table, OptionText text, T& target, Parse parse) {
  table.add_value(std::move(text), [&target, parse](std::string_view value) -> Status {
    RKV_ASSIGN_OR_RETURN(target, parse(value));
    return ok_status();
  });
}

// Limits beyond what a T holds are narrowed to that.
template <class T>
void add_whole(OptionTable& table, OptionText text, T& target, Limits<int64_t> limits, bool allow_units = false) {
  if (std::cmp_greater(limits.max, std::numeric_limits<T>::max())) limits.max = std::numeric_limits<T>::max();
  if (text.default_text.empty()) text.default_text = std::to_string(target);
  table.add_value(std::move(text), [&target, limits, allow_units](std::string_view value) -> Status {
    RKV_ASSIGN_OR_RETURN(const int64_t whole, parse_whole(value, limits, allow_units));
    target = static_cast<T>(whole);
    return ok_status();
  });
}

template <class T>
void add_size(OptionTable& table, OptionText text, T& target, Limits<int64_t> limits) {
  add_whole(table, std::move(text), target, limits, true);
}

void add_real(OptionTable& table, OptionText text, double& target, Limits<double> limits);
void add_path(OptionTable& table, OptionText text, std::string& target);
// One of `names`, kept as text.
void add_name(OptionTable& table, OptionText text, std::string& target, std::vector<std::string_view> names);

// One of `choices`, each a name and what it stands for.
template <class T>
void add_choice(OptionTable& table, OptionText text, T& target, std::vector<std::pair<std::string_view, T>> choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    names.push_back(name);
    if (value == target) text.default_text = name;
  }
  table.add_value(std::move(text), [&target, names, choices = std::move(choices)](std::string_view value) -> Status {
    RKV_ASSIGN_OR_RETURN(const size_t index, parse_choice(value, names));
    target = choices[index].second;
    return ok_status();
  });
}

}  // namespace ripplekv
