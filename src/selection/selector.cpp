// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// make_selector() and the list of methods. Checks what every method's options must satisfy, once for all of them.
// The methods themselves are in their own files, their table in methods.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "selection/methods.h"

namespace ripplekv {
namespace {

#define RKV_INFO(name, factory, summary) SelectorInfo{name, summary},
constexpr std::array kInfos = {RKV_SELECTION_METHODS(RKV_INFO)};
#undef RKV_INFO

using Factory = std::unique_ptr<Selector> (*)(const SelectorOptions&);
#define RKV_FACTORY(name, factory, summary) Factory{factory},
constexpr std::array kFactories = {RKV_SELECTION_METHODS(RKV_FACTORY)};
#undef RKV_FACTORY

Status check_options(std::string_view name, const SelectorOptions& options) {
  if (options.window < 1 || options.window > kWindowMax) {
    return invalid_argument(
        fmt::format("selector {}: got a window of {} rows, expected 1 to {}", name, options.window, kWindowMax));
  }
  if (options.kernel < 1 || options.kernel % 2 == 0) {
    return invalid_argument(
        fmt::format("selector {}: got a pooling kernel of {}, expected an odd number from 1 up", name, options.kernel));
  }
  if (options.n_sink < 0) {
    return invalid_argument(fmt::format("selector {}: got {} sink rows, expected 0 or more", name, options.n_sink));
  }
  return ok_status();
}

}  // namespace

std::span<const SelectorInfo> selector_registry() { return kInfos; }

Result<std::unique_ptr<Selector>> make_selector(std::string_view name, const SelectorOptions& options) {
  const auto info = std::find_if(kInfos.begin(), kInfos.end(), [&](const SelectorInfo& i) { return i.name == name; });
  if (info == kInfos.end()) {
    std::vector<std::string_view> names;
    std::transform(kInfos.begin(), kInfos.end(), std::back_inserter(names), [](const auto& i) { return i.name; });
    return invalid_argument(fmt::format("selector: got {}, expected one of {}", quoted(name), fmt::join(names, ", ")));
  }
  RKV_RETURN_IF_ERROR(check_options(name, options));
  return kFactories[static_cast<size_t>(info - kInfos.begin())](options);
}

}  // namespace ripplekv
