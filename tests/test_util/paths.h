// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Where things lie: the built program, and files that only some machines have, the default model and the reference
// values. Those are empty where absent: tests that need them skip and print why.
#pragma once

#include <string>

namespace ripplekv::test {

std::string program_path();                           // the program built beside the tests
std::string source_dir();                             // the repository
std::string model_path();                             // the default model, or ""
std::string gemma_path();                             // Gemma 3 270M, or ""
std::string reference_path(const std::string& name);  // a file of the shared reference folder, or ""
std::string data_path(const std::string& name);       // "leval/quality.jsonl": of the shared benchmark data, or ""
std::string temp_dir();                               // a fresh folder, removed when the program ends

}  // namespace ripplekv::test

// In a test body: skip with the reason when the file is not here.
#define RKV_NEED_FILE(path, what) \
  if ((path).empty()) GTEST_SKIP() << (what) << " is not on this machine"
