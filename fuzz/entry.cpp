// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What libFuzzer calls; compiled once per target (fuzz/CMakeLists.txt), its name in FUZZ_TARGET.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return ripplekv::fuzz::FUZZ_TARGET(data, size);
}
