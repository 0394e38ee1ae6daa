// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Ranks: several processes that were started together for one command and share its samples. Each keeps what it
// finished in a part of its own beside the artefact; the first puts the parts together, in the order of the samples.
// Who started them, and how they wait for each other, is the program's business (src/cli/mpi.h); alone is one rank of
// one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

struct Ranks {
  int rank = 0;
  int count = 1;
  std::function<void()> barrier;  // returns once every rank has called it; may be null where there is one

  bool first() const { return rank == 0; }
  bool takes(size_t i) const { return i % static_cast<size_t>(count) == static_cast<size_t>(rank); }
  void wait_for_all() const {
    if (barrier) barrier();
  }
};

std::string part_path(const std::string& path, int rank);  // "PATH.rank3.part"
// Parts that are there beside the artefact, of whatever run, by rank.
std::vector<std::string> parts_of(const std::string& path);
Status remove_parts(const std::vector<std::string>& parts);

}  // namespace ripplekv
