// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Forward on tiny models: taps against plain loops, ragged batches, cancelling, and replaying stored activations.
// Whether the layers themselves are right is tiny_oracle_test.cpp's.
#include "model/forward.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/random.h"
#include "model/gguf_file.h"
#include "model/prefill.h"
#include "test_util/model_runs.h"
#include "test_util/oracle.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

constexpr KvFormat kF32Cache = {KvType::kF32, KvType::kF32};

std::vector<float> gaussians(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random.gaussian());
  return values;
}

// The rows of one head of K or V, dequantised: [n_rows][head_dim].
std::vector<std::vector<float>> rows_of(const ggml_tensor* tensor, int64_t n_rows, int head) {
  std::vector<std::vector<float>> rows;
  std::vector<uint8_t> bytes(tensor->nb[1]);
  for (int64_t row = 0; row < n_rows; ++row) {
    ggml_backend_tensor_get(tensor, bytes.data(),
                            static_cast<size_t>(head) * tensor->nb[2] + static_cast<size_t>(row) * tensor->nb[1],
                            bytes.size());
    std::vector<float> values(static_cast<size_t>(tensor->ne[0]));
    if (tensor->type == GGML_TYPE_F32) {
      std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      ggml_get_type_traits(tensor->type)->to_float(bytes.data(), values.data(), tensor->ne[0]);
    }
    rows.push_back(std::move(values));
  }
  return rows;
}

// Softmax attention of the queries of one head ([window][head_dim]) over its K rows, causal, mean over the window.
std::vector<double> plain_window_attention(const std::vector<std::vector<float>>& k,
                                           const std::vector<std::vector<float>>& q, double scale) {
  std::vector<double> mean(k.size(), 0.0);
  for (size_t i = 0; i < q.size(); ++i) {
    const size_t n_seen = k.size() - q.size() + i + 1;
    std::vector<double> weights(n_seen);
    double sum = 0;
    for (size_t row = 0; row < n_seen; ++row) {
      double dot = 0;
      for (size_t d = 0; d < q[i].size(); ++d) dot += static_cast<double>(q[i][d]) * k[row][d];
      weights[row] = std::exp(dot * scale);
      sum += weights[row];
    }
    for (size_t row = 0; row < n_seen; ++row) mean[row] += weights[row] / sum / static_cast<double>(q.size());
  }
  return mean;
}

class ForwardTest : public ::testing::Test {
 protected:
  void load(const test::TinyGguf& tiny, int n_threads = 1) {
    path_ = test::tiny_gguf(tiny);
    auto loaded = Model::load(path_);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    auto created = Forward::create(model_, n_threads);
    ASSERT_TRUE(created.ok()) << created.status().message();
    forward_ = std::move(*created);
  }
  const ModelConfig& config() const { return model_->config(); }

  LayerCache empty_layer(int il, const KvFormat& format, int64_t capacity) {
    auto layer = LayerCache::create(model_->store().layer_buffer_type(il), config().layer_shape(), format, capacity);
    EXPECT_TRUE(layer.ok()) << layer.status().message();
    return std::move(*layer);
  }
  KvCache empty_cache(const KvFormat& format) {
    KvCache cache;
    for (int il = 0; il < config().n_layer; ++il) cache.push_layer(empty_layer(il, format, 4));
    return cache;
  }

  // A layer of n_rows random rows in a larger allocation.
  LayerCache random_layer(const KvFormat& format, int64_t n_rows, uint64_t seed) {
    LayerCache layer = empty_layer(0, format, n_rows + 5);
    for (ggml_tensor* tensor : {layer.k(), layer.v()}) {
      const std::vector<float> values = gaussians(static_cast<size_t>(ggml_nelements(tensor)), ++seed);
      std::vector<uint8_t> bytes(ggml_nbytes(tensor));
      ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0, ggml_nrows(tensor), tensor->ne[0], nullptr);
      ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
    }
    layer.append_written(0, n_rows);
    return layer;
  }

  KvCache prefilled(std::span<const int32_t> tokens, const KvFormat& format) {
    return test::prefilled(*forward_, tokens, format).cache;
  }

  // A batch of all tokens of the segments through all layers; logits of every token.
  Status run(const std::vector<Segment>& segments, std::span<const int32_t> tokens, std::vector<float>& logits) {
    std::vector<int32_t> rows(tokens.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
    ForwardBatch batch;
    batch.segments = segments;
    batch.layer_end = config().n_layer;
    batch.tokens = tokens;
    batch.logits_of = rows;
    batch.logits = &logits;
    return forward_->run(batch);
  }

  test::QuietLog quiet_;
  std::string path_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Forward> forward_;
};

struct FormatCase {
  KvType type;
  double tolerance;  // relative, of an attention weight: ggml rounds the queries as well, to F16 or 8 bits
};

TEST_F(ForwardTest, WindowAttentionIsThePlainLoops) {
  test::TinyGguf tiny;
  tiny.n_head = 6, tiny.n_head_kv = 2, tiny.head_dim = 32, tiny.n_embd = 96;
  load(tiny);
  const int64_t n_rows = 45;
  const int n_slot = 11;
  const TensorSpec spec = {GGML_TYPE_F32, {config().head_dim, config().n_head, n_slot, 1}};
  const auto scratch = forward_->scratch({&spec, 1});
  ASSERT_TRUE(scratch.ok());
  ggml_tensor* queries = (*scratch)->tensor(0);
  const auto values = gaussians(static_cast<size_t>(ggml_nelements(queries)), 77);
  ggml_backend_tensor_set(queries, values.data(), 0, ggml_nbytes(queries));

  for (const FormatCase& c : {FormatCase{KvType::kF32, 1e-5}, FormatCase{KvType::kF16, 2e-3},
                              FormatCase{KvType::kQ8_0, 0.03}, FormatCase{KvType::kQ4_0, 0.03}}) {
    const LayerCache layer = random_layer({c.type, KvType::kF16}, n_rows, 5);
    for (const auto& [first_slot, n_window] : {std::pair{0, 11}, {3, 8}, {0, 1}, {10, 1}, {2, 5}}) {
      const auto got = forward_->window_attention(layer, queries, nullptr, first_slot, n_window);
      ASSERT_TRUE(got.ok()) << got.status().message();
      ASSERT_EQ(got->size(), static_cast<size_t>(n_rows * config().n_head));
      for (int head = 0; head < config().n_head; ++head) {
        std::vector<std::vector<float>> q;
        for (int i = 0; i < n_window; ++i) {
          const auto begin = values.begin() + ((first_slot + i) * config().n_head + head) * config().head_dim;
          q.emplace_back(begin, begin + config().head_dim);
        }
        const auto expected = plain_window_attention(rows_of(layer.k(), n_rows, head / 3), q, config().attention_scale);
        for (int64_t row = 0; row < n_rows; ++row) {
          const double weight = expected[static_cast<size_t>(row)];
          ASSERT_NEAR((*got)[static_cast<size_t>(head * n_rows + row)], weight, c.tolerance * weight + 1e-7)
              << to_string(c.type) << " head " << head << " row " << row << " window " << n_window;
        }
      }
    }
  }
}

TEST_F(ForwardTest, WindowAttentionOverAsManyRowsAsQueries) {
  load({});
  const LayerCache layer = random_layer(kF32Cache, 3, 5);
  const TensorSpec spec = {GGML_TYPE_F32, {config().head_dim, config().n_head, 3, 1}};
  const auto scratch = forward_->scratch({&spec, 1});  // zeros: every row seen gets the same attention
  const auto got = forward_->window_attention(layer, (*scratch)->tensor(0), nullptr, 0, 3);
  ASSERT_TRUE(got.ok());
  const double third = 1.0 / 3;
  for (int head = 0; head < config().n_head; ++head) {
    const auto* row = got->data() + static_cast<ptrdiff_t>(head) * 3;
    EXPECT_NEAR(row[0], third * (1 + 0.5 + third), 1e-6);
    EXPECT_NEAR(row[1], third * (0.5 + third), 1e-6);
    EXPECT_NEAR(row[2], third * third, 1e-6);
  }
}

TEST_F(ForwardTest, ValueNormIsThePlainLoops) {
  test::TinyGguf tiny;
  tiny.n_head = 6, tiny.n_head_kv = 3, tiny.head_dim = 32, tiny.n_embd = 96;
  load(tiny);
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    const LayerCache layer = random_layer({KvType::kF16, type}, 41, 8);
    const auto got = forward_->value_norm(layer);
    ASSERT_TRUE(got.ok());
    ASSERT_EQ(got->size(), 41U * 3);
    for (int head = 0; head < 3; ++head) {
      const auto rows = rows_of(layer.v(), 41, head);
      for (size_t row = 0; row < rows.size(); ++row) {
        double squares = 0;
        for (float v : rows[row]) squares += static_cast<double>(v) * v;
        EXPECT_NEAR((*got)[static_cast<size_t>(head) * 41 + row], std::sqrt(squares), 1e-5 * std::sqrt(squares))
            << to_string(type) << " head " << head << " row " << row;
      }
    }
  }
}

// The taps of a prefill against queries computed by hand from the weights in the file (layer 0: embedding, norm,
// product, rotation), whatever the chunks; and when a prompt extends a cache.
TEST_F(ForwardTest, PrefillTapsTheLastQueries) {
  test::TinyGguf tiny;
  tiny.n_head = 4, tiny.n_head_kv = 2, tiny.head_dim = 16;
  load(tiny);
  const auto tokens = test::random_tokens(50, config().n_vocab, 9);
  const int n_window = 8;
  const auto file = GgufFile::open(path_);
  ASSERT_TRUE(file.ok());
  const auto weight = [&](const char* name) {
    return reinterpret_cast<const float*>((*file)->tensor_bytes((*file)->find_tensor(name)).data());
  };
  const int n_embd = config().n_embd;
  std::vector<std::vector<std::vector<float>>> q(4);  // [head][slot][head_dim]
  for (size_t t = tokens.size() - n_window; t < tokens.size(); ++t) {
    const float* embedding = weight("token_embd.weight") + static_cast<ptrdiff_t>(tokens[t]) * n_embd;
    double squares = 0;
    for (int i = 0; i < n_embd; ++i) squares += static_cast<double>(embedding[i]) * embedding[i];
    const double inverse = 1 / std::sqrt(squares / n_embd + config().norm_rms_eps);
    for (int head = 0; head < 4; ++head) {
      std::vector<double> raw(16, 0.0);
      for (int d = 0; d < 16; ++d) {
        const float* row = weight("blk.0.attn_q.weight") + static_cast<ptrdiff_t>(head * 16 + d) * n_embd;
        for (int i = 0; i < n_embd; ++i) {
          raw[static_cast<size_t>(d)] += row[i] * (embedding[i] * inverse * weight("blk.0.attn_norm.weight")[i]);
        }
      }
      std::vector<float> rotated(16);
      for (size_t pair = 0; pair < 8; ++pair) {
        const double angle = static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(pair) / 8);
        rotated[2 * pair] = static_cast<float>(raw[2 * pair] * std::cos(angle) - raw[2 * pair + 1] * std::sin(angle));
        rotated[2 * pair + 1] =
            static_cast<float>(raw[2 * pair] * std::sin(angle) + raw[2 * pair + 1] * std::cos(angle));
      }
      q[static_cast<size_t>(head)].push_back(rotated);
    }
  }

  const std::vector<KvFormat> formats(2, kF32Cache);
  for (const int n_before : {0, 30}) {
    for (const int n_chunk : {1, 3, 7, 20, 512}) {
      KvCache cache;
      if (n_before > 0) cache = prefilled(std::span(tokens).first(static_cast<size_t>(n_before)), kF32Cache);
      PrefillRequest request;
      request.tokens = std::span(tokens).subspan(static_cast<size_t>(n_before));
      request.cache = &cache;
      request.formats = formats;
      request.n_chunk = n_chunk;
      request.n_query = n_window;
      int n_called = 0;
      request.on_layer = [&](int il, LayerCache& layer, const ViewLayer& view) -> Status {
        const auto seen = view(kTapWindowAttention | kTapValueNorm, n_window);
        EXPECT_TRUE(seen.ok()) << seen.status().message();
        const LayerTaps& taps = seen->taps[0];
        EXPECT_EQ(il, n_called++);
        EXPECT_EQ(taps.layer, il);
        EXPECT_EQ(taps.n_rows, 50);
        EXPECT_EQ(taps.n_head, 4);
        EXPECT_EQ(taps.n_head_kv, 2);
        EXPECT_EQ(taps.n_window, n_window);
        EXPECT_EQ(taps.value_norm.size(), 100U);
        EXPECT_EQ(taps.window_attention.size(), 200U);
        for (int head = 0; head < 4; ++head) {
          const auto attention = taps.window_attention.subspan(static_cast<size_t>(head) * 50, 50);
          double sum = 0;
          for (float a : attention) sum += a;
          EXPECT_NEAR(sum, 1.0, 1e-5);
          if (il > 0) continue;
          const auto expected = plain_window_attention(rows_of(layer.k(), 50, head / 2), q[static_cast<size_t>(head)],
                                                       config().attention_scale);
          for (size_t row = 0; row < 50; ++row) EXPECT_NEAR(attention[row], expected[row], 1e-5) << row;
        }
        return ok_status();
      };
      const auto logits = prefill(*forward_, request);
      ASSERT_TRUE(logits.ok()) << logits.status().message();
      EXPECT_EQ(n_called, 2);
    }
  }
}

TEST_F(ForwardTest, AllQueriesOfAShortPromptMayBeObserved) {
  load({});
  const auto tokens = test::random_tokens(3, config().n_vocab, 9);
  const std::vector<KvFormat> formats(2, kF32Cache);
  KvCache cache;
  PrefillRequest request;
  request.tokens = tokens;
  request.cache = &cache;
  request.formats = formats;
  request.n_query = 3;
  request.on_layer = [&](int, LayerCache&, const ViewLayer& view) -> Status {
    const auto seen = view(kTapWindowAttention, 3);
    EXPECT_TRUE(seen.ok()) << seen.status().message();
    const LayerTaps& taps = seen->taps[0];
    EXPECT_EQ(taps.n_window, 3);
    EXPECT_EQ(taps.window_attention.size(), 12U);
    // The first row: all of query 0, parts of the others.
    EXPECT_GT(taps.window_attention[0], 1.0F / 3);
    return ok_status();
  };
  EXPECT_TRUE(prefill(*forward_, request).ok());
}

// What on_layer returns ends the prefill; it then ran for no later layer.
TEST_F(ForwardTest, AnErrorOfOnLayerEndsThePrefill) {
  load({});
  const auto tokens = test::random_tokens(5, config().n_vocab, 9);
  const std::vector<KvFormat> formats(2, kF32Cache);
  KvCache cache;
  PrefillRequest request;
  request.tokens = tokens;
  request.cache = &cache;
  request.formats = formats;
  int n_called = 0;
  request.on_layer = [&](int, LayerCache&, const ViewLayer&) -> Status {
    ++n_called;
    return mismatch("no more");
  };
  EXPECT_EQ(prefill(*forward_, request).status().message(), "no more");
  EXPECT_EQ(n_called, 1);
}

// Sequences of different lengths, compressed to different rows in every layer and head, several tokens each.
TEST_F(ForwardTest, ARaggedBatchEqualsSingleRuns) {
  test::TinyGguf tiny;
  tiny.n_layer = 3;
  load(tiny, /*n_threads=*/2);
  const std::vector<int64_t> lengths = {1, 5, 40, 33};
  const std::vector<int64_t> n_new = {1, 4, 1, 7};
  const auto make = [&](size_t s) {
    KvCache cache = prefilled(test::random_tokens(lengths[s], config().n_vocab, s), kF32Cache);
    for (int il = 0; il < 3; ++il) {
      const int64_t n_rows = lengths[s];
      const int64_t n_keep = std::max<int64_t>(1, n_rows - 3 * il - static_cast<int64_t>(s));
      // As many more of one head as fewer of the other.
      const int64_t n_more = std::min({static_cast<int64_t>(s), n_keep - 1, n_rows - n_keep});
      KeepList keep(2);
      for (int64_t row = 0; row < n_keep + n_more; ++row) keep[0].push_back(static_cast<int32_t>(row));
      for (int64_t row = n_rows - n_keep + n_more; row < n_rows; ++row) keep[1].push_back(static_cast<int32_t>(row));
      EXPECT_TRUE(cache.layer(il).compact(keep).ok());
    }
    return cache;
  };
  std::vector<std::vector<float>> alone;
  std::vector<KvCache> caches;
  std::vector<int32_t> all_tokens;
  std::vector<std::vector<int32_t>> tokens;
  for (size_t s = 0; s < lengths.size(); ++s) {
    tokens.push_back(test::random_tokens(n_new[s], config().n_vocab, 100 + s));
    all_tokens.insert(all_tokens.end(), tokens[s].begin(), tokens[s].end());
    KvCache cache = make(s);
    std::vector<float> logits;
    ASSERT_TRUE(run({{&cache, n_new[s], lengths[s]}}, tokens[s], logits).ok());
    alone.push_back(logits);
    caches.push_back(make(s));
  }
  std::vector<Segment> segments;
  for (size_t s = 0; s < lengths.size(); ++s) segments.push_back({&caches[s], n_new[s], lengths[s]});
  std::vector<float> together;
  ASSERT_TRUE(run(segments, all_tokens, together).ok());
  size_t at = 0;
  for (size_t s = 0; s < lengths.size(); ++s) {
    for (size_t i = 0; i < alone[s].size(); ++i) {
      ASSERT_NEAR(together[at + i], alone[s][i], 1e-4) << "sequence " << s << " logit " << i;
    }
    at += alone[s].size();
    for (int il = 0; il < 3; ++il) {
      const LayerCache& layer = caches[s].layer(il);
      EXPECT_EQ(layer.positions(1).back(), lengths[s] + n_new[s] - 1);
      EXPECT_EQ(layer.n_rows(), std::max<int64_t>(1, lengths[s] - 3 * il - static_cast<int64_t>(s)) + n_new[s]);
    }
  }
  EXPECT_EQ(at, together.size());
}

TEST_F(ForwardTest, ACancelFlagStopsAndDeclaresNoRow) {
  load({});
  KvCache cache = prefilled(test::random_tokens(20, config().n_vocab, 1), kF32Cache);
  const auto tokens = test::random_tokens(4, config().n_vocab, 2);
  std::vector<float> before;
  {
    KvCache twin = std::move(*cache.fork());
    ASSERT_TRUE(run({{&twin, 4, 20}}, tokens, before).ok());
  }
  std::atomic<bool> cancel = true;
  forward_->set_cancel(&cancel);
  std::vector<float> logits;
  EXPECT_EQ(run({{&cache, 4, 20}}, tokens, logits).code(), StatusCode::kCancelled);
  EXPECT_EQ(cache.layer(0).n_rows(), 20);
  EXPECT_EQ(cache.layer(1).n_rows(), 20);
  EXPECT_EQ(forward_->value_norm(cache.layer(0)).status().code(), StatusCode::kCancelled);

  // Afterwards everything is as if nothing had happened.
  cancel = false;
  ASSERT_TRUE(run({{&cache, 4, 20}}, tokens, logits).ok());
  EXPECT_EQ(logits, before);
  cancel = true;
  forward_->set_cancel(nullptr);
  cache.layer(0).truncate(20);
  cache.layer(1).truncate(20);
  ASSERT_TRUE(run({{&cache, 4, 20}}, tokens, logits).ok());
  EXPECT_EQ(logits, before);
}

// Whenever another thread sets the flag: either all rows are there, or none.
TEST_F(ForwardTest, CancellingInTheMiddleIsAllOrNothing) {
  test::TinyGguf tiny;
  tiny.n_layer = 4;
  load(tiny, /*n_threads=*/2);
  const auto tokens = test::random_tokens(256, config().n_vocab, 2);
  int n_cancelled = 0;
  for (int i = 0; i < 12; ++i) {
    KvCache cache = empty_cache(kF32Cache);
    std::atomic<bool> cancel = false;
    forward_->set_cancel(&cancel);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(i * 700));
      cancel = true;
    });
    std::vector<float> logits;
    const Status status = run({{&cache, 256, 0}}, tokens, logits);
    other.join();
    forward_->set_cancel(nullptr);
    for (int il = 0; il < 4; ++il) EXPECT_EQ(cache.layer(il).n_rows(), status.ok() ? 256 : 0);
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    ++n_cancelled;
  }
  EXPECT_GE(n_cancelled, 1);
}

// The profiler re-runs layers from stored inputs: the same bits must come out.
TEST_F(ForwardTest, ReplayingStoredLayerInputsGivesTheSameBits) {
  test::TinyGguf tiny;
  tiny.n_layer = 3;
  load(tiny);
  const int n = 6;
  const auto prompt = test::random_tokens(30, config().n_vocab, 1);
  const auto tokens = test::random_tokens(n, config().n_vocab, 2);
  KvCache cache = prefilled(prompt, {KvType::kF16, KvType::kF16});
  const std::vector<TensorSpec> specs(3, {GGML_TYPE_F32, {config().n_embd, n, 1, 1}});
  const auto inputs = forward_->scratch(specs);
  ASSERT_TRUE(inputs.ok());
  const std::vector<ggml_tensor*> layer_inputs = {(*inputs)->tensor(0), (*inputs)->tensor(1), (*inputs)->tensor(2)};
  const std::vector<int32_t> rows = {0, 1, 2, 3, 4, 5};
  const KvSnapshot snapshot = cache.snapshot();

  const auto from_layer = [&](int first) {
    std::vector<float> logits;
    ForwardBatch batch;
    batch.segments = {{&cache, n, 30}};
    batch.layer_begin = first;
    batch.layer_end = 3;
    if (first == 0) {
      batch.tokens = tokens;
      batch.layer_inputs = layer_inputs;
    } else {
      batch.hidden_in = layer_inputs[static_cast<size_t>(first)];
    }
    batch.logits_of = rows;
    batch.logits = &logits;
    const Status status = forward_->run(batch);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(cache.layer(2).n_rows(), 36);
    EXPECT_EQ(cache.layer(0).n_rows(), first == 0 ? 36 : 30);
    EXPECT_TRUE(cache.restore(snapshot).ok());
    return logits;
  };
  const auto expected = from_layer(0);
  EXPECT_EQ(from_layer(1), expected);
  EXPECT_EQ(from_layer(2), expected);
  std::vector<float> plain;
  ASSERT_TRUE(run({{&cache, n, 30}}, tokens, plain).ok());
  EXPECT_EQ(plain, expected) << "recording changed the result";
}

// Embedding only, one layer at a time, head only: the same bits as in one go; rows of a longer activation.
TEST_F(ForwardTest, PartsInARowAreTheWhole) {
  load({});
  const auto tokens = test::random_tokens(7, config().n_vocab, 2);
  KvCache whole = empty_cache(kF32Cache);
  std::vector<float> expected;
  ASSERT_TRUE(run({{&whole, 7, 0}}, tokens, expected).ok());

  const TensorSpec spec = {GGML_TYPE_F32, {config().n_embd, 10, 1, 1}};
  const auto scratch = forward_->scratch({&spec, 1});
  ggml_tensor* hidden = (*scratch)->tensor(0);
  KvCache cache = empty_cache(kF32Cache);
  const auto step = [&](int begin, int end, bool is_first) {
    ForwardBatch batch;
    batch.segments = {{&cache, 7, 0}};
    batch.layer_begin = begin;
    batch.layer_end = end;
    if (is_first) batch.tokens = tokens;
    if (!is_first) batch.hidden_in = hidden;
    batch.hidden_out = hidden;
    batch.hidden_row = 3;
    EXPECT_TRUE(forward_->run(batch).ok());
  };
  step(0, 0, true);
  EXPECT_EQ(cache.layer(0).n_rows(), 0);
  step(0, 1, false);
  EXPECT_EQ(cache.layer(0).n_rows(), 7);
  EXPECT_EQ(cache.layer(1).n_rows(), 0);
  step(1, 2, false);
  std::vector<float> logits;
  const std::vector<int32_t> rows = {0, 1, 2, 3, 4, 5, 6};
  ForwardBatch batch;
  batch.segments = {{&cache, 7, 0}};
  batch.layer_begin = batch.layer_end = 2;
  batch.hidden_in = hidden;
  batch.hidden_row = 3;
  batch.logits_of = rows;
  batch.logits = &logits;
  ASSERT_TRUE(forward_->run(batch).ok());
  EXPECT_EQ(logits, expected);
  EXPECT_EQ(cache.layer(1).n_rows(), 7);

  // Only some tokens, in any order.
  const std::vector<int32_t> some = {6, 0};
  batch.logits_of = some;
  std::vector<float> few;
  batch.logits = &few;
  ASSERT_TRUE(forward_->run(batch).ok());
  const auto n_vocab = static_cast<ptrdiff_t>(config().n_vocab);
  EXPECT_TRUE(std::equal(few.begin(), few.begin() + n_vocab, expected.begin() + 6 * n_vocab));
  EXPECT_TRUE(std::equal(few.begin() + n_vocab, few.end(), expected.begin()));
}

// A prompt that extends a cache gets the rows, and the true positions, it would have had in one go.
TEST_F(ForwardTest, ContinuingACacheIsTheSameAsOneGo) {
  load({});
  const auto tokens = test::random_tokens(37, config().n_vocab, 4);
  for (const size_t split : {size_t{1}, size_t{20}, size_t{36}}) {
    KvCache one_go = prefilled(tokens, kF32Cache);
    KvCache cache = prefilled(std::span(tokens).first(split), kF32Cache);
    PrefillRequest request;
    request.tokens = std::span(tokens).subspan(split);
    request.cache = &cache;
    ASSERT_TRUE(prefill(*forward_, request).ok());
    EXPECT_EQ(cache.n_pos(), 37);
    for (int il = 0; il < 2; ++il) {
      EXPECT_TRUE(std::ranges::equal(cache.layer(il).positions(0), one_go.layer(il).positions(0)));
      for (int head = 0; head < 2; ++head) {
        const auto expected = rows_of(one_go.layer(il).k(), 37, head);
        const auto got = rows_of(cache.layer(il).k(), 37, head);
        for (size_t row = 0; row < 37; ++row) {
          for (size_t d = 0; d < 16; ++d) ASSERT_NEAR(got[row][d], expected[row][d], 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ripplekv
