// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// GgufFile: a GGUF file, opened and checked: magic, version, every tensor inside the file. Typed getters name key, got
// and expected. Owns the mapping of the file (read-only) and lives as long as weights point into it.
// Knows no architecture; does not read tensor data. The fingerprint is XXH3-128 over the header (all metadata and
// tensor shapes), the file size and the first 4 KiB of every tensor: cheap for any size, different for any
// re-quantisation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ripplekv/status.h"

struct gguf_context;

namespace ripplekv {

class GgufFile {
 public:
  static Result<std::unique_ptr<GgufFile>> open(const std::string& path);
  ~GgufFile();
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  const std::string& path() const { return path_; }
  uint32_t version() const;
  int64_t n_tensors() const;
  std::string fingerprint() const;

  // A key that is there with another type is an error in both forms; absent is an error or nullopt.
  Result<std::string> text(const std::string& key) const;
  Result<std::vector<std::string>> texts(const std::string& key) const;
  Result<int64_t> integer(const std::string& key, int64_t min, int64_t max) const;
  Result<double> real(const std::string& key) const;
  Result<std::optional<std::string>> optional_text(const std::string& key) const;
  Result<std::optional<int64_t>> optional_integer(const std::string& key, int64_t min, int64_t max) const;
  Result<std::optional<double>> optional_real(const std::string& key) const;
  bool has(const std::string& key) const;

  // Tensor id by name, or -1. Shapes are ggml order, dtype as ggml_type.
  int64_t find_tensor(const std::string& name) const;
  std::string tensor_name(int64_t id) const;
  std::span<const int64_t> tensor_shape(int64_t id) const;  // [4]
  int tensor_type(int64_t id) const;
  std::span<const uint8_t> tensor_bytes(int64_t id) const;  // in the mapping

  std::span<const uint8_t> mapping() const { return mapping_; }
  int64_t alignment() const;

  // kDataLoss if the file is shorter now than what is mapped of it: touching a page beyond its end is SIGBUS, the death
  // of the process. To be asked before the mapping is used again; costs one fstat. It narrows the gap to one run of a
  // graph and cannot close it: only a signal handler can, and that is the program's to install (cli/bus_error.h), not a
  // library's. Reading the weights into memory instead would cost a copy of every model to guard against a rare mishap.
  Status check_size() const;

 private:
  GgufFile() = default;
  Status check_tensors() const;

  std::string path_;
  int fd_ = -1;  // open as long as the mapping: its name may come to mean another file
  gguf_context* gguf_ = nullptr;
  std::span<const uint8_t> mapping_;
};

}  // namespace ripplekv
