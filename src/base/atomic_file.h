// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Small files, whole: read with a limit, written so that the name always holds the old content or the new, never a
// part, also after a kill, a full disk or a power cut. What the bytes mean is the caller's business; models are too
// large for this (gguf_file.h). Paths are those of the operating system; messages repeat them as given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ripplekv/status.h"

namespace ripplekv {

// Errors: not there, a folder, larger than `size_max` bytes, not readable. Pipes are read to their end.
Result<std::string> read_file(const std::string& path, int64_t size_max);

// Writes a temporary file in the same folder, syncs it, renames it to `path` and syncs the folder. A symbolic link
// stays and its target is replaced; the permissions of an old file are kept. On an error the old file is as it was
// and the temporary is gone (a killed process leaves one, named .ripplekv-<pid>-<n>.tmp).
// Errors: no such folder, the target is a folder or a device, no space, no permission.
Status write_file_atomically(const std::string& path, std::string_view content);

// What write_file_atomically would say of `path` before it has a byte to write, for work that takes long: tries the
// temporary file and leaves everything as it was.
Status check_can_write(const std::string& path);

}  // namespace ripplekv
