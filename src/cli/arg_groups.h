// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Groups of flags that several commands have, each written once: names, help, defaults, limits, and as rules what two
// flags may not say together. Names and defaults are llama.cpp's wherever it has them. Commands are args.cpp's.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/option_table.h"

namespace ripplekv {

inline constexpr int64_t kTokensMax = std::numeric_limits<int32_t>::max();
inline constexpr std::string_view kBudgetHelp =
    "Rows kept of the whole cache: a fraction (10%), mean rows per layer (512) or bytes (256MiB)";

void add_model_path(OptionTable& table, std::string& path);
void add_ctx_size(OptionTable& table, int64_t& n_ctx);
void add_loading_args(OptionTable& table, ModelArgs& model);  // all but --ctx-size
void add_model_args(OptionTable& table, ModelArgs& model);
// allocator: the name it will have once all is parsed (pyramid reads the window, too); must outlive the table.
void add_selector_args(OptionTable& table, SelectorArgs& selector, const std::string& allocator);
void add_allocator_args(OptionTable& table, AllocatorArgs& allocator, SelectorArgs& selector, bool may_be_file);
// may_be_auto: --kv-type auto, where a budget is allocated.
void add_kv_type_args(OptionTable& table, KvTypeArgs& type, std::string_view default_text, bool may_be_auto = false);
// "f16,q8_0/q4_0": K and V alike or apart, none of them twice.
Result<std::vector<KvFormat>> parse_formats(std::string_view text);
void add_kv_args(OptionTable& table, KvArgs& kv, bool decodes);  // budget, allocator, selector, format
void add_sampling_args(OptionTable& table, SamplingArgs& sampling);
void add_prompt_args(OptionTable& table, PromptArgs& prompt);
void add_json(OptionTable& table, OutputArgs& output, std::string_view help);
void add_output_file(OptionTable& table, std::string& path, std::string_view help, std::string_view default_text);
void add_common_args(OptionTable& table, OutputArgs& output);  // every command ends with these

}  // namespace ripplekv
