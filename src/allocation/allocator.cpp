// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The list of allocators, in the order help prints them. How each makes its weights is in <allocator>.cpp, how
// weights become rows in rows_for.cpp.
#include <algorithm>
#include <array>

#include "ripplekv/allocation.h"

namespace ripplekv {

std::span<const AllocatorInfo> allocator_registry() {
  static constexpr std::array kInfos = {
      AllocatorInfo{"uniform", "the same rows in every layer"},
      AllocatorInfo{"pyramid", "most rows in the first layer, linearly fewer with depth (PyramidKV, Cai et al. 2024)"},
      AllocatorInfo{"ripple", "more rows where a nudge of the Value cache moves the output more (needs a profile)",
                    true},
      AllocatorInfo{"curves", "rows where they save most of the measured damage (needs profile --curves)", true},
      AllocatorInfo{"head_curves",
                    "as curves, for every KV head of every layer by itself (needs profile --head-curves)", true},
  };
  return kInfos;
}

bool goes_by_damage(std::string_view allocator) { return allocator == "curves" || allocator == "head_curves"; }

bool needs_profile(std::string_view allocator) {
  const auto all = allocator_registry();
  return std::any_of(all.begin(), all.end(),
                     [&](const AllocatorInfo& info) { return info.name == allocator && info.needs_profile; });
}

}  // namespace ripplekv
