// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Which of the options each selector reads: for commands that refuse one without effect, and for artefacts that were
// made with others.
#pragma once

#include <string_view>
#include <vector>

namespace ripplekv {

// Members of SelectorOptions by name, in their order. REQUIRES: the selector exists.
std::vector<std::string_view> options_read(std::string_view selector);

}  // namespace ripplekv
