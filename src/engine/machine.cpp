// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Linux's /proc and /sys; other systems fall back to what the standard library knows. Control groups as in the kernel's
// admin-guide/cgroup-v2.rst and admin-guide/cgroup-v1/memory.rst.
#include "engine/machine.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
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

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// What a version of control groups calls the files and the line of memory.stat that bound one group.
struct GroupFiles {
  std::span<const std::string_view> limits;
  std::string_view usage;
  std::string_view inactive_file;  // file pages nobody used for a while: the kernel takes them back before it refuses
};
constexpr std::string_view kLimitsV2[] = {"memory.max", "memory.high"};
constexpr GroupFiles kVersion2 = {kLimitsV2, "memory.current", "inactive_file"};
constexpr std::string_view kLimitsV1[] = {"memory.limit_in_bytes"};
constexpr GroupFiles kVersion1 = {kLimitsV1, "memory.usage_in_bytes", "total_inactive_file"};

// "max" (no limit) and whatever else is no count of bytes: nullopt.
std::optional<int64_t> byte_count(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<int64_t> byte_count_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? byte_count(line) : std::nullopt;
}

std::optional<int64_t> byte_count_of(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return byte_count(std::string_view(line).substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

// Of one group alone, whatever those around it allow.
int64_t group_memory(const std::string& folder, const GroupFiles& files) {
  const auto path_of = [&](std::string_view name) { return folder + "/" + std::string(name); };
  int64_t limit = kUnbounded;
  for (const std::string_view name : files.limits) {
    limit = std::min(limit, byte_count_in(path_of(name)).value_or(kUnbounded));
  }
  const std::optional<int64_t> usage = byte_count_in(path_of(files.usage));
  if (limit == kUnbounded || !usage) return kUnbounded;
  const int64_t inactive = byte_count_of(path_of("memory.stat"), files.inactive_file).value_or(0);
  return std::max<int64_t>(0, limit - (*usage - std::min(inactive, *usage)));
}

// A limit holds for everything below it, so the tightest group from `group` up to the root counts. In a container the
// mount may begin at the container's own group while `group` is still the host's path: the root is what is left then.
int64_t tree_memory(const std::string& root, std::string group, const GroupFiles& files) {
  // A group outside this process's namespace is shown as "/../other": nothing of it is in the mount.
  if (group == "/" || (group + "/").find("/../") != std::string::npos) group.clear();
  int64_t least = group_memory(root + group, files);
  while (!group.empty()) {
    group.resize(group.rfind('/'));
    least = std::min(least, group_memory(root + group, files));
  }
  return least;
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

int64_t control_group_memory(const std::string& membership_file, const std::string& mount) {
  std::ifstream file(membership_file);
  std::string line;
  int64_t least = kUnbounded;
  while (std::getline(file, line)) {  // "hierarchy:controllers:/group"; v2: "0::/group"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 == line.size() || line[second + 1] != '/') continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (line.starts_with("0::")) {
      least = std::min(least, tree_memory(mount, group, kVersion2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, tree_memory(mount + "/memory", group, kVersion1));
    }
  }
  return least;
}

int64_t available_memory() {
  const int64_t bytes = proc_kilobytes("/proc/meminfo", "MemAvailable:");
  return std::min(bytes < 0 ? kUnbounded : bytes, control_group_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
}

ResidentBytes resident_bytes() {
  const auto bytes_of = [](const char* name) {
    return std::max<int64_t>(0, proc_kilobytes("/proc/self/status", name));
  };
  return {bytes_of("RssAnon:"), bytes_of("RssFile:"), bytes_of("VmHWM:")};
}

void forget_peak_resident() {
  std::ofstream file("/proc/self/clear_refs");
  file << '5';  // proc(5)
}

}  // namespace ripplekv
