// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Sums of attention of every instruction set this processor has, against plain loops in double over the very values
// that the rows store: row types, odd sizes, ragged rows, 1 to 8 threads.
#include "kernels/attention_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/on_threads.h"
#include "kernels/stored_rows.h"

namespace ripplekv {
namespace {

struct Case {
  int64_t head_dim = 64;
  int64_t n_query = 32;
  int64_t n_group = 3;
  std::vector<int64_t> n_rows = {100, 100};  // per KV head
  RowType type = RowType::kF16;
  float spread = 2.0F;  // of the scores
  uint64_t seed = 1;

  int64_t n_head_kv() const { return static_cast<int64_t>(n_rows.size()); }
  int64_t n_head() const { return n_group * n_head_kv(); }
  int64_t most_rows() const { return *std::max_element(n_rows.begin(), n_rows.end()); }
  int64_t capacity() const { return most_rows() + 3; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim)); }
  std::string text() const {
    return "head_dim " + std::to_string(head_dim) + " queries " + std::to_string(n_query) + " group " +
           std::to_string(n_group) + " rows " + std::to_string(n_rows[0]) + " " + name_of(type);
  }
};

struct Inputs {
  std::vector<float> q;  // [head_dim, n_head, n_query]
  Rows k;
};

Inputs make_inputs(const Case& c) {
  Random random(c.seed);
  Inputs inputs;
  inputs.q.resize(static_cast<size_t>(c.head_dim * c.n_head() * c.n_query));
  for (float& value : inputs.q) value = c.spread * static_cast<float>(random.gaussian());
  std::vector<float> k(static_cast<size_t>(c.head_dim * c.capacity() * c.n_head_kv()));
  for (float& value : k) value = static_cast<float>(random.gaussian());
  for (size_t i = 5; i < k.size(); i += static_cast<size_t>(c.head_dim)) k[i] += 8.0F;  // a large channel
  inputs.k = make_rows(c.type, std::move(k), c.head_dim, c.n_head_kv());
  return inputs;
}

// log_sums: [n_query, n_head] if wanted.
std::vector<double> expected(const Case& c, const Inputs& inputs, std::vector<float>* log_sums = nullptr) {
  if (log_sums != nullptr) log_sums->resize(static_cast<size_t>(c.n_query * c.n_head()));
  std::vector<double> sums(static_cast<size_t>(c.most_rows() * c.n_head()));
  for (int64_t i = 0; i < c.n_query; ++i) {
    for (int64_t head = 0; head < c.n_head(); ++head) {
      const int64_t kv_head = head / c.n_group;
      const int64_t end = c.n_rows[static_cast<size_t>(kv_head)] - c.n_query + i + 1;
      const float* q = &inputs.q[static_cast<size_t>((i * c.n_head() + head) * c.head_dim)];
      std::vector<double> weights;
      for (int64_t row = 0; row < end; ++row) {
        const float* k = &inputs.k.values[static_cast<size_t>((kv_head * c.capacity() + row) * c.head_dim)];
        double score = 0.0;
        for (int64_t d = 0; d < c.head_dim; ++d) score += static_cast<double>(q[d]) * k[d];
        weights.push_back(score * static_cast<double>(c.scale()));
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0.0;
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      if (log_sums != nullptr) {
        (*log_sums)[static_cast<size_t>(head * c.n_query + i)] =
            static_cast<float>(largest * std::log2(std::exp(1.0)) + std::log2(sum));
      }
      for (size_t row = 0; row < weights.size(); ++row) {
        sums[static_cast<size_t>(head * c.most_rows()) + row] += weights[row] / sum;
      }
    }
  }
  return sums;
}

// log_sums: as attention would have left them, [n_query, n_head]; empty: to be made.
std::vector<float> run(const Case& c, const Inputs& inputs, const KernelSet& kernels, int n_threads,
                       std::vector<float> log_sums = {}) {
  const AttentionShape shape = {c.head_dim, c.n_query, c.n_head(), c.n_head_kv(), c.most_rows(), c.type, c.type};
  const AttentionSumsPlan plan = plan_attention_sums(shape, n_threads, kernels);
  std::vector<uint8_t> scratch(static_cast<size_t>(plan.scratch_bytes), 0xff);  // NaN, if read before it is written
  std::vector<float> out(static_cast<size_t>(c.most_rows() * c.n_head()), NAN);
  AttentionCall call;
  call.q = inputs.q.data();
  call.q_query_stride = c.head_dim * c.n_head();
  call.q_head_stride = c.head_dim;
  call.k = inputs.k.view();
  call.n_rows = c.n_rows;
  call.scale = c.scale();
  std::atomic<int64_t> next_unit[2] = {0, 0};
  LogSums given;
  if (log_sums.empty()) {
    on_threads(n_threads, [&](int thread) { sum_scores(plan, call, scratch, next_unit[0], thread); });
    on_threads(n_threads, [&](int thread) { merge_scores(plan, scratch, thread, n_threads); });
  } else {
    given = {log_sums.data(), c.n_query};
  }
  on_threads(n_threads, [&](int thread) { sum_weights(plan, call, given, scratch, next_unit[1], thread, out.data()); });
  return out;
}

// 1e-3 of the sums' length per head, as for attention itself; and a row's sum is wrong by no more than its scores, up
// to 40 in 16 bits, let a weight be: some 4e-3.
void expect_right(const Case& c, int n_threads = 1, bool with_log_sums = false) {
  const Inputs inputs = make_inputs(c);
  std::vector<float> log_sums;
  const std::vector<double> wanted = expected(c, inputs, with_log_sums ? &log_sums : nullptr);
  for (const KernelSet* kernels : kernel_sets()) {
    const std::vector<float> got = run(c, inputs, *kernels, n_threads, log_sums);
    const auto n = static_cast<size_t>(c.most_rows());
    for (size_t head = 0; head < got.size() / n; ++head) {
      double error = 0.0;
      double length = 0.0;
      double worst = 0.0;
      for (size_t i = head * n; i < (head + 1) * n; ++i) {
        const double difference = std::abs(static_cast<double>(got[i]) - wanted[i]);
        error += difference * difference;
        length += wanted[i] * wanted[i];
        worst = std::max(worst, difference / (wanted[i] + 1e-9));
      }
      ASSERT_LE(std::sqrt(error / length), 1e-3) << c.text() << " " << kernels->name << " threads " << n_threads;
      ASSERT_LE(worst, 4e-3) << c.text() << " " << kernels->name << " threads " << n_threads;
    }
  }
}

TEST(AttentionSums, EveryHeadSizeGroupAndRowType) {
  uint64_t seed = 1;
  for (const int64_t head_dim : {32, 64, 80, 96, 128, 256}) {
    for (const RowType type : {RowType::kF16, RowType::kQ8_0, RowType::kQ4_0}) {
      if (!attention_sums_support(head_dim, type)) continue;
      for (const int64_t n_query : {1, 32, 70}) {
        Case c;
        c.seed = ++seed;
        c.head_dim = head_dim;
        c.n_group = static_cast<int64_t>(seed % 8) + 1;
        c.n_query = n_query;
        c.n_rows.assign(2, 70 + static_cast<int64_t>(seed % 67));
        c.type = type;
        expect_right(c, static_cast<int>(seed % 8) + 1);
      }
    }
  }
}

TEST(AttentionSums, EveryNumberOfRowsAndQueries) {
  uint64_t seed = 1000;
  for (const int64_t n_rows : {1, 2, 15, 16, 17, 63, 64, 65, 300, 511, 512, 513, 1100}) {
    for (const int64_t n_query : {1, 2, 7, 16, 33, 129, 400, 1025}) {
      if (n_query > n_rows) continue;
      Case c;
      c.seed = ++seed;
      c.n_rows = {n_rows};
      c.n_query = n_query;
      expect_right(c, static_cast<int>(seed % 8) + 1);
    }
  }
}

TEST(AttentionSums, RaggedRows) {
  for (const int64_t n_query : {1, 60, 130}) {
    Case c;
    c.n_query = n_query;
    c.n_group = 2;
    c.n_rows = {700, 130, 301};
    expect_right(c, 3);
  }
}

TEST(AttentionSums, LogSumsOfAttentionWillDo) {
  for (const int64_t n_query : {1, 40, 300}) {
    Case c;
    c.n_query = n_query;
    c.n_rows = {700, 301};
    expect_right(c, 3, /*with_log_sums=*/true);
  }
}

// A group of more query heads than a tile has lanes for; one of many KV heads.
TEST(AttentionSums, WideGroup) {
  Case c;
  c.n_group = 40;
  c.n_query = 20;
  c.n_rows = {150};
  expect_right(c, 2);
}

TEST(AttentionSums, SteepAndFlat) {
  for (const float spread : {0.0F, 0.1F, 4.0F}) {
    Case c;
    c.spread = spread;
    c.n_rows = {4000};
    expect_right(c, 3);
  }
}

TEST(AttentionSums, TheSameBitsWhateverTheThreads) {
  for (const int64_t n_query : {1, 32, 700}) {
    Case c;
    c.n_query = n_query;
    c.n_rows = {3000, 2000, 2999};
    const Inputs inputs = make_inputs(c);
    for (const KernelSet* kernels : kernel_sets()) {
      const std::vector<float> first = run(c, inputs, *kernels, 1);
      for (const int n_threads : {2, 3, 8}) {
        EXPECT_EQ(first, run(c, inputs, *kernels, n_threads)) << c.text() << " threads " << n_threads;
      }
    }
  }
}

TEST(AttentionSums, WhatIsNotANumberIsNotHidden) {
  for (const bool in_query : {true, false}) {
    Case c;
    c.n_rows = {100};
    Inputs inputs = make_inputs(c);
    const uint16_t half = 0x7e00;
    if (in_query) inputs.q[9] = NAN;
    if (!in_query) std::memcpy(&inputs.k.bytes[static_cast<size_t>(3 * c.head_dim + 9) * 2], &half, 2);
    for (const KernelSet* kernels : kernel_sets()) {
      const std::vector<float> out = run(c, inputs, *kernels, 1);
      EXPECT_FALSE(std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); }))
          << in_query << " " << kernels->name;
    }
  }
}

}  // namespace
}  // namespace ripplekv
