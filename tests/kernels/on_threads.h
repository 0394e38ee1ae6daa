// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A phase of a kernel on several threads; its end is the barrier behind it.
#pragma once

#include <thread>
#include <vector>

namespace ripplekv {
namespace {

template <class Work>
void on_threads(int n_threads, const Work& work) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < n_threads; ++thread) threads.emplace_back([&work, thread] { work(thread); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ripplekv
