// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// write_seeds FOLDER: the seeds of every target as files FOLDER/<target>/seed<n>.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "targets.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  for (const auto& target : ripplekv::fuzz::targets()) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
    std::filesystem::create_directories(folder);
    int n = 0;
    for (const std::string& seed : target.seeds()) {
      std::ofstream file(folder / ("seed" + std::to_string(n++)), std::ios::binary);
      if (!file.write(seed.data(), static_cast<std::streamsize>(seed.size())).flush()) return 1;
    }
  }
  return 0;
}
