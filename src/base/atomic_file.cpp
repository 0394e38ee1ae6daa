// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The system calls behind atomic_file.h, and which Status each refusal of the operating system becomes.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "base/text.h"

namespace ripplekv {
namespace {

Status system_error(int error, std::string_view path, std::string_view what) {
  std::string message = fmt::format("{}: {}: {}", path, what, std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return not_found(std::move(message));
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return resource_exhausted(std::move(message));
    case ENAMETOOLONG:
    case ELOOP:
      return invalid_argument(std::move(message));
    default:
      return io_error(std::move(message));
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close_now(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // 0 or the error: on some file systems a write fails only here.
  int close_now() {
    const int fd = fd_;
    fd_ = -1;
    return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int fd_;
};

// Removes the temporary unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::string&& path) noexcept : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }
  void release() { path_.clear(); }

 private:
  std::string path_;
};

// A short name of its own, whatever the target's length; a name left by a killed process of the same id is passed by.
std::string temporary_name(const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}/.ripplekv-{}-{}.tmp", folder, ::getpid(), counter.fetch_add(1));
}

int write_all(int fd, std::string_view content) {
  constexpr size_t kPiece = size_t{1} << 24;
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), std::min(content.size(), kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

struct Target {
  std::string path;    // with symbolic links resolved
  std::string folder;  // that holds it
  mode_t mode = 0;     // permissions of the old file
  bool exists = false;
};

Result<Target> find_target(const std::string& path) {
  if (path.empty()) return invalid_argument("file to write: got an empty name, expected a path");
  if (path.find('\0') != std::string::npos) {
    return invalid_argument(fmt::format("file to write: got {}, expected a path without a zero byte", quoted(path)));
  }
  if (path.back() == '/') return invalid_argument(fmt::format("{}: names a folder, expected a file", path));
  Target target;
  target.path = path;
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (S_ISLNK(info.st_mode)) {
      const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
      if (resolved == nullptr) return system_error(errno, path, "cannot follow this symbolic link");
      target.path = resolved.get();
      if (::lstat(target.path.c_str(), &info) != 0) return system_error(errno, path, "cannot look up its target");
    }
    if (S_ISDIR(info.st_mode)) return invalid_argument(fmt::format("{}: is a folder, expected a file", path));
    if (!S_ISREG(info.st_mode)) {
      return invalid_argument(fmt::format("{}: is a device or pipe, expected a file that can be replaced", path));
    }
    target.exists = true;
    target.mode = info.st_mode & 07777;
  } else if (errno != ENOENT) {
    return system_error(errno, path, "cannot write here");
  }
  const size_t slash = target.path.rfind('/');
  target.folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target.path.substr(0, slash);
  return target;
}

// An empty file beside the target, open for writing; `name` receives its path.
Result<int> create_beside(const Target& target, const std::string& path, std::string& name) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    name = temporary_name(target.folder);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return fd;
    if (errno != EEXIST) {
      return system_error(errno, path, fmt::format("cannot create a file in folder {}", target.folder));
    }
  }
  return io_error(fmt::format("{}: no free temporary name in folder {}", path, target.folder));
}

// Makes the rename itself durable. File systems that cannot sync a folder say EINVAL: then there is no more to do.
int sync_folder(const std::string& folder) {
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return errno == EACCES ? 0 : errno;  // a folder may be writable and not readable
  return ::fsync(fd.get()) != 0 && errno != EINVAL ? errno : 0;
}

}  // namespace

Result<std::string> read_file(const std::string& path, int64_t size_max) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return system_error(errno, path, "cannot open");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error(errno, path, "cannot look up");
  if (S_ISDIR(info.st_mode)) return invalid_argument(fmt::format("{}: is a folder, expected a file", path));
  const Status too_large =
      resource_exhausted(fmt::format("{}: is larger than {}, the most that is read", path, human_bytes(size_max)));
  if (info.st_size > size_max) return too_large;
  std::string content;
  content.reserve(static_cast<size_t>(info.st_size));
  std::string piece(size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, path, "cannot read");
    if (n == 0) return content;
    // The size looked up is a hint only: a pipe has none, and a file may grow while it is read.
    if (n > size_max - static_cast<int64_t>(content.size())) return too_large;
    content.append(piece.data(), static_cast<size_t>(n));
  }
}

Status check_can_write(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const Target target, find_target(path));
  std::string name;
  RKV_ASSIGN_OR_RETURN(const int fd_new, create_beside(target, path, name));
  const Descriptor fd(fd_new);
  const Temporary temporary(std::move(name));
  return ok_status();
}

Status write_file_atomically(const std::string& path, std::string_view content) {
  RKV_ASSIGN_OR_RETURN(const Target target, find_target(path));
  std::string name;
  RKV_ASSIGN_OR_RETURN(const int fd_new, create_beside(target, path, name));
  Descriptor fd(fd_new);
  Temporary temporary(std::move(name));
  if (const int error = write_all(fd.get(), content)) return system_error(error, path, "cannot write");
  if (target.exists && ::fchmod(fd.get(), target.mode) != 0) {
    return system_error(errno, path, "cannot keep the permissions of the old file");
  }
  if (::fsync(fd.get()) != 0) return system_error(errno, path, "cannot write to the disk");
  if (const int error = fd.close_now()) return system_error(error, path, "cannot write");
  if (::rename(temporary.path().c_str(), target.path.c_str()) != 0) {
    return system_error(errno, path, "cannot put the new file in place");
  }
  temporary.release();
  if (const int error = sync_folder(target.folder)) {
    return system_error(error, path, "written, but it may not outlast a power cut, as its folder cannot be synced");
  }
  return ok_status();
}

}  // namespace ripplekv
