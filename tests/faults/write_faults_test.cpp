// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Every writer, with every system call it makes refused in turn, the process killed before and after it, and disks that
// take only a part of each write: the name holds the old file or the new one, whole; a writer that reports an error
// leaves no temporary, and says one sentence. Each case is a process of its own, in which this program's own system
// calls, which stand before libc's, fail on order.
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

struct Outcome {
  bool killed = false;
  bool ok = false;
  int n_calls = 0;
  std::string message;
};

class WriteFaults : public test::TinyEngineTest {
 protected:
  using Writer = std::function<Status(const std::string& path)>;

  // In a process of its own.
  Outcome write(const Writer& writer, const Order& of) const {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      order = of;
      order.active = true;
      const Status status = writer(path_);
      order.active = false;
      const std::string said = (status.ok() ? "1" : "0") + std::to_string(n_calls) + " " + status.message();
      ::_exit(::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said;
    char buffer[512];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) said.append(buffer, static_cast<size_t>(n));
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    Outcome outcome;
    outcome.killed = WEXITSTATUS(status) == kKilled;
    if (outcome.killed) return outcome;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    outcome.ok = said.starts_with("1");
    outcome.n_calls = std::atoi(said.substr(1).c_str());
    outcome.message = said.substr(std::min(said.find(' '), said.size() - 1) + 1);
    return outcome;
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
    tidy(false);
    ASSERT_TRUE(write(writer, {}).ok) << name;
    const std::string new_content = content();
    for (const bool has_old : {true, false}) {
      const std::string old_content = has_old ? "old" : "(none)";
      for (const bool short_writes : {false, true}) {
        tidy(has_old);
        const Outcome undisturbed = write(writer, {.short_writes = short_writes});
        ASSERT_TRUE(undisturbed.ok) << name << ": " << undisturbed.message;
        ASSERT_EQ(content(), new_content) << name;
        ASSERT_EQ(tidy(has_old), 0);
        for (const Fault fault : {Fault::kKilledBefore, Fault::kKilledAfter}) {
          int n_old = 0;
          for (int at = 0; at < undisturbed.n_calls; ++at) {
            const Outcome outcome = write(writer, {.fault = fault, .at = at, .short_writes = short_writes});
            ASSERT_TRUE(outcome.killed) << name << ", call " << at;
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
            const Outcome outcome =
                write(writer, {.fault = Fault::kRefused, .at = at, .error = error, .short_writes = short_writes});
            const bool is_new = outcome.ok || outcome.message.find(": written, but") != std::string::npos;
            ASSERT_EQ(content(), is_new ? new_content : old_content) << name << ", call " << at << outcome.message;
            ASSERT_EQ(tidy(has_old), 0) << name << ", call " << at << ": " << outcome.message;
            if (outcome.ok) continue;
            EXPECT_TRUE(outcome.message.starts_with(path_ + ": ")) << outcome.message;
            EXPECT_TRUE(outcome.message.ends_with(std::generic_category().message(error)) || is_new) << outcome.message;
            EXPECT_EQ(outcome.message.find('\n'), std::string::npos) << outcome.message;
          }
        }
      }
    }
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
