// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Opening, mapping and checking a GGUF file; what its keys mean is the architectures' business.
#include "model/gguf_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ggml.h>
#include <gguf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/hash.h"

namespace ripplekv {
namespace {

std::string got_type(const gguf_context* gguf, int64_t id) { return gguf_type_name(gguf_get_kv_type(gguf, id)); }

}  // namespace

Result<std::unique_ptr<GgufFile>> GgufFile::open(const std::string& path) {
  std::unique_ptr<GgufFile> file(new GgufFile());
  file->path_ = path;

  const int fd = file->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const std::string message = fmt::format("model '{}': {}", path, std::strerror(errno));
    return errno == ENOENT ? not_found(message) : io_error(message);
  }
  struct stat info {};
  const bool known = fstat(fd, &info) == 0;
  struct {
    char magic[4];
    uint32_t version;
  } head = {};
  const bool regular = known && S_ISREG(info.st_mode);
  const bool has_head = regular && pread(fd, &head, sizeof(head), 0) == sizeof(head);
  void* pages = MAP_FAILED;
  if (has_head) pages = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  const int map_errno = errno;
  if (!regular) return invalid_argument(fmt::format("model '{}': not a file, expected a GGUF file", path));
  if (!has_head) {
    return data_loss(fmt::format("model '{}': {} bytes long, expected a GGUF file", path, info.st_size));
  }
  if (pages == MAP_FAILED)
    return io_error(fmt::format("model '{}': cannot map it: {}", path, std::strerror(map_errno)));
  file->mapping_ = {static_cast<const uint8_t*>(pages), static_cast<size_t>(info.st_size)};
  if (std::memcmp(head.magic, "GGUF", 4) != 0) {
    return data_loss(fmt::format("model '{}': magic is {:02x} {:02x} {:02x} {:02x}, expected 'GGUF'", path,
                                 static_cast<uint8_t>(head.magic[0]), static_cast<uint8_t>(head.magic[1]),
                                 static_cast<uint8_t>(head.magic[2]), static_cast<uint8_t>(head.magic[3])));
  }
  if (head.version < 2 || head.version > GGUF_VERSION) {
    return unsupported(fmt::format("model '{}': GGUF version {}, expected 2 to {}", path, head.version, GGUF_VERSION));
  }
  file->gguf_ = gguf_init_from_buffer(file->mapping_.data(), file->mapping_.size(), {/*no_alloc=*/true, nullptr});
  if (file->gguf_ == nullptr) {
    return data_loss(
        fmt::format("model '{}': the GGUF header is damaged or truncated ({} bytes long)", path, info.st_size));
  }
  RKV_RETURN_IF_ERROR(file->check_tensors());
  return file;
}

Status GgufFile::check_tensors() const {
  const uint64_t data_begin = gguf_get_data_offset(gguf_);
  for (int64_t id = 0; id < n_tensors(); ++id) {
    const uint64_t begin = gguf_get_tensor_offset(gguf_, id);
    const uint64_t size = gguf_get_tensor_size(gguf_, id);
    const uint64_t end = data_begin + begin + size;
    if (begin > mapping_.size() || size > mapping_.size() || end > mapping_.size()) {
      return data_loss(fmt::format("model '{}': truncated: tensor '{}' ends at byte {}, the file at {}", path_,
                                   tensor_name(id), end, mapping_.size()));
    }
  }
  if (n_tensors() == 0) return data_loss(fmt::format("model '{}': holds no tensors", path_));
  return ok_status();
}

GgufFile::~GgufFile() {
  if (gguf_ != nullptr) gguf_free(gguf_);
  if (!mapping_.empty()) munmap(const_cast<uint8_t*>(mapping_.data()), mapping_.size());
  if (fd_ >= 0) ::close(fd_);
}

Status GgufFile::check_size() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) {
    return io_error(fmt::format("model '{}': cannot look up its size: {}", path_, std::strerror(errno)));
  }
  if (static_cast<uint64_t>(info.st_size) >= mapping_.size()) return ok_status();
  return data_loss(fmt::format("model '{}': shrank to {} bytes while it was in use, expected the {} it had when opened",
                               path_, info.st_size, mapping_.size()));
}

uint32_t GgufFile::version() const { return gguf_get_version(gguf_); }
int64_t GgufFile::n_tensors() const { return gguf_get_n_tensors(gguf_); }
bool GgufFile::has(const std::string& key) const { return gguf_find_key(gguf_, key.c_str()) >= 0; }
int64_t GgufFile::alignment() const { return static_cast<int64_t>(gguf_get_alignment(gguf_)); }

std::string GgufFile::fingerprint() const {
  constexpr size_t kSample = 4096;
  Hasher hasher;
  hasher.update(mapping_.data(), gguf_get_data_offset(gguf_));
  const uint64_t size = mapping_.size();
  hasher.update(&size, sizeof(size));
  for (int64_t id = 0; id < n_tensors(); ++id) {
    const auto bytes = tensor_bytes(id);
    hasher.update(bytes.data(), std::min(kSample, bytes.size()));
  }
  return hasher.digest();
}

Result<std::optional<std::string>> GgufFile::optional_text(const std::string& key) const {
  const int64_t id = gguf_find_key(gguf_, key.c_str());
  if (id < 0) return std::optional<std::string>();
  if (gguf_get_kv_type(gguf_, id) != GGUF_TYPE_STRING) {
    return data_loss(fmt::format("model '{}': key '{}' is {}, expected a string", path_, key, got_type(gguf_, id)));
  }
  return std::optional<std::string>(gguf_get_val_str(gguf_, id));
}

Result<std::vector<std::string>> GgufFile::texts(const std::string& key) const {
  const int64_t id = gguf_find_key(gguf_, key.c_str());
  if (id < 0) return data_loss(fmt::format("model '{}': key '{}' is missing", path_, key));
  if (gguf_get_kv_type(gguf_, id) != GGUF_TYPE_ARRAY || gguf_get_arr_type(gguf_, id) != GGUF_TYPE_STRING) {
    return data_loss(
        fmt::format("model '{}': key '{}' is {}, expected a list of strings", path_, key, got_type(gguf_, id)));
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < gguf_get_arr_n(gguf_, id); ++i) texts.emplace_back(gguf_get_arr_str(gguf_, id, i));
  return texts;
}

Result<std::optional<int64_t>> GgufFile::optional_integer(const std::string& key, int64_t min, int64_t max) const {
  const int64_t id = gguf_find_key(gguf_, key.c_str());
  if (id < 0) return std::optional<int64_t>();
  int64_t value = 0;
  switch (gguf_get_kv_type(gguf_, id)) {
    case GGUF_TYPE_UINT8:
      value = gguf_get_val_u8(gguf_, id);
      break;
    case GGUF_TYPE_INT8:
      value = gguf_get_val_i8(gguf_, id);
      break;
    case GGUF_TYPE_UINT16:
      value = gguf_get_val_u16(gguf_, id);
      break;
    case GGUF_TYPE_INT16:
      value = gguf_get_val_i16(gguf_, id);
      break;
    case GGUF_TYPE_UINT32:
      value = gguf_get_val_u32(gguf_, id);
      break;
    case GGUF_TYPE_INT32:
      value = gguf_get_val_i32(gguf_, id);
      break;
    case GGUF_TYPE_UINT64:
      value = static_cast<int64_t>(std::min<uint64_t>(gguf_get_val_u64(gguf_, id), INT64_MAX));
      break;
    case GGUF_TYPE_INT64:
      value = gguf_get_val_i64(gguf_, id);
      break;
    default:
      return data_loss(
          fmt::format("model '{}': key '{}' is {}, expected one whole number", path_, key, got_type(gguf_, id)));
  }
  if (value < min || value > max) {
    return data_loss(fmt::format("model '{}': key '{}' is {}, expected {} to {}", path_, key, value, min, max));
  }
  return std::optional<int64_t>(value);
}

Result<std::optional<double>> GgufFile::optional_real(const std::string& key) const {
  const int64_t id = gguf_find_key(gguf_, key.c_str());
  if (id < 0) return std::optional<double>();
  double value = 0;
  switch (gguf_get_kv_type(gguf_, id)) {
    case GGUF_TYPE_FLOAT32:
      value = gguf_get_val_f32(gguf_, id);
      break;
    case GGUF_TYPE_FLOAT64:
      value = gguf_get_val_f64(gguf_, id);
      break;
    default:
      return data_loss(fmt::format("model '{}': key '{}' is {}, expected a number", path_, key, got_type(gguf_, id)));
  }
  if (!std::isfinite(value)) {
    return data_loss(fmt::format("model '{}': key '{}' is {}, expected a finite number", path_, key, value));
  }
  return std::optional<double>(value);
}

namespace {

template <class T>
Result<T> required(const std::string& path, const std::string& key, Result<std::optional<T>> found) {
  if (!found.ok()) return found.status();
  if (!found->has_value()) return data_loss(fmt::format("model '{}': key '{}' is missing", path, key));
  return **found;
}

}  // namespace

Result<std::string> GgufFile::text(const std::string& key) const { return required(path_, key, optional_text(key)); }
Result<int64_t> GgufFile::integer(const std::string& key, int64_t min, int64_t max) const {
  return required(path_, key, optional_integer(key, min, max));
}
Result<double> GgufFile::real(const std::string& key) const { return required(path_, key, optional_real(key)); }

int64_t GgufFile::find_tensor(const std::string& name) const { return gguf_find_tensor(gguf_, name.c_str()); }
std::string GgufFile::tensor_name(int64_t id) const { return gguf_get_tensor_name(gguf_, id); }
std::span<const int64_t> GgufFile::tensor_shape(int64_t id) const { return {gguf_get_tensor_ne(gguf_, id), 4}; }
int GgufFile::tensor_type(int64_t id) const { return gguf_get_tensor_type(gguf_, id); }
std::span<const uint8_t> GgufFile::tensor_bytes(int64_t id) const {
  return mapping_.subspan(gguf_get_data_offset(gguf_) + gguf_get_tensor_offset(gguf_, id),
                          gguf_get_tensor_size(gguf_, id));
}

}  // namespace ripplekv
