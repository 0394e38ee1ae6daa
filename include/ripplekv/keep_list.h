// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// KeepList: the rows of one layer that stay, per KV head. Made by prune() (selection.h), carried out by LayerCache.
#pragma once

#include <cstdint>
#include <vector>

namespace ripplekv {

// keep[kv head] = sorted, unique row indices. Counts may differ, but sum to a multiple of the heads: a layer's rows.
using KeepList = std::vector<std::vector<int32_t>>;

}  // namespace ripplekv
