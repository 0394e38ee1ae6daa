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
#include "selection/options_read.h"

namespace ripplekv {
namespace {

#define RKV_INFO(name, factory, reads, summary) SelectorInfo{name, summary},
constexpr std::array kInfos = {RKV_SELECTION_METHODS(RKV_INFO)};
#undef RKV_INFO

using Factory = std::unique_ptr<Selector> (*)(const SelectorOptions&);
#define RKV_FACTORY(name, factory, reads, summary) Factory{factory},
constexpr std::array kFactories = {RKV_SELECTION_METHODS(RKV_FACTORY)};
#undef RKV_FACTORY

#define RKV_READS(name, factory, reads, summary) std::string_view{reads},
constexpr std::array kReads = {RKV_SELECTION_METHODS(RKV_READS)};
#undef RKV_READS

constexpr std::array<std::string_view, 8> kOptions = {"window",     "kernel", "pooling", "group",
                                                      "value_norm", "n_sink", "seed",    "head_floor"};

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
  if (!(options.head_floor >= 0.0 && options.head_floor <= 1.0)) {
    return invalid_argument(
        fmt::format("selector {}: got a head floor of {}, expected 0 to 1", name, options.head_floor));
  }
  const std::vector<std::string_view> read = options_read(name);
  if (options.head_floor < 1.0 && std::find(read.begin(), read.end(), "head_floor") == read.end()) {
    return invalid_argument(
        fmt::format("selector {}: got a head floor of {}, expected 1, since its scores do not compare between KV heads",
                    name, options.head_floor));
  }
  return ok_status();
}

}  // namespace

std::span<const SelectorInfo> selector_registry() { return kInfos; }

std::vector<std::string_view> options_read(std::string_view selector) {
  const bool sinks = selector.starts_with(kSinksPrefix);
  if (sinks) selector.remove_prefix(kSinksPrefix.size());
  const auto info =
      std::find_if(kInfos.begin(), kInfos.end(), [&](const SelectorInfo& i) { return i.name == selector; });
  RKV_CHECK(info != kInfos.end());
  const std::string_view reads = kReads[static_cast<size_t>(info - kInfos.begin())];
  std::vector<std::string_view> options;
  for (const std::string_view option : kOptions) {
    if (reads.find(option) != std::string_view::npos || (sinks && (option == "window" || option == "n_sink")))
      options.push_back(option);
  }
  return options;
}

Result<std::unique_ptr<Selector>> make_selector(std::string_view name, const SelectorOptions& options) {
  if (name.starts_with(kSinksPrefix)) {
    const std::string_view method_name = name.substr(kSinksPrefix.size());
    if (method_name.starts_with(kSinksPrefix) || method_name == "full") {
      return invalid_argument(fmt::format("selector: got {}, expected a method that drops rows after {}", quoted(name),
                                          quoted(kSinksPrefix)));
    }
    RKV_ASSIGN_OR_RETURN(auto method, make_selector(method_name, options));
    return make_sinks(std::move(method), options);
  }
  const auto info = std::find_if(kInfos.begin(), kInfos.end(), [&](const SelectorInfo& i) { return i.name == name; });
  if (info == kInfos.end()) {
    std::vector<std::string_view> names;
    std::transform(kInfos.begin(), kInfos.end(), std::back_inserter(names), [](const auto& i) { return i.name; });
    const std::string_view near = nearest_name(names, name);
    return invalid_argument(fmt::format("selector: got {}, expected one of {}, or one of them after {}{}", quoted(name),
                                        fmt::join(names, ", "), quoted(kSinksPrefix),
                                        near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  RKV_RETURN_IF_ERROR(check_options(name, options));
  return kFactories[static_cast<size_t>(info - kInfos.begin())](options);
}

std::vector<float> score_parts(const Selector& selector, std::span<const LayerTaps> parts) {
  std::vector<float> scores;
  for (const LayerTaps& part : parts) {
    const std::vector<float> of_part = selector.score(part);
    scores.insert(scores.end(), of_part.begin(), of_part.end());
  }
  return scores;
}

}  // namespace ripplekv
