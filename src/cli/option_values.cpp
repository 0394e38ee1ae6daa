// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Values with limits: the number parsers of base/text.h, plus what this option expects of the number.
#include "cli/option_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace ripplekv {
namespace {

template <class T>
Status out_of_limits(std::string_view text, const Limits<T>& limits, std::string_view kind) {
  const std::string from = fmt::format("{} {}", limits.min_excluded ? "above" : "of at least", limits.min);
  if (limits.max == std::numeric_limits<T>::max()) {
    return invalid_argument(fmt::format("got {}, expected {} {}", quoted(text), kind, from));
  }
  return invalid_argument(fmt::format("got {}, expected {} {} and at most {}", quoted(text), kind, from, limits.max));
}

}  // namespace

Result<int64_t> parse_whole(std::string_view text, const Limits<int64_t>& limits, bool allow_units) {
  const bool negative = text.starts_with('-');
  RKV_ASSIGN_OR_RETURN(const int64_t value, allow_units && !negative ? parse_size(text) : parse_int64(text));
  if (value < limits.min || value > limits.max) return out_of_limits(text, limits, "a whole number");
  return value;
}

Result<double> parse_real(std::string_view text, const Limits<double>& limits) {
  RKV_ASSIGN_OR_RETURN(const double value, parse_double(text));
  const bool low = limits.min_excluded ? value <= limits.min : value < limits.min;
  if (low || value > limits.max) return out_of_limits(text, limits, "a number");
  return value;
}

Result<size_t> parse_choice(std::string_view text, const std::vector<std::string_view>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  const std::string_view nearest = nearest_name(names, text);
  return invalid_argument(fmt::format("got {}, expected {}{}", quoted(text), fmt::join(names, ", "),
                                      nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest)));
}

Result<std::string> parse_prose(std::string_view text) {
  if (const auto at = first_invalid_utf8(text)) {
    return invalid_argument(fmt::format("got {}, expected UTF-8 text, at byte {}", quoted(text), *at));
  }
  return std::string(text);
}

Result<std::string> parse_path(std::string_view text) {
  if (text.empty()) return invalid_argument("got '', expected a path");
  return std::string(text);
}

void add_real(OptionTable& table, OptionText text, double& target, Limits<double> limits) {
  text.default_text = fmt::format("{}", target);
  add_parsed(table, std::move(text), target, [limits](std::string_view value) { return parse_real(value, limits); });
}

void add_path(OptionTable& table, OptionText text, std::string& target) {
  add_parsed(table, std::move(text), target, parse_path);
}

void add_name(OptionTable& table, OptionText text, std::string& target, std::vector<std::string_view> names) {
  if (text.default_text.empty()) text.default_text = target;
  table.add_value(std::move(text), [&target, names = std::move(names)](std::string_view value) -> Status {
    RKV_ASSIGN_OR_RETURN(const size_t index, parse_choice(value, names));
    target = names[index];
    return ok_status();
  });
}

}  // namespace ripplekv
