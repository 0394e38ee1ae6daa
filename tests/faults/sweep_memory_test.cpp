// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What a sweep over policies and budgets holds, as the system sees it: every cache maps its own pages, and this
// program's mmap and munmap stand before libc's and count them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "engine/tiny_engine.h"
#include "eval/runner.h"

namespace {

std::atomic<int64_t> mapped{0};  // bytes that this program asked for itself
std::atomic<int64_t> peak{0};

}  // namespace

extern "C" {

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what the system call returns
  void* pages = reinterpret_cast<void*>(::syscall(SYS_mmap, at, size, protection, flags, fd, offset));
  if (pages != MAP_FAILED) {
    mapped += static_cast<int64_t>(size);
    peak = std::max(peak.load(), mapped.load());
  }
  return pages;
}
int munmap(void* pages, size_t size) noexcept {
  mapped -= static_cast<int64_t>(size);
  return static_cast<int>(::syscall(SYS_munmap, pages, size));
}
}

namespace ripplekv {
namespace {

class SweepMemoryTest : public test::TinyEngineTest {};

TEST_F(SweepMemoryTest, OneFullCacheAndOneFork) {
  constexpr int64_t kPrompt = 1000;
  RunnerOptions options;
  for (const char* selector : {"snapkv", "h2o", "streaming_llm", "knorm", "tova"}) {
    EvalPolicy& policy =
        options.policies.emplace_back(EvalPolicy{selector, TinyEngineTest::policy(selector, "uniform", 1), nullptr});
    policy.policy.kv_format = {};
  }
  options.kept = {0.2, 0.3, 0.5};
  options.n_answer = 8;
  options.n_generate = 8;
  for (const int64_t n_question : {0, 20}) {
    const int64_t before = mapped;
    auto runner = PromptRunner::create(*engine_, tokens(kPrompt), options, n_question, nullptr);
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    const int64_t full = mapped - before;
    EXPECT_NEAR(static_cast<double>(full), static_cast<double>(runner->cost().full_bytes), 0.1 * full);
    peak = mapped.load();
    const auto result = runner->ask(tokens(n_question, 2), options.policies);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->results.size(), 15U);
    EXPECT_EQ(mapped - before, full) << "a fork was left behind";
    // Beside the full cache the largest fork, half of it, with what it grows by while it answers (a layer that grows
    // stands beside its old self for a moment: an eighth); never a second fork.
    const int64_t fork = peak - before - full;
    EXPECT_GE(fork, full / 2 - full / 20);
    EXPECT_LE(fork, full / 2 + full / 8 + full / 20);
    EXPECT_NEAR(static_cast<double>(runner->cost().fork_bytes), static_cast<double>(full) / 2, full / 10.0);
  }
}

// As many forks as answer at once, and no more.
TEST_F(SweepMemoryTest, ForksThatAnswerAtOnce) {
  constexpr int64_t kPrompt = 1000;
  RunnerOptions options;
  for (const char* selector : {"snapkv", "h2o", "streaming_llm", "knorm", "tova", "keydiff"}) {
    EvalPolicy& policy =
        options.policies.emplace_back(EvalPolicy{selector, TinyEngineTest::policy(selector, "uniform", 1), nullptr});
    policy.policy.kv_format = {};
  }
  options.kept = {0.5};
  options.n_answer = 8;
  options.n_generate = 8;
  options.n_parallel = 3;
  const int64_t before = mapped;
  auto runner = PromptRunner::create(*engine_, tokens(kPrompt), options, /*n_question_max=*/0, nullptr);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const int64_t full = mapped - before;
  peak = mapped.load();
  const auto result = runner->ask({}, options.policies);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(mapped - before, full) << "a fork was left behind";
  const int64_t forks = peak - before - full;
  EXPECT_GE(forks, 3 * (full / 2 - full / 20));
  EXPECT_LE(forks, 3 * (full / 2 + full / 8 + full / 20));
  EXPECT_NEAR(static_cast<double>(runner->cost().fork_bytes), 1.5 * static_cast<double>(full), full / 5.0);
}

}  // namespace
}  // namespace ripplekv
