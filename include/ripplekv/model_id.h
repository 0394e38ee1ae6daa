// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ModelId: which model an artefact belongs to, and which of its layers a budget is for. Declared apart, so that a model
// need not know artefacts. That the two agree is checked by check_model() (budgets.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ripplekv/kv_type.h"

namespace ripplekv {

struct ModelId {
  std::string fingerprint;  // "xxh3:" + 32 hex digits (gguf_file.h says over what)
  std::string name;         // general.name, or the file's name: for messages only
  std::string architecture;
  int n_layer = 0;
  // Layers that see their last sliding_window rows only, ascending. They keep these and are outside every budget.
  std::vector<int> sliding_layers;
  int64_t sliding_window = 0;  // 0: no such layers
  LayerShape layer;            // of every layer; zeros: not known, the artefact is older than that

  // The other layers, ascending: what a budget is shared among.
  std::vector<int> compressible_layers() const {
    std::vector<int> layers;
    size_t next = 0;
    for (int il = 0; il < n_layer; ++il) {
      const bool slides = next < sliding_layers.size() && sliding_layers[next] == il;
      slides ? void(++next) : layers.push_back(il);
    }
    return layers;
  }
  // [n_layer]: rows of a prompt that sliding layers keep; 0 for the others.
  std::vector<int64_t> window_rows(int64_t n_prompt) const {
    std::vector<int64_t> rows(static_cast<size_t>(n_layer), 0);
    for (int il : sliding_layers) rows[static_cast<size_t>(il)] = std::min(sliding_window, n_prompt);
    return rows;
  }
};

}  // namespace ripplekv
