// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Fuzz targets: one function per reader of what strangers write, given arbitrary bytes. A target aborts where the
// reader breaks a promise; a crash, a hang or a leak is the sanitizers' and libFuzzer's to report. The functions are
// ordinary: entry.cpp hands them to libFuzzer, tests/fuzz/ gives them mutated seeds in every test run.
// A new reader: fuzz_<name>.cpp with its two functions, declared here, and a line in targets.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv::fuzz {

// Always 0, as libFuzzer wants it.
int fuzz_gguf(const uint8_t* data, size_t size);           // a model file
int fuzz_artefact(const uint8_t* data, size_t size);       // budgets.json, profile.json
int fuzz_chat_template(const uint8_t* data, size_t size);  // a template, zero bytes, the contents of a conversation
int fuzz_command_line(const uint8_t* data, size_t size);   // arguments, one a line
int fuzz_calibration(const uint8_t* data, size_t size);    // one byte for the kind of file, then the file
int fuzz_session(const uint8_t* data, size_t size);        // a saved conversation, without its checksum
int fuzz_samples(const uint8_t* data, size_t size);        // one byte for the suite, then a file of its samples

// Good inputs, from which mutation starts: each small, each accepted by its reader.
std::vector<std::string> gguf_seeds();
std::vector<std::string> artefact_seeds();
std::vector<std::string> chat_template_seeds();
std::vector<std::string> command_line_seeds();
std::vector<std::string> calibration_seeds();
std::vector<std::string> session_seeds();
std::vector<std::string> samples_seeds();

struct Target {
  std::string_view name;  // "gguf": fuzz_gguf.cpp
  int (*run)(const uint8_t* data, size_t size);
  std::vector<std::string> (*seeds)();
};

std::span<const Target> targets();

// A file `name` of these bytes, in a folder of this process that goes when it ends; one of the same name is replaced.
std::string put_file(std::string_view name, std::string_view bytes);

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts unless the status is ok or carries a sentence.
void expect_sentence(const Status& status);

}  // namespace ripplekv::fuzz
