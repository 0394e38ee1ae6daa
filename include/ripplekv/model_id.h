// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ModelId: which model an artefact belongs to. Declared apart, so that a model need not know artefacts.
// That the two agree is checked by check_model() (budgets.h).
#pragma once

#include <string>

namespace ripplekv {

struct ModelId {
  std::string fingerprint;  // "xxh3:" + 32 hex digits (gguf_file.h says over what)
  std::string name;         // general.name, or the file's name: for messages only
  std::string architecture;
  int n_layer = 0;
};

}  // namespace ripplekv
