// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Taps that observe many queries, against plain loops in double: attention in blocks, and what coming queries are
// expected to attend to. Short windows, Value norms and how prefill hands taps over: forward_test.cpp.
#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/random.h"
#include "model/forward.h"
#include "model/layer_view.h"
#include "test_util/oracle.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;  // rows of vectors

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector times(const Matrix& m, const Vector& x) {
  Vector y;
  for (const Vector& row : m) y.push_back(dot(row, x));
  return y;
}

// Su et al. 2021, with the linear and the YaRN scaling (Peng et al. 2023) written out.
Vector rotated(Vector x, const RopeConfig& rope, double position) {
  const int half = rope.n_rot / 2;
  const double pi = std::acos(-1.0);
  const auto dimension_of = [&](double rotations) {
    return rope.n_rot * std::log(static_cast<double>(rope.n_ctx_orig) / (rotations * 2 * pi)) /
           (2 * std::log(static_cast<double>(rope.freq_base)));
  };
  const double low = std::max(0.0, std::floor(dimension_of(32)));
  const double high = std::min(rope.n_rot - 1.0, std::ceil(dimension_of(1)));
  const bool yarn = rope.scaling == RopeScaling::kYarn;
  const double growth = rope.attn_factor * (yarn ? 1 + 0.1 * std::log(1 / rope.freq_scale) : 1);
  for (int i = 0; i < half; ++i) {
    const double extrapolated = position * std::pow(rope.freq_base, -2.0 * i / rope.n_rot);
    const double interpolated = extrapolated * rope.freq_scale;
    const double ramp = 1 - std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
    const double angle = yarn ? interpolated * (1 - ramp) + extrapolated * ramp : interpolated;
    double& a = x[static_cast<size_t>(rope.mode == 0 ? 2 * i : i)];
    double& b = x[static_cast<size_t>(rope.mode == 0 ? 2 * i + 1 : i + half)];
    const double before = a;
    a = growth * (before * std::cos(angle) - b * std::sin(angle));
    b = growth * (before * std::sin(angle) + b * std::cos(angle));
  }
  return x;
}

class ForwardTapsTest : public ::testing::Test {
 protected:
  void load(const test::TinyGguf& tiny) {
    auto loaded = Model::load(test::tiny_gguf(tiny));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    auto created = Forward::create(model_, 1);
    ASSERT_TRUE(created.ok()) << created.status().message();
    forward_ = std::move(*created);
  }
  const ModelConfig& config() const { return model_->config(); }

  // A layer of random keys as they would be cached, and the queries of its last n_query rows behind one unused slot.
  void fill(int64_t n_rows, int64_t n_query, KvType type = KvType::kF32) {
    auto layer =
        LayerCache::create(model_->store().layer_buffer_type(0), config().layer_shape(), {type, type}, n_rows + 3);
    layer_ = std::make_unique<LayerCache>(std::move(*layer));
    Random random(7);
    const auto vectors = [&](size_t n) {
      Matrix m(n, Vector(static_cast<size_t>(config().head_dim)));
      for (Vector& x : m) {
        for (double& value : x) value = random.gaussian();
      }
      return m;
    };
    const auto set = [&](ggml_tensor* tensor, size_t offset, const Vector& x) {
      const std::vector<float> values(x.begin(), x.end());
      ggml_backend_tensor_set(tensor, values.data(), offset, values.size() * sizeof(float));
    };
    keys_.assign(static_cast<size_t>(config().n_head_kv), vectors(static_cast<size_t>(n_rows)));
    for (size_t head = 0; head < keys_.size(); ++head) {
      keys_[head] = vectors(static_cast<size_t>(n_rows));
      for (size_t row = 0; row < keys_[head].size(); ++row) {
        Vector& key = keys_[head][row];
        const size_t at = head * layer_->k()->nb[2] + row * layer_->k()->nb[1];
        if (type == KvType::kF32) {
          set(layer_->k(), at, key);
        } else {
          std::vector<ggml_fp16_t> halves;
          for (double& value : key) {
            halves.push_back(ggml_fp32_to_fp16(static_cast<float>(value)));
            value = static_cast<double>(ggml_fp16_to_fp32(halves.back()));
          }
          ggml_backend_tensor_set(layer_->k(), halves.data(), at, halves.size() * sizeof(ggml_fp16_t));
        }
      }
    }
    layer_->append_written(0, n_rows);
    const TensorSpec spec = {GGML_TYPE_F32, {config().head_dim, config().n_head, n_query + 1, 1}};
    auto scratch = forward_->scratch({&spec, 1});
    scratch_ = std::move(*scratch);
    queries_.clear();
    for (size_t head = 0; head < static_cast<size_t>(config().n_head); ++head) {
      queries_.push_back(vectors(static_cast<size_t>(n_query)));
      for (size_t i = 0; i < queries_[head].size(); ++i) {
        const auto position = static_cast<double>(n_rows - n_query) + static_cast<double>(i);
        set(queries(), (i + 1) * queries()->nb[2] + head * queries()->nb[1],
            rotated(queries_[head][i], config().rope, position));
      }
    }
  }
  ggml_tensor* queries() const { return scratch_->tensor(0); }
  const Matrix& keys_of(size_t head) const {
    return keys_[head / static_cast<size_t>(config().n_head / config().n_head_kv)];
  }

  test::QuietLog quiet_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Forward> forward_;
  std::unique_ptr<LayerCache> layer_;
  std::unique_ptr<TensorArena> scratch_;
  std::vector<Matrix> keys_;     // [n_head_kv][n_rows][head_dim]
  std::vector<Matrix> queries_;  // [n_head][n_query][head_dim], before rotation
};

// Rows in f32 are ggml's, in blocks of queries; those in f16 our kernel's, whose bound is attention_sums_test.cpp's.
TEST_F(ForwardTapsTest, AttentionOfMoreQueriesThanABlockHolds) {
  load({});
  for (const auto& [n_rows, n_query, type] : {std::tuple<int64_t, int64_t, KvType>{200, 150, KvType::kF32},
                                              {64, 64, KvType::kF32},
                                              {65, 65, KvType::kF32},
                                              {130, 128, KvType::kF32},
                                              {200, 150, KvType::kF16},
                                              {600, 31, KvType::kF16}}) {
    fill(n_rows, n_query, type);
    const double bound = type == KvType::kF32 ? 1e-5 : 4e-3;
    const auto got = forward_->window_attention(*layer_, queries(), nullptr, 1, static_cast<int>(n_query));
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (size_t head = 0; head < queries_.size(); ++head) {
      Vector mean(static_cast<size_t>(n_rows), 0.0);
      for (size_t i = 0; i < queries_[head].size(); ++i) {
        const size_t n_seen = static_cast<size_t>(n_rows - n_query) + i + 1;
        const Vector q = rotated(queries_[head][i], config().rope, static_cast<double>(n_seen - 1));
        Vector weights;
        double sum = 0;
        for (size_t row = 0; row < n_seen; ++row) {
          weights.push_back(std::exp(config().attention_scale * dot(q, keys_of(head)[row])));
          sum += weights.back();
        }
        for (size_t row = 0; row < n_seen; ++row) mean[row] += weights[row] / sum / static_cast<double>(n_query);
      }
      for (size_t row = 0; row < mean.size(); ++row) {
        ASSERT_NEAR((*got)[head * mean.size() + row], mean[row], bound * mean[row] + 1e-8) << head << " row " << row;
      }
    }
  }
}

TEST_F(ForwardTapsTest, FutureAttentionIsThePaperInPlainLoops) {
  test::TinyGguf pairs_neighbours;
  pairs_neighbours.n_head = 6, pairs_neighbours.n_head_kv = 2, pairs_neighbours.head_dim = 32;
  test::TinyGguf pairs_halves = pairs_neighbours;
  pairs_halves.architecture = "qwen2";
  pairs_halves.n_rot = 16;
  test::TinyGguf yarn = pairs_neighbours;
  yarn.rope_scaling = "yarn", yarn.rope_scale = 4, yarn.n_ctx_orig = 256;
  for (const test::TinyGguf& tiny : {pairs_neighbours, pairs_halves, yarn}) {
    SCOPED_TRACE(tiny.architecture + " " + tiny.rope_scaling);
    load(tiny);
    constexpr int64_t kRows = 90;
    constexpr int64_t kQueries = 70;
    fill(kRows, kQueries);
    const auto got = forward_->future_attention(0, *layer_, queries(), 1, kQueries);
    ASSERT_TRUE(got.ok()) << got.status().message();

    const auto d = static_cast<size_t>(config().head_dim);
    Matrix rotation(d, Vector(d, 0.0));
    for (int64_t position = kRows; position < kRows + 512; ++position) {
      for (size_t in = 0; in < d; ++in) {
        Vector unit(d, 0.0);
        unit[in] = 1;
        unit = rotated(unit, config().rope, static_cast<double>(position));
        for (size_t out = 0; out < d; ++out) rotation[out][in] += unit[out] / 512;
      }
    }
    const double scale = config().attention_scale;
    for (size_t head = 0; head < queries_.size(); ++head) {
      Vector mean(d, 0.0);
      for (const Vector& q : queries_[head]) {
        for (size_t i = 0; i < d; ++i) mean[i] += q[i] / kQueries;
      }
      mean = times(rotation, mean);
      for (int64_t row = 0; row < kRows; ++row) {
        const Vector& k = keys_of(head)[static_cast<size_t>(row)];
        // k.(R S R^T) k is the variance of k.(R q).
        double variance = 0;
        for (const Vector& q : queries_[head]) variance += std::pow(dot(k, times(rotation, q)) - dot(k, mean), 2);
        variance /= kQueries;
        const double expected = scale * dot(k, mean) + scale * scale / 2 * variance;
        ASSERT_NEAR((*got)[head * kRows + static_cast<size_t>(row)], expected, 1e-4 * (1 + std::abs(expected)))
            << "head " << head << " row " << row;
      }
    }
  }
}

// A head of a ragged layer is seen as it would be in a layer whose heads all hold its rows.
TEST_F(ForwardTapsTest, RaggedHeadsAreSeenAlone) {
  test::TinyGguf tiny;
  tiny.n_head = 6, tiny.n_head_kv = 2, tiny.head_dim = 32;
  load(tiny);
  constexpr int kQueries = 70;
  for (const KvType type : {KvType::kF32, KvType::kF16}) {
    fill(200, kQueries, type);
    Random random(8);
    std::vector<float> v(static_cast<size_t>(200 * 2 * 32));
    for (float& value : v) value = static_cast<float>(random.gaussian());
    layer_->write_v(v);
    KeepList keep(2);
    for (int32_t row = 0; row < 200; ++row) {
      if (row < 10 || row >= 130) keep[0].push_back(row);
      if (row >= 40) keep[1].push_back(row);
    }
    const LayerCache ragged = layer_->gather(keep, /*n_room=*/5).value();
    ASSERT_EQ(ragged.head_rows(), (std::vector<int64_t>{80, 160}));
    constexpr unsigned kAll = kTapWindowAttention | kTapValueNorm | kTapKeys | kTapFutureAttention;
    const auto seen = view_layer(*forward_, 0, ragged, kAll, queries(), nullptr, 1, kQueries);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    ASSERT_EQ(seen->taps.size(), 2U);
    for (size_t head = 0; head < 2; ++head) {
      const LayerCache of_head = layer_->gather({keep[head], keep[head]}).value();
      const auto alone = view_layer(*forward_, 0, of_head, kAll, queries(), nullptr, 1, kQueries);
      ASSERT_TRUE(alone.ok()) << alone.status().message();
      ASSERT_EQ(alone->taps.size(), 1U);
      const LayerTaps& got = seen->taps[head];
      const LayerTaps& expected = alone->taps[0];
      EXPECT_EQ(got.n_rows, static_cast<int64_t>(keep[head].size()));
      EXPECT_EQ(got.n_window, kQueries);
      EXPECT_EQ(got.n_head, 3);
      EXPECT_EQ(got.n_head_kv, 1);
      const auto expect_half = [&](std::span<const float> a, std::span<const float> b, const char* tap) {
        ASSERT_EQ(a.size(), b.size() / 2) << tap;
        EXPECT_TRUE(std::ranges::equal(a, b.subspan(head * a.size(), a.size()))) << tap << " of head " << head;
      };
      expect_half(got.window_attention, expected.window_attention, "window attention");
      expect_half(got.value_norm, expected.value_norm, "value norm");
      expect_half(got.keys, expected.keys, "keys");
      expect_half(got.future_attention, expected.future_attention, "future attention");
    }
  }
}

}  // namespace
}  // namespace ripplekv
