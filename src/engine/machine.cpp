// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Linux's /proc and /sys; other systems fall back to what the standard library knows.
#include "engine/machine.h"

#include <cstdio>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace ripplekv {
namespace {

// "Name:   123 kB" in a /proc file, in bytes; -1 if absent.
int64_t proc_kilobytes(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    long long value = 0;
    if (line.rfind(name, 0) == 0 && std::sscanf(line.c_str() + name.size(), " %lld", &value) == 1) return value * 1024;
  }
  return -1;
}

}  // namespace

int n_physical_cores() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed)) continue;
      std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings");
      std::string siblings;
      // Where the system does not tell, every processor is a core.
      cores.insert(std::getline(file, siblings) ? siblings : std::to_string(cpu));
    }
    if (!cores.empty()) return static_cast<int>(cores.size());
  }
#endif
  const unsigned n = std::thread::hardware_concurrency();
  return n == 0 ? 1 : static_cast<int>(n);
}

int64_t available_memory() {
  const int64_t bytes = proc_kilobytes("/proc/meminfo", "MemAvailable:");
  return bytes < 0 ? std::numeric_limits<int64_t>::max() : bytes;
}

int64_t resident_memory() {
  const int64_t bytes = proc_kilobytes("/proc/self/status", "RssAnon:");
  return bytes < 0 ? 0 : bytes;
}

}  // namespace ripplekv
