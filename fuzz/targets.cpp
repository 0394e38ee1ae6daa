// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The table of targets, and what they share.
#include "targets.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/utf8.h"
#include "test_util/paths.h"

namespace ripplekv::fuzz {

std::span<const Target> targets() {
  static constexpr std::array kTargets = {
      Target{"gguf", fuzz_gguf, gguf_seeds},
      Target{"artefact", fuzz_artefact, artefact_seeds},
      Target{"chat_template", fuzz_chat_template, chat_template_seeds},
      Target{"command_line", fuzz_command_line, command_line_seeds},
      Target{"calibration", fuzz_calibration, calibration_seeds},
      Target{"session", fuzz_session, session_seeds},
      Target{"samples", fuzz_samples, samples_seeds},
  };
  return kTargets;
}

std::string put_file(std::string_view name, std::string_view bytes) {
  static const std::string folder = test::temp_dir();
  std::string path = folder + "/" + std::string(name);
  std::filesystem::remove(path);  // replacing by truncation makes ext4 wait for the disk
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

void expect_sentence(const Status& status) {
  constexpr size_t kLongest = 2000;  // of what a terminal should be given in one line
  const std::string& message = status.message();
  RKV_CHECK(status.ok() == message.empty());
  RKV_CHECK(message.size() <= kLongest);
  RKV_CHECK(printable(message).find('\n') == std::string::npos);
}

}  // namespace ripplekv::fuzz
