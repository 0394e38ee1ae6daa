// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Atomic files: contents, limits, and that a failure at any step (a full disk, a sync or rename refused, a kill) leaves
// the old file or the new one and no temporary. This program's own fsync and rename stand before libc's to fail on
// order.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "test_util/paths.h"

namespace {

// Calls until the one that fails; negative: none fails.
std::atomic<int> fsyncs_left{-1};
std::atomic<int> renames_left{-1};
std::atomic<int> n_fsync{0};

bool fails_now(std::atomic<int>& left) { return left >= 0 && left-- == 0; }

}  // namespace

extern "C" int fsync(int fd) {
  ++n_fsync;
  if (fails_now(fsyncs_left)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (fails_now(renames_left)) {
    errno = EROFS;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace ripplekv {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr int64_t kLarge = int64_t{1} << 30;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string content_of(const std::string& path) {
  auto content = read_file(path, kLarge);
  return content.ok() ? *content : "(" + content.status().message() + ")";
}

class AtomicFileTest : public testing::Test {
 protected:
  void TearDown() override {
    fsyncs_left = -1;
    renames_left = -1;
  }
  const std::string dir_ = test::temp_dir();
  const std::string path_ = dir_ + "/file";
};

TEST_F(AtomicFileTest, RoundTripsAnyBytes) {
  std::string all(256 * 1000, '\0');
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
  for (const std::string& content : {""s, "text\n"s, "a\0b"s, all}) {
    ASSERT_TRUE(write_file_atomically(path_, content).ok());
    EXPECT_EQ(content_of(path_), content);
    EXPECT_EQ(names_in(dir_), std::vector<std::string>{"file"});
  }
}

TEST_F(AtomicFileTest, SyncsTheFileAndItsFolder) {
  n_fsync = 0;
  ASSERT_TRUE(write_file_atomically(path_, "x").ok());
  EXPECT_EQ(n_fsync, 2);
}

TEST_F(AtomicFileTest, RelativePathsAndLongNames) {
  const fs::path before = fs::current_path();
  fs::current_path(dir_);
  EXPECT_TRUE(write_file_atomically("relative", "r").ok());
  fs::current_path(before);
  EXPECT_EQ(content_of(dir_ + "/relative"), "r");
  const std::string longest = dir_ + "/" + std::string(255, 'n');  // NAME_MAX: the temporary must not be longer
  EXPECT_TRUE(write_file_atomically(longest, "l").ok());
  EXPECT_EQ(content_of(longest), "l");
  const Status too_long = write_file_atomically(dir_ + "/" + std::string(256, 'n'), "l");
  EXPECT_EQ(too_long.code(), StatusCode::kInvalidArgument) << too_long.message();
  EXPECT_EQ(names_in(dir_).size(), 2u);
}

TEST_F(AtomicFileTest, PermissionsFollowTheUmaskOrTheOldFile) {
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(write_file_atomically(path_, "new").ok());
  ::umask(mask);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  ASSERT_EQ(::chmod(path_.c_str(), 0604), 0);
  ASSERT_TRUE(write_file_atomically(path_, "newer").ok());
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0604u);
}

TEST_F(AtomicFileTest, SymbolicLinksStay) {
  fs::create_directory(dir_ + "/real");
  ASSERT_TRUE(write_file_atomically(dir_ + "/real/target", "old").ok());
  fs::create_symlink("real/target", path_);
  ASSERT_TRUE(write_file_atomically(path_, "new").ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(content_of(dir_ + "/real/target"), "new");
  fs::create_symlink("nowhere", dir_ + "/dangling");
  EXPECT_EQ(write_file_atomically(dir_ + "/dangling", "x").code(), StatusCode::kNotFound);
  fs::create_symlink("loop", dir_ + "/loop");
  EXPECT_FALSE(write_file_atomically(dir_ + "/loop", "x").ok());
  fs::create_symlink("real", dir_ + "/folder_link");
  EXPECT_FALSE(write_file_atomically(dir_ + "/folder_link", "x").ok());
}

TEST_F(AtomicFileTest, UnusableTargetsAreRefusedAndNamed) {
  fs::create_directory(dir_ + "/folder");
  ASSERT_TRUE(write_file_atomically(path_, "old").ok());
  ASSERT_EQ(::mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  struct Case {
    std::string path;
    StatusCode code;
    std::string fault;
  };
  for (const auto& [path, code, fault] : std::vector<Case>{
           {"", StatusCode::kInvalidArgument, "empty name"},
           {dir_ + "/folder", StatusCode::kInvalidArgument, "is a folder"},
           {dir_ + "/folder/", StatusCode::kInvalidArgument, "folder"},
           {dir_ + "/missing/file", StatusCode::kNotFound, "missing"},
           {path_ + "/below", StatusCode::kNotFound, "Not a directory"},
           {dir_ + "/pipe", StatusCode::kInvalidArgument, "device or pipe"},
           {"/dev/null", StatusCode::kInvalidArgument, "device or pipe"},
           {dir_ + "/zero\0byte"s, StatusCode::kInvalidArgument, "zero byte"},
       }) {
    const Status status = write_file_atomically(path, "x");
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(fault), std::string::npos) << status.message();
    EXPECT_EQ(check_can_write(path).code(), code);
    EXPECT_EQ(check_can_write(path).message(), status.message());
  }
  EXPECT_EQ(names_in(dir_), (std::vector<std::string>{"file", "folder", "pipe"}));
  EXPECT_EQ(content_of(path_), "old");
}

TEST_F(AtomicFileTest, CheckingLeavesEverythingAsItWas) {
  EXPECT_TRUE(check_can_write(path_).ok());
  EXPECT_EQ(names_in(dir_), std::vector<std::string>{});
  ASSERT_TRUE(write_file_atomically(path_, "old").ok());
  EXPECT_TRUE(check_can_write(path_).ok());
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(names_in(dir_), std::vector<std::string>{"file"});
  // A folder in which no file can be made, not even by root.
  EXPECT_NE(check_can_write("/proc/file").message().find("cannot create a file in folder /proc"), std::string::npos);
}

TEST_F(AtomicFileTest, ARefusedSyncLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomically(path_, "old").ok());
  fsyncs_left = 0;
  const Status status = write_file_atomically(path_, "new");
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find(path_), std::string::npos);
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(names_in(dir_), std::vector<std::string>{"file"});
}

TEST_F(AtomicFileTest, ARefusedRenameLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomically(path_, "old").ok());
  renames_left = 0;
  EXPECT_EQ(write_file_atomically(path_, "new").code(), StatusCode::kIo);
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(names_in(dir_), std::vector<std::string>{"file"});
}

TEST_F(AtomicFileTest, ARefusedSyncOfTheFolderIsSaid) {
  fsyncs_left = 1;
  const Status status = write_file_atomically(path_, "new");
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("written, but"), std::string::npos) << status.message();
  EXPECT_EQ(content_of(path_), "new");
}

// A disk that fills up: the limit on file sizes refuses the write in the middle.
TEST_F(AtomicFileTest, NoSpaceLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomically(path_, "old").ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const Status status = write_file_atomically(path_, std::string(300000, 'n'));
    ::_exit(status.code() == StatusCode::kResourceExhausted ? 0 : 1);
  }
  int wait_status = 0;
  ASSERT_EQ(::waitpid(child, &wait_status, 0), child);
  EXPECT_TRUE(WIFEXITED(wait_status));
  EXPECT_EQ(WEXITSTATUS(wait_status), 0);
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(names_in(dir_), std::vector<std::string>{"file"});
}

TEST_F(AtomicFileTest, AKilledWriterLeavesOldOrNew) {
  const std::string a(1 << 20, 'a');
  const std::string b(1 << 20, 'b');
  ASSERT_TRUE(write_file_atomically(path_, a).ok());
  Random random(5);
  int left_temporary = 0;
  for (int round = 0; round < 25; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) {
        if (!write_file_atomically(path_, b).ok() || !write_file_atomically(path_, a).ok()) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random.below(20000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int wait_status = 0;
    ASSERT_EQ(::waitpid(child, &wait_status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(wait_status)) << "the writer failed";
    const std::string found = content_of(path_);
    ASSERT_TRUE(found == a || found == b) << found.size() << " bytes";
    left_temporary += names_in(dir_).size() > 1 ? 1 : 0;
    ASSERT_TRUE(write_file_atomically(path_, a).ok());  // what a killed writer left is no obstacle
  }
  EXPECT_GT(left_temporary, 0) << "no kill hit a write: the test proves nothing";
}

TEST_F(AtomicFileTest, WritersAtOnceAndReadersSeeWholeFiles) {
  const std::vector<std::string> contents = {std::string(50000, 'a'), std::string(70000, 'b')};
  ASSERT_TRUE(write_file_atomically(path_, contents[0]).ok());
  std::atomic<int> failures{0};
  std::vector<std::thread> writers;
  for (const std::string& content : contents) {
    writers.emplace_back([&] {
      for (int i = 0; i < 30; ++i) failures += write_file_atomically(path_, content).ok() ? 0 : 1;
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string found = content_of(path_);
    EXPECT_TRUE(found == contents[0] || found == contents[1]) << found.size();
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(names_in(dir_), std::vector<std::string>{"file"});
}

TEST_F(AtomicFileTest, ReadingIsBounded) {
  ASSERT_TRUE(write_file_atomically(path_, "12345").ok());
  EXPECT_EQ(*read_file(path_, 5), "12345");
  const auto too_large = read_file(path_, 4);
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(too_large.status().message(), path_ + ": is larger than 4 B, the most that is read");
  EXPECT_EQ(read_file("/dev/zero", 1 << 20).status().code(), StatusCode::kResourceExhausted);  // no size, no end
  EXPECT_EQ(*read_file("/dev/null", 0), "");
  EXPECT_EQ(read_file(dir_, 100).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(read_file(dir_ + "/none", 100).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(read_file(dir_ + "/none", 100).status().message(), dir_ + "/none: cannot open: No such file or directory");
}

TEST_F(AtomicFileTest, ReadsPipesToTheirEnd) {
  const std::string pipe = dir_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string content(200000, 'p');  // more than a pipe holds
  std::thread writer([&] { std::ofstream(pipe) << content; });
  const auto found = read_file(pipe, kLarge);
  writer.join();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, content);
}

}  // namespace
}  // namespace ripplekv
