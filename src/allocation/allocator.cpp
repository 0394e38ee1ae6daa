// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The list of allocators, in the order help prints them. How each makes its weights is in <allocator>.cpp, how
// weights become rows in rows_for.cpp.
#include <array>

#include "ripplekv/allocation.h"

namespace ripplekv {

std::span<const AllocatorInfo> allocator_registry() {
  static constexpr std::array kInfos = {
      AllocatorInfo{"uniform", "the same rows in every layer"},
      AllocatorInfo{"pyramid", "most rows in the first layer, linearly fewer with depth (PyramidKV, Cai et al. 2024)"},
      AllocatorInfo{"ripple", "more rows where a nudge of the Value cache moves the output more (needs a profile)"},
      AllocatorInfo{"curves", "rows where they save most of the measured damage (needs profile --curves)"},
  };
  return kInfos;
}

}  // namespace ripplekv
