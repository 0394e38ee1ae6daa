// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Cores and memory: within what the system says otherwise, and following what this process does.
#include "engine/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

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
  const int64_t before = resident_memory();
  EXPECT_GT(before, 0);
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const int64_t mapped = resident_memory();
  std::memset(pages, 1, kBytes);
  const int64_t touched = resident_memory();
  munmap(pages, kBytes);
  const int64_t unmapped = resident_memory();
  constexpr int64_t kSome = int64_t{2} << 20;
  EXPECT_LT(mapped - before, kSome);
  EXPECT_NEAR(static_cast<double>(touched - mapped), static_cast<double>(kBytes), kSome);
  EXPECT_NEAR(static_cast<double>(touched - unmapped), static_cast<double>(kBytes), kSome);
}
#endif

}  // namespace
}  // namespace ripplekv
