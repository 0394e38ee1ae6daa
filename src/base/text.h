// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Text a person typed or will read: strict parsers, "did you mean", sizes and durations in words.
// Pure, knows no flag and no file: messages say "got 'x', expected y"; the caller prepends where (with_context).
// Independent of the locale. Parsers take the whole text: no spaces around it, nothing left over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

// 'text' for a message: control characters and bytes that are not UTF-8 as \xNN, long text cut ("...").
// Where <iomanip> is seen (json.hpp does), write ripplekv::quoted for a std::string: std::quoted is found as well.
std::string quoted(std::string_view text);

// Decimal digits with an optional minus.
Result<int64_t> parse_int64(std::string_view text);

// Decimal or scientific notation, finite.
Result<double> parse_double(std::string_view text);

// "512", "8k", "2GiB", "1.5g", "100MB" -> a whole number >= 0. k, m, g, t and KiB, MiB, GiB, TiB are powers of 1024;
// KB, MB, GB, TB powers of 1000; any case. A decimal needs a unit and is rounded down.
Result<int64_t> parse_size(std::string_view text);

// "5%" or "0.05", in (0, 1].
Result<double> parse_fraction(std::string_view text);

// "5%,10%,0.2": fractions separated by commas (spaces around them allowed), in the order given, none of them twice.
Result<std::vector<double>> parse_fraction_list(std::string_view text);

// The candidate a typing error away from `word` (edit distance with swaps, any case); ties: the earlier one.
// Empty if none is near: at most one edit per three letters, and one in a short word.
std::string_view nearest_name(std::span<const std::string_view> candidates, std::string_view word);

// "1 sample", "2 samples", "0 samples".
template <class Number>
std::string counted(Number n, std::string_view noun) {
  return std::to_string(n) + ' ' + std::string(noun) + (n == 1 ? "" : "s");
}
std::string human_bytes(int64_t bytes);      // "512 B", "12.3 MiB"
std::string human_duration(double seconds);  // "35ms", "4.2s", "42s", "1m 23s", "2h 05m", "3d 04h"; "?" if not finite

}  // namespace ripplekv
