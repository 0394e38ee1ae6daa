// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Every writer, with every system call it makes refused in turn, the process killed before and after it, and disks that
// take only a part of each write: the name holds the old file or the new one, whole; a writer that reports an error
// leaves no temporary, and says one sentence. This program's own system calls stand before libc's and fail on order;
// what is killed is a process of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <filesystem>

#include "base/atomic_file.h"
#include "engine/session.h"
#include "engine/tiny_engine.h"
#include "test_util/paths.h"

namespace {

enum class Fault { kNone, kRefused, kKilledBefore, kKilledAfter };

constexpr int kKilled = 99;  // exit code

// What happens in this process; nothing until it is active.
struct Order {
  bool active = false;
  Fault fault = Fault::kNone;
  int at = 0;     // of the calls below, counted from 0
  int error = 0;  // errno of a call refused
  bool short_writes = false;
};
Order order;
int n_calls = 0;

template <class Call>
auto ordered(const Call& call) -> decltype(call()) {
  const bool now = order.active && n_calls++ == order.at;
  if (now && order.fault == Fault::kKilledBefore) ::_exit(kKilled);
  if (now && order.fault == Fault::kRefused) {
    errno = order.error;
    return -1;
  }
  const auto result = call();
  if (now && order.fault == Fault::kKilledAfter) ::_exit(kKilled);
  return result;
}

int as_int(long result) { return static_cast<int>(result); }

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return ordered([&] { return as_int(::syscall(SYS_openat, AT_FDCWD, path, flags, mode)); });
}
ssize_t write(int fd, const void* data, size_t size) {
  if (order.active && order.short_writes) size = (size + 1) / 2;
  return ordered([&] { return static_cast<ssize_t>(::syscall(SYS_write, fd, data, size)); });
}
int fchmod(int fd, mode_t mode) noexcept {
  return ordered([&] { return as_int(::syscall(SYS_fchmod, fd, mode)); });
}
int fsync(int) {
  return ordered([] { return 0; });  // the disk itself is not on trial, and slow
}
int close(int fd) {
  return ordered([&] { return as_int(::syscall(SYS_close, fd)); });
}
int rename(const char* from, const char* to) noexcept {
  return ordered([&] { return as_int(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}
}

namespace ripplekv {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLarge = int64_t{1} << 30;

class WriteFaults : public test::TinyEngineTest {
 protected:
  using Writer = std::function<Status(const std::string& path)>;

  struct Written {
    Status status;
    int n_calls = 0;
  };
  Written write(const Writer& writer, const Order& of) const {
    order = of;
    n_calls = 0;
    order.active = true;
    Status status = writer(path_);
    order.active = false;
    return {std::move(status), n_calls};
  }
  // In a process of its own, which ends before it is done.
  void write_until_killed(const Writer& writer, const Order& of) const {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)write(writer, of).n_calls;
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), kKilled);
  }
  std::string content() const { return fs::exists(path_) ? *read_file(path_, kLarge) : "(none)"; }
  // Puts the old file back (or none) and takes temporaries away; returns how many there were.
  int tidy(bool has_old) const {
    int n_temporary = 0;
    for (const auto& entry : fs::directory_iterator(dir_)) {
      if (entry.path() == path_) continue;
      EXPECT_TRUE(entry.path().filename().string().starts_with(".ripplekv-")) << entry.path();
      fs::remove(entry.path());
      ++n_temporary;
    }
    fs::remove(path_);
    EXPECT_TRUE(!has_old || write_file_atomically(path_, "old").ok());
    return n_temporary;
  }

  void expect_whole_files(const std::string& name, const Writer& writer) const {
    int n_cases = 0;
    tidy(false);
    ASSERT_TRUE(write(writer, {}).status.ok()) << name;
    const std::string new_content = content();
    for (const bool has_old : {true, false}) {
      const std::string old_content = has_old ? "old" : "(none)";
      for (const bool short_writes : {false, true}) {
        tidy(has_old);
        const Written undisturbed = write(writer, {.short_writes = short_writes});
        ASSERT_TRUE(undisturbed.status.ok()) << name << ": " << undisturbed.status.message();
        ASSERT_EQ(content(), new_content) << name;
        ASSERT_EQ(tidy(has_old), 0);
        for (const Fault fault : {Fault::kKilledBefore, Fault::kKilledAfter}) {
          int n_old = 0;
          for (int at = 0; at < undisturbed.n_calls; ++at) {
            write_until_killed(writer, {.fault = fault, .at = at, .short_writes = short_writes});
            ++n_cases;
            const std::string found = content();
            ASSERT_TRUE(found == old_content || found == new_content) << name << ", call " << at << ": " << found;
            if (found == old_content) {
              EXPECT_EQ(n_old, at) << name << ": what was new is old again";
              ++n_old;
            }
            ASSERT_LE(tidy(has_old), 1);
          }
          EXPECT_GT(n_old, 3) << name;
          EXPECT_LT(n_old, undisturbed.n_calls) << name;
        }
        for (const int error : {ENOSPC, EIO, EINTR}) {
          for (int at = 0; at < undisturbed.n_calls; ++at) {
            const Status status =
                write(writer, {.fault = Fault::kRefused, .at = at, .error = error, .short_writes = short_writes})
                    .status;
            ++n_cases;
            const std::string& said = status.message();
            const bool is_new = status.ok() || said.find(": written, but") != std::string::npos;
            ASSERT_EQ(content(), is_new ? new_content : old_content) << name << ", call " << at << ": " << said;
            ASSERT_EQ(tidy(has_old), 0) << name << ", call " << at << ": " << said;
            if (status.ok()) continue;
            EXPECT_TRUE(said.starts_with(path_ + ": ")) << said;
            EXPECT_TRUE(said.ends_with(std::generic_category().message(error)) || is_new) << said;
            EXPECT_EQ(said.find('\n'), std::string::npos) << said;
          }
        }
      }
    }
    RecordProperty("cases", n_cases);
  }

  const std::string dir_ = test::temp_dir();
  const std::string path_ = dir_ + "/file";
};

TEST_F(WriteFaults, Budgets) {
  const Profile of_model = profile();
  const Budgets budgets = *make_budgets(model_->id(), policy("snapkv", "ripple", 0.4), &of_model);
  expect_whole_files("budgets", [&](const std::string& path) { return write_budgets(budgets, path); });
}

TEST_F(WriteFaults, Profile) {
  const ripplekv::Profile of_model = profile();
  expect_whole_files("profile", [&](const std::string& path) { return write_profile(of_model, path); });
}

TEST_F(WriteFaults, Session) {
  SessionState state;
  state.model = model_->id();
  state.messages = {{"user", "hello"}, {"assistant", "yes"}};
  state.n_prompt = 40;
  state.tokens = tokens(40);
  const Sequence sequence = prefill(*engine_, state.tokens, plan(policy("snapkv", "uniform", 0.5), 40));
  state.logits = sequence.logits;
  expect_whole_files("session", [&](const std::string& path) { return write_session(path, state, sequence.cache); });
}

// What `trace` writes, its JSON and its page: text.
TEST_F(WriteFaults, Text) {
  const std::string text(100000, 't');
  expect_whole_files("text", [&](const std::string& path) { return write_file_atomically(path, text); });
}

}  // namespace
}  // namespace ripplekv
