// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Cores and memory: within what the system says otherwise, and following what this process does; control groups from
// folders written by hand.
#include "engine/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "base/random.h"
#include "test_util/paths.h"

#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ripplekv {
namespace {

TEST(Machine, Cores) {
  const int n = n_physical_cores();
  EXPECT_GE(n, 1);
  const auto n_processor = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_TRUE(n_processor == 0 || n <= n_processor) << n << " cores of " << n_processor;
}

#ifdef __linux__
TEST(Machine, CoresAreThoseThisProcessMayUse) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const int n = n_physical_cores();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(n, 1);
}

TEST(Machine, AvailableMemoryIsPartOfTheMachines) {
  const int64_t installed = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  EXPECT_GT(available_memory(), 0);
  EXPECT_LE(available_memory(), installed);
}

TEST(Machine, ResidentMemoryFollowsPagesThatAreTouched) {
  constexpr size_t kBytes = size_t{32} << 20;
  const int64_t before = resident_bytes().anonymous;
  EXPECT_GT(before, 0);
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const int64_t mapped = resident_bytes().anonymous;
  std::memset(pages, 1, kBytes);
  const int64_t touched = resident_bytes().anonymous;
  munmap(pages, kBytes);
  const int64_t unmapped = resident_bytes().anonymous;
  constexpr int64_t kSome = int64_t{2} << 20;
  EXPECT_LT(mapped - before, kSome);
  EXPECT_NEAR(static_cast<double>(touched - mapped), static_cast<double>(kBytes), kSome);
  EXPECT_NEAR(static_cast<double>(touched - unmapped), static_cast<double>(kBytes), kSome);
}

TEST(Machine, PeakStaysUntilItIsForgotten) {
  constexpr size_t kBytes = size_t{32} << 20;
  constexpr int64_t kSome = int64_t{4} << 20;
  const ResidentBytes before = resident_bytes();
  EXPECT_GE(before.peak, before.anonymous + before.file);
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 1, kBytes);
  munmap(pages, kBytes);
  const ResidentBytes after = resident_bytes();
  EXPECT_GT(after.peak - after.anonymous - after.file, static_cast<int64_t>(kBytes) - kSome);
  forget_peak_resident();
  const ResidentBytes forgotten = resident_bytes();
  EXPECT_LT(forgotten.peak - forgotten.anonymous - forgotten.file, kSome);
}
#endif

class ControlGroupTest : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir_ + "/" + path).parent_path());
    std::filesystem::remove(dir_ + "/" + path);  // replacing by truncation makes ext4 wait for the disk
    std::ofstream(dir_ + "/" + path) << text;
  }
  // Of a process that is in `membership`, text as in /proc/self/cgroup.
  int64_t memory(const std::string& membership) {
    put("membership", membership);
    return control_group_memory(dir_ + "/membership", dir_ + "/mount");
  }

  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
  const std::string dir_ = test::temp_dir();
};

TEST_F(ControlGroupTest, Version2) {
  put("mount/job/memory.max", "1000\n");
  put("mount/job/memory.current", "700\n");
  EXPECT_EQ(memory("0::/job\n"), 300);  // no memory.stat: nothing is known to be reclaimable
  put("mount/job/memory.stat", "anon 500\ninactive_file_x 7\ninactive_file 150\nactive_file 50\n");
  EXPECT_EQ(memory("0::/job\n"), 450);
  put("mount/job/memory.high", "900\n");
  EXPECT_EQ(memory("0::/job\n"), 350);
  put("mount/job/memory.max", "max\n");
  EXPECT_EQ(memory("0::/job\n"), 350);
  put("mount/job/memory.high", "max\n");
  EXPECT_EQ(memory("0::/job\n"), kUnbounded);
}

TEST_F(ControlGroupTest, Version1) {
  put("mount/memory/job/memory.limit_in_bytes", "1000\n");
  put("mount/memory/job/memory.usage_in_bytes", "700\n");
  put("mount/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 150\n");
  const std::string others = "9:name=systemd:/other\n5:devices,memory_x:/other\n";
  EXPECT_EQ(memory(others + "4:memory:/job\n0::/\n"), 450);
  EXPECT_EQ(memory(others + "4:cpu,memory:/job\n"), 450);
  EXPECT_EQ(memory(others), kUnbounded);
  // v1's way to say that there is no limit: the largest whole number of pages.
  put("mount/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_GT(memory("4:memory:/job\n"), kUnbounded / 2);
}

TEST_F(ControlGroupTest, TheTightestGroupOnTheWayToTheRootCounts) {
  const auto limit = [&](const std::string& group, const std::string& max, const std::string& current) {
    put("mount" + group + "/memory.max", max);
    put("mount" + group + "/memory.current", current);
  };
  limit("", "5000", "1000");
  limit("/outer", "3000", "1000");
  limit("/outer/middle", "max", "1000");
  limit("/outer/middle/inner", "9000", "1000");
  EXPECT_EQ(memory("0::/outer/middle/inner\n"), 2000);
  limit("/outer", "9000", "1000");
  EXPECT_EQ(memory("0::/outer/middle/inner\n"), 4000);
  limit("/outer/middle/inner", "1500", "1000");
  EXPECT_EQ(memory("0::/outer/middle/inner\n"), 500);
  EXPECT_EQ(memory("0::/outer/middle\n"), 4000);
  EXPECT_EQ(memory("0::/\n"), 4000);
}

TEST_F(ControlGroupTest, InAContainerTheMountsRootIsItsGroup) {
  put("mount/memory/memory.limit_in_bytes", "1000");
  put("mount/memory/memory.usage_in_bytes", "400");
  EXPECT_EQ(memory("4:memory:/docker/0123456789abcdef\n"), 600);  // the host's path, not in this mount
  EXPECT_EQ(memory("4:memory:/../../docker/0123456789abcdef\n"), 600);
  // A path that leaves the mount is not followed.
  put("memory.max", "10");
  put("memory.current", "1");
  EXPECT_EQ(memory("0::/..\n"), kUnbounded);
}

TEST_F(ControlGroupTest, WhatIsUsedUpIsZeroAndNeverNegative) {
  put("mount/memory.max", "1000");
  put("mount/memory.current", "5000");  // a limit lowered below the usage
  EXPECT_EQ(memory("0::/\n"), 0);
  put("mount/memory.stat", "inactive_file 4500");
  EXPECT_EQ(memory("0::/\n"), 500);
  put("mount/memory.stat", "inactive_file 9000");  // more than all: usage and statistics are of different moments
  EXPECT_EQ(memory("0::/\n"), 1000);
  put("mount/memory.max", "0");
  EXPECT_EQ(memory("0::/\n"), 0);
  put("mount/memory.current", "9223372036854775807");
  put("mount/memory.stat", "inactive_file -5");
  EXPECT_EQ(memory("0::/\n"), 0);
}

TEST_F(ControlGroupTest, WhatMakesNoSenseBoundsNothing) {
  EXPECT_EQ(control_group_memory(dir_ + "/none", dir_ + "/mount"), kUnbounded);
  put("mount/memory.max", "1000");
  EXPECT_EQ(memory("0::/\n"), kUnbounded) << "a limit whose usage is unknown";
  put("mount/memory.current", "300");
  ASSERT_EQ(memory("0::/\n"), 700);
  for (const std::string membership : {"", "\n", "0::", "0:", ":::", "0::job", "no colons", "1::/", "0::\n0\n"}) {
    EXPECT_EQ(memory(membership), kUnbounded) << membership;
  }
  EXPECT_EQ(memory("rubbish\n0::/\n"), 700);
  for (const std::string number : {"", "\n", "-1", "1e3", "12 kB", "0x10", "9223372036854775808", "\xFF"}) {
    put("mount/memory.max", number);
    EXPECT_EQ(memory("0::/\n"), kUnbounded) << number;
    put("mount/memory.max", "1000");
    put("mount/memory.current", number);
    EXPECT_EQ(memory("0::/\n"), kUnbounded) << number;
    put("mount/memory.current", "300");
    put("mount/memory.stat", "inactive_file " + number);
    EXPECT_EQ(memory("0::/\n"), 700) << number;
  }
  std::filesystem::remove(dir_ + "/mount/memory.max");
  std::filesystem::create_directory(dir_ + "/mount/memory.max");
  EXPECT_EQ(memory("0::/\n"), kUnbounded);
}

TEST_F(ControlGroupTest, RandomFilesNeverGiveANegativeNumber) {
  Random random(1);
  const auto text = [&] {
    std::string bytes(random.below(24), '\0');
    for (char& c : bytes) c = "0123456789-max:/.,\n "[random.below(20)];
    return bytes;
  };
  for (int i = 0; i < 300; ++i) {
    put("mount/memory.max", text());
    put("mount/memory.current", text());
    put("mount/memory.stat", "inactive_file " + text());
    ASSERT_GE(memory("0::/" + text()), 0);
  }
}

}  // namespace
}  // namespace ripplekv
