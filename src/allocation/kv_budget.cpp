// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The global budget as people write it (parse_kv_budget, to_string) and as rows of a prompt (total_rows).
// Sharing it out over the layers is the business of rows_for.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "ripplekv/allocation.h"

namespace ripplekv {
namespace {

struct Unit {
  std::string_view suffix;
  double scale;
};

// llama.cpp's sizes: k, m and g count in 1024.
constexpr std::array<Unit, 4> kRowUnits = {{{"", 1}, {"k", 0x1p10}, {"m", 0x1p20}, {"g", 0x1p30}}};

// Largest first: to_string() takes the first that divides the budget.
constexpr std::array<Unit, 7> kByteUnits = {
    {{"GiB", 0x1p30}, {"GB", 1e9}, {"MiB", 0x1p20}, {"MB", 1e6}, {"KiB", 0x1p10}, {"KB", 1e3}, {"B", 1}}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <size_t n>
const Unit* find_unit(const std::array<Unit, n>& units, std::string_view suffix) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) {
    return std::equal(u.suffix.begin(), u.suffix.end(), suffix.begin(), suffix.end(), same);
  });
  return unit == units.end() ? nullptr : &*unit;
}

// All of `text` as a number, if a double can hold it.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status refused(std::string_view text, std::string_view reason) {
  return invalid_argument(fmt::format(
      "kv budget: got {}{}, expected a percentage (10%), mean rows per layer (512, 8k) or bytes (256MiB, 2GB)",
      quoted(text), reason));
}

// Shortest decimal digits without an exponent that parse to the same value.
std::string fixed(double value) {
  std::array<char, 400> buffer;  // the longest, the smallest double above 0, takes 326
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  RKV_CHECK(error == std::errc());
  return {buffer.data(), end};
}

// fixed(100 * value), but with the point moved in the text: a product would be rounded, and not parse back.
std::string percent(double value) {
  std::string digits = fixed(value);
  size_t point = std::min(digits.find('.'), digits.size());
  if (point < digits.size()) digits.erase(point, 1);
  point += 2;
  if (digits.size() < point) digits.append(point - digits.size(), '0');
  if (digits.size() > point) digits.insert(point, 1, '.');
  const size_t n_zero = std::min(digits.find_first_not_of('0'), point - 1);  // the one before the point stays
  return digits.substr(n_zero) + "%";
}

}  // namespace

Result<KvBudget> parse_kv_budget(std::string_view text) {
  // Only digits and a point make a number here: no sign, exponent, hex digits, inf or nan.
  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
  const std::string_view suffix = text.substr(number.size());
  const std::optional<double> value = parse_number(number);
  if (!value) return refused(text, "");

  if (suffix == "%") {
    const std::optional<double> fraction = parse_number(std::string(number) + "e-2");  // rounded once
    if (!fraction || *fraction <= 0 || *fraction > 1) return refused(text, ", which is not above 0% and up to 100%");
    return KvBudget{KvBudget::Kind::kFraction, *fraction};
  }
  if (const Unit* unit = find_unit(kRowUnits, suffix)) {
    const double rows = *value * unit->scale;
    if (rows < 1 || !std::isfinite(rows)) return refused(text, ", which is not a number of rows from 1 up");
    return KvBudget{KvBudget::Kind::kRowsPerLayer, rows};
  }
  if (const Unit* unit = find_unit(kByteUnits, suffix)) {
    const double bytes = *value * unit->scale;
    if (bytes < 1 || !std::isfinite(bytes)) return refused(text, ", which is not a number of bytes from 1 up");
    return KvBudget{KvBudget::Kind::kBytes, bytes};
  }
  return refused(text, "");
}

std::string KvBudget::to_string() const {
  if (kind == Kind::kFraction) return percent(value);
  if (kind == Kind::kRowsPerLayer) return fixed(value);
  const auto unit = std::find_if(kByteUnits.begin(), kByteUnits.end() - 1,
                                 [&](const Unit& u) { return std::fmod(value, u.scale) == 0; });
  return fixed(value / unit->scale) + std::string(unit->suffix);
}

int64_t total_rows(const KvBudget& budget, int64_t n_prompt, int n_layer, double bytes_per_row) {
  RKV_CHECK(budget.value > 0 && n_layer >= 0);
  RKV_CHECK(n_prompt >= 0 && n_prompt <= std::numeric_limits<int32_t>::max());
  const int64_t whole = n_prompt * n_layer;
  double rows = 0;
  switch (budget.kind) {
    case KvBudget::Kind::kFraction:
      rows = budget.value * static_cast<double>(whole);
      break;
    case KvBudget::Kind::kRowsPerLayer:
      rows = budget.value * n_layer;
      break;
    case KvBudget::Kind::kBytes:
      RKV_CHECK(bytes_per_row > 0);
      rows = budget.value / bytes_per_row;
      break;
  }
  // A product that is whole on paper may come out a few ulp short (0.29 * 100): rounding down must not take a row.
  rows *= 1 + 1e-12;
  return rows < static_cast<double>(whole) ? static_cast<int64_t>(rows) : whole;
}

}  // namespace ripplekv
