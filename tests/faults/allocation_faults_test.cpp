// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Memory that runs out in selection, allocation and the readers and writers of artefacts: each allocation fails in
// turn, alone or with all that follow, by this program's own operator new. std::bad_alloc comes through or, where the
// JSON library's destructors need memory, the process ends (docs/reliability.md); nothing leaks, no file is left half
// written or open, and the next call does its work. Runs in processes of its own, which may end.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>

#include "allocation/artefact_parts.h"
#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json_file.h"
#include "base/random.h"
#include "engine/policy.h"
#include "engine/session.h"
#include "engine/tiny_engine.h"
#include "profiling/calibration.h"
#include "ripplekv/selection.h"
#include "test_util/paths.h"

namespace {

int64_t n_live = 0;     // allocations not freed
int64_t n_until = -1;   // allocations until one fails; negative: none does
bool fails_on = false;  // and all that follow it
bool failed = false;

}  // namespace

// Inlined, GCC would call the pair of malloc() and free() in them a mismatch.
[[gnu::noinline]] void* operator new(size_t size) {
  if (n_until == 0) {
    failed = true;
    n_until = fails_on ? 0 : -1;
    throw std::bad_alloc();
  }
  if (n_until > 0) --n_until;
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  ++n_live;
  return memory;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t size, const std::nothrow_t& nothrow) noexcept { return operator new(size, nothrow); }
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) --n_live;
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, size_t) noexcept { operator delete(memory); }

namespace ripplekv {
namespace {

// The next descriptor that would be given out: one that stays open moves it.
int next_descriptor() {
  const int fd = ::dup(STDIN_FILENO);
  ::close(fd);
  return fd;
}

constexpr int kTerminated = 99;  // exit code

// What the processes of one run tell each other.
struct Shared {
  int64_t at = 0;  // the allocation that fails
  int64_t n_terminated = 0;
  int64_t n_old = 0;  // for checks
};
Shared& shared() {
  static void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<Shared*>(memory);
}

// One run with allocation `at` failing; false once it needs no more.
template <class Run, class Expected>
bool fail_allocation(const Run& run, const Expected& expected, int64_t at) {
  const int64_t n_before = n_live;
  const int next_before = next_descriptor();
  bool threw = false;
  {
    std::optional<Expected> got;
    failed = false;
    n_until = at;
    try {
      got.emplace(run());
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    n_until = -1;
    // A nothrow allocation that fails is no exception: the work is done some other way.
    EXPECT_TRUE(threw || *got == expected) << "allocation " << at;
  }
  EXPECT_EQ(n_live, n_before) << "allocation " << at;
  EXPECT_EQ(next_descriptor(), next_before) << "allocation " << at;
  return failed;
}

// Runs `run` with its 1st, 2nd, ... allocation failing until it needs no more; returns how many failed. What it returns
// when it does is what it returned before; `after_failure` looks at what a failed run left.
template <class Run, class Check>
int64_t fail_each_allocation(const Run& run, const Check& after_failure) {
  const auto expected = run();  // also makes what is made once
  int64_t n_failed = 0;
  for (const bool on : {false, true}) {
    fails_on = on;
    shared().at = 0;
    for (bool done = false; !done;) {
      const pid_t child = ::fork();
      if (child == 0) {
        std::set_terminate([] { ::_exit(kTerminated); });
        for (; fail_allocation(run, expected, shared().at); ++shared().at) {
          after_failure();
          if (testing::Test::HasFailure()) break;
        }
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
      }
      int status = 0;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      done = !WIFEXITED(status) || WEXITSTATUS(status) != kTerminated;
      if (done) {
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "allocation " << shared().at;
      } else {
        ++shared().at;
        ++shared().n_terminated;
        after_failure();
      }
    }
    n_failed += shared().at;
  }
  return n_failed;
}
template <class Run>
int64_t fail_each_allocation(const Run& run) {
  const int64_t n_before = shared().n_terminated;
  const int64_t n_failed = fail_each_allocation(run, [] {});
  EXPECT_EQ(shared().n_terminated, n_before);
  return n_failed;
}
// Where JSON is built or read.
constexpr auto kNothing = [] {};

class AllocationFaults : public test::TinyEngineTest {
 protected:
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << text;
    return dir_ + "/" + name;
  }
  Budgets budgets() const {
    const Profile of_model = profile();
    return *make_budgets(model_->id(), policy("snapkv", "ripple", 0.4), &of_model);
  }
  // A writer of the file `path_`: old or new after each failure, and nothing beside it.
  void expect_old_or_new(const std::function<Status()>& write) {
    ASSERT_TRUE(write().ok());
    const std::string new_content = *read_file(path_, 1 << 24);
    std::filesystem::remove(path_);
    ASSERT_TRUE(write_file_atomically(path_, "old").ok());
    shared().n_old = 0;
    int64_t n_terminated = shared().n_terminated;
    const auto check = [&] {
      const std::string found = *read_file(path_, 1 << 24);
      EXPECT_TRUE(found == "old" || found == new_content) << found;
      shared().n_old += found == "old" ? 1 : 0;
      int n_files = 0;
      for (const auto& file : std::filesystem::directory_iterator(dir_)) {
        n_files += file.path() == path_ || shared().n_terminated == n_terminated ? 1 : 0;
        if (file.path() != path_) std::filesystem::remove(file.path());  // a process that ended may leave one
      }
      EXPECT_EQ(n_files, 1);
      n_terminated = shared().n_terminated;
      EXPECT_TRUE(write_file_atomically(path_, "old").ok());
    };
    const auto ok = [&] { return write().ok(); };
    EXPECT_GT(fail_each_allocation(ok, check), 5);
    EXPECT_GT(shared().n_old, 5);
  }

  const std::string dir_ = test::temp_dir();
  const std::string path_ = dir_ + "/file";
};

TEST_F(AllocationFaults, Selection) {
  constexpr int kHead = 4;
  constexpr int kHeadKv = 2;
  constexpr int kRows = 60;
  constexpr int kDim = 8;
  Random random(3);
  const auto numbers = [&](size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(random.below(1000)) / 1000;
    return values;
  };
  const auto attention = numbers(kRows * kHead);
  const auto norms = numbers(kRows * kHeadKv);
  const auto keys = numbers(kDim * kRows * kHeadKv);
  const auto future = numbers(kRows * kHead);
  const LayerTaps taps = {.layer = 1,
                          .n_rows = kRows,
                          .n_head = kHead,
                          .n_head_kv = kHeadKv,
                          .n_window = 8,
                          .window_attention = attention,
                          .value_norm = norms,
                          .keys = keys,
                          .future_attention = future};
  std::vector<std::string> names = {"sinks+h2o"};
  for (const SelectorInfo& info : selector_registry()) names.emplace_back(info.name);
  SelectorOptions options;
  options.window = 8;
  for (const std::string& name : names) {
    for (const bool other : {false, true}) {
      options.value_norm = other;
      options.pooling = other ? Pooling::kMax : Pooling::kAverage;
      options.group = other ? GroupReduce::kMax : GroupReduce::kMean;
      const int64_t n_failed = fail_each_allocation([&] {
        const auto selector = make_selector(name, options);
        return prune((*selector)->score(taps), kRows, kHeadKv, 20, (*selector)->protected_rows());
      });
      EXPECT_GT(n_failed, 2) << name;
    }
  }
  const auto refused = [&] { return make_selector("none", options).status().message(); };
  EXPECT_GT(fail_each_allocation(refused), 2);
}

TEST_F(AllocationFaults, Allocation) {
  const std::vector<double> sensitivity = {0.1, 0.9, 0.0, 0.4, 0.4};
  for (const Transform transform : {Transform::kLinear, Transform::kSqrt, Transform::kLog, Transform::kRank}) {
    const int64_t n_failed = fail_each_allocation([&] {
      const auto weights = ripple_weights(sensitivity, {.transform = transform});
      return *rows_for(*weights, 500, 16, 300);
    });
    EXPECT_GT(n_failed, 3);
  }
  EXPECT_GT(fail_each_allocation([&] { return *rows_for(*pyramid_weights(7, {}), 700, 40, 300); }), 2);
  EXPECT_GT(fail_each_allocation([&] { return *rows_for(uniform_weights(7), 700, 40, 300); }), 2);
  EXPECT_GT(fail_each_allocation([&] { return rows_for(uniform_weights(7), 70, 40, 300).status().message(); }), 2);
  EXPECT_GT(fail_each_allocation([] { return parse_kv_budget("12parsecs").status().message(); }), 1);

  const Profile of_model = profile();
  for (const std::string allocator : {"ripple", "pyramid", "uniform", "none"}) {
    const int64_t n_failed = fail_each_allocation(
        [&] {
          const auto made = make_budgets(model_->id(), policy("snapkv", allocator, 0.4), &of_model);
          return made.ok() ? plan_cache(*made, config(), 300)->rows : std::vector<int64_t>();
        },
        kNothing);
    EXPECT_GT(n_failed, 5) << allocator;
  }
}

TEST_F(AllocationFaults, WritingArtefacts) {
  const Budgets of = budgets();
  expect_old_or_new([&] { return write_budgets(of, path_); });
  const Profile of_model = profile();
  expect_old_or_new([&] { return write_profile(of_model, path_); });
  SessionState state;
  state.model = model_->id();
  state.messages = {{"user", "hello"}, {"assistant", "yes"}};
  state.n_prompt = 40;
  state.tokens = tokens(40);
  const Sequence sequence = prefill(*engine_, state.tokens, plan(policy("snapkv", "uniform", 0.5), 40));
  expect_old_or_new([&] { return write_session(path_, state, sequence.cache); });
  std::filesystem::create_symlink("file", dir_ + "/link");
  const auto through_link = [&] { return write_file_atomically(dir_ + "/link", "new").ok(); };
  EXPECT_GT(fail_each_allocation(through_link), 2);
}

TEST_F(AllocationFaults, ReadingArtefacts) {
  ASSERT_TRUE(write_budgets(budgets(), path_).ok());
  const std::string good = *read_file(path_, 1 << 24);
  const auto read_back = [&] {
    const auto read = read_budgets(path_);
    return read.ok() ? budgets_json(*read)->dump() : read.status().message();
  };
  EXPECT_GT(fail_each_allocation(read_back, kNothing), 100);
  for (const std::string& bad : {good.substr(0, good.size() / 2), good.substr(1), "{\"format\": \"x\"}" + good}) {
    std::filesystem::remove(path_);
    put("file", bad);
    EXPECT_GT(fail_each_allocation(read_back, kNothing), 5);
  }

  std::filesystem::remove(path_);
  const Profile of_model = profile();
  ASSERT_TRUE(write_profile(of_model, path_).ok());
  const auto read_profile_back = [&] {
    const auto read = read_profile(path_);
    return read.ok() ? hash_of(*read) : read.status().message();
  };
  EXPECT_GT(fail_each_allocation(read_profile_back, kNothing), 100);

  SessionState state;
  state.model = model_->id();
  state.messages = {{"user", "hello"}, {"assistant", "yes"}};
  state.n_prompt = 40;
  state.tokens = tokens(40);
  state.budgets = budgets();
  const Sequence sequence = prefill(*engine_, state.tokens, plan(policy("snapkv", "uniform", 0.5), 40));
  std::filesystem::remove(path_);
  ASSERT_TRUE(write_session(path_, state, sequence.cache).ok());
  const auto read_session_back = [&] {
    const auto read = read_session(path_, *model_);
    return read.ok() ? read->state.tokens.size() + static_cast<size_t>(read->cache.n_rows()) : 0;
  };
  EXPECT_GT(fail_each_allocation(read_session_back, kNothing), 100);
}

TEST_F(AllocationFaults, ReadingCalibration) {
  put("a.txt", "some text\nof two lines");
  put("b.jsonl",
      "{\"ids\": [1, 2, 3], \"answer\": [4]}\n\n{\"context\": \"text\", \"input\": \"q\", \"answers\": [\"a\"]}\n");
  put("bad.json", "[{\"input\": \"text\", \"instructions\": 7}]");
  for (const std::string name : {"/a.txt", "/b.jsonl", "/bad.json", ""}) {
    const int64_t n_failed = fail_each_allocation(
        [&] {
          const auto read = read_calibration(dir_ + name, 9);
          std::string all = read.status().message();
          for (const CalibrationSample& sample : read.ok() ? *read : std::vector<CalibrationSample>()) {
            all += sample.id + "|" + sample.text() + "|" + sample.answer + std::to_string(sample.ids.size());
          }
          return all;
        },
        kNothing);
    EXPECT_GT(n_failed, 5) << name;
  }
}

}  // namespace
}  // namespace ripplekv
