// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What this machine has: cores and free memory. Asks the system each time; no state.
#pragma once

#include <cstdint>
#include <string>

namespace ripplekv {

int n_physical_cores();  // at least 1; hyper-threads of one core count once where the system tells

// Bytes this process can still take without swapping: free in the machine and allowed by its control groups.
// INT64_MAX where unknown.
int64_t available_memory();

// The control groups' part of it: what the tightest of this process's group and those around it still allows (limit
// less usage, inactive file pages counted as free; v2's memory.high counts as a limit), at least 0. Groups without a
// limit, and files that are missing or make no sense, bound nothing: INT64_MAX.
// membership_file: /proc/self/cgroup. mount: /sys/fs/cgroup, v2 itself or the folder that holds v1's `memory`.
int64_t control_group_memory(const std::string& membership_file, const std::string& mount);

// Bytes of this process in memory; 0 where unknown.
struct ResidentBytes {
  int64_t anonymous = 0;
  int64_t file = 0;  // mapped files: weights, the program itself
  int64_t peak = 0;  // most of both together that there were at a time
};
ResidentBytes resident_bytes();
void forget_peak_resident();  // what is in memory now becomes the peak, where the system allows it

}  // namespace ripplekv
