// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Our attention kernels in a graph against ggml's: tiny models with f32 weights, every kv format, chunks, windows and
// threads. What the kernels compute is tests/kernels.
#include "model/attention_op.h"

#include <ggml-cpu.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "cache/plain_cache.h"
#include "model/forward.h"
#include "test_util/model_runs.h"
#include "test_util/oracle.h"
#include "test_util/tiny_gguf.h"

namespace ripplekv {
namespace {

class AttentionOpTest : public ::testing::Test {
 protected:
  void load(const test::TinyGguf& tiny) {
    auto loaded = Model::load(test::tiny_gguf(tiny), {.n_ctx = 1024});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    tokens_ = test::random_tokens(300, tiny.n_vocab, 21);
  }
  std::vector<std::vector<float>> logits(CpuKernels by, const KvFormat& format, int n_chunk, int n_threads = 1) const {
    auto forward = Forward::create(model_, n_threads, by);
    EXPECT_TRUE(forward.ok());
    return test::all_logits(**forward, tokens_, format, n_chunk);
  }
  static double worst(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& got) {
    double worst = expected.size() == got.size() ? 0.0 : INFINITY;
    for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, test::kl_of_logits(expected[i], got[i]));
    return worst;
  }

  // K and V of the last n rows of every head.
  static std::vector<float> last_rows(const LayerCache& layer, int64_t n) {
    const LayerCache last = layer.gather(layer.last_rows(n)).value();
    std::vector<float> values = last.read_k();
    const std::vector<float> v = last.read_v();
    values.insert(values.end(), v.begin(), v.end());
    return values;
  }

  test::QuietLog quiet_;
  std::shared_ptr<const Model> model_;
  std::vector<int32_t> tokens_;
};

test::TinyGguf model_of(const char* architecture) {
  test::TinyGguf tiny;
  tiny.architecture = architecture;
  tiny.n_layer = 1;  // a second layer's rows would be rounded from other values
  tiny.head_dim = 64;
  tiny.n_embd = 128;
  if (tiny.architecture == "gemma3") tiny.sliding_window = 40;
  return tiny;
}

// KL grows as the square of the error. f16 only in chunks whose sums ggml keeps in f32, as it does from 64 queries on.
TEST_F(AttentionOpTest, ModelsAgree) {
  for (const char* architecture : {"llama", "gemma3"}) {
    ASSERT_NO_FATAL_FAILURE(load(model_of(architecture)));
    for (const int n_chunk : {1, 7, 100, 300}) {
      for (const KvType type : {KvType::kF32, KvType::kF16}) {
        if (type == KvType::kF16 && n_chunk < 64) continue;
        const KvFormat format = {type, type};
        const auto expected = logits(CpuKernels::kGgml, format, n_chunk);
        EXPECT_LE(worst(expected, logits(CpuKernels::kOurs, format, n_chunk)), type == KvType::kF32 ? 1e-7 : 1e-5)
            << architecture << " " << to_string(type) << " chunk " << n_chunk;
      }
    }
  }
}

// Heads that hold other numbers of rows: one op for all against ggml's attention of each. Same bounds as above.
TEST_F(AttentionOpTest, RaggedLayersAgree) {
  for (const KvType type : {KvType::kF32, KvType::kF16}) {
    test::TinyGguf tiny = model_of("llama");
    if (type == KvType::kF32) tiny.n_layer = 3;
    ASSERT_NO_FATAL_FAILURE(load(tiny));
    const std::span<const int32_t> prompt(tokens_.data(), 190);
    auto ours = *Forward::create(model_, 2, CpuKernels::kOurs);
    auto theirs = *Forward::create(model_, 2, CpuKernels::kGgml);
    Random random(4);
    KvCache cache = test::prefilled(*ours, prompt, {type, type}).cache;
    const KvCache full = cache.fork().value();
    for (int il = 0; il < cache.n_layer(); ++il) {
      LayerCache& layer = cache.layer(il);
      ASSERT_TRUE(layer.compact(test::random_ragged_keep(layer.head_rows(), 40 + 50 * il, random)).ok());
      ASSERT_TRUE(layer.ragged());
    }
    for (const int64_t n_new : {1, 7, 100}) {
      if (type == KvType::kF16 && n_new < 64) continue;
      std::vector<int32_t> all(static_cast<size_t>(n_new));
      std::iota(all.begin(), all.end(), 0);
      const auto run = [&](Forward& forward, KvCache& into) {
        std::vector<float> logits;
        ForwardBatch batch;
        batch.segments = {{&into, n_new, 190}};
        batch.layer_end = cache.n_layer();
        batch.tokens = std::span<const int32_t>(tokens_).subspan(190, all.size());
        batch.logits_of = all;
        batch.logits = &logits;
        EXPECT_TRUE(forward.run(batch).ok());
        return logits;
      };
      KvCache by_ours = cache.fork().value();
      KvCache by_theirs = cache.fork().value();
      const std::vector<float> expected = run(*theirs, by_theirs);
      const std::vector<float> got = run(*ours, by_ours);
      const size_t n_vocab = got.size() / all.size();
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_LE(test::kl_of_logits(std::span(expected).subspan(i * n_vocab, n_vocab),
                                     std::span(got).subspan(i * n_vocab, n_vocab)),
                  type == KvType::kF32 ? 1e-7 : 1e-5)
            << to_string(type) << " token " << i << " of " << n_new;
      }
      // Rows held are as they were, new ones behind those of each head: the first layer's depend on tokens alone.
      KvCache to_full = full.fork().value();
      run(*ours, to_full);
      for (KvCache* const by : {&by_ours, &by_theirs}) {
        EXPECT_EQ(last_rows(by->layer(0), n_new), last_rows(to_full.layer(0), n_new));
      }
      for (int il = 0; il < cache.n_layer(); ++il) {
        by_ours.layer(il).truncate(cache.layer(il).n_rows());
        EXPECT_EQ(by_ours.layer(il).read_k_bytes(), cache.layer(il).read_k_bytes());
        EXPECT_EQ(by_ours.layer(il).read_v_bytes(), cache.layer(il).read_v_bytes());
      }
    }
  }
}

// The op alone over rows that ggml made. ggml rounds queries to int8 for quantised K: these are int8 already. It sums V
// in f16 where V is f16 and queries are few: relative errors up to 2^-11 at each of some 100 steps that matter.
TEST_F(AttentionOpTest, OpsAgreeInEveryFormat) {
  constexpr int64_t kHeadDim = 64, kRows = 700, kHeads = 6, kHeadsKv = 2;
  for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
    for (const int64_t n_query : {1, 5, 80}) {
      std::vector<uint8_t> memory(size_t{16} << 20);
      ggml_context* context = ggml_init({memory.size(), memory.data(), /*no_alloc=*/false});
      Random random(5);
      ggml_tensor* q = ggml_new_tensor_3d(context, GGML_TYPE_F32, kHeadDim, kHeads, n_query);
      for (int64_t i = 0; i < ggml_nelements(q); ++i) {
        const auto whole = i % 32 == 0 ? 127 : static_cast<int>(random.below(255)) - 127;
        ggml_get_data_f32(q)[i] = static_cast<float>(whole) / 64.0F;
      }
      const auto rows = [&] {
        std::vector<float> values(kHeadDim * kRows * kHeadsKv);
        for (float& value : values) value = static_cast<float>(random.gaussian());
        ggml_tensor* tensor = ggml_new_tensor_3d(context, type, kHeadDim, kRows, kHeadsKv);
        if (type == GGML_TYPE_F32) {
          std::copy(values.begin(), values.end(), ggml_get_data_f32(tensor));
        } else {
          ggml_quantize_chunk(type, values.data(), tensor->data, 0, ggml_nrows(tensor), kHeadDim, nullptr);
        }
        return tensor;
      };
      ggml_tensor* k = rows();
      ggml_tensor* v = rows();
      ggml_tensor* mask = ggml_new_tensor_2d(context, GGML_TYPE_F16, kRows, n_query);
      for (int64_t i = 0; i < n_query; ++i) {
        for (int64_t r = 0; r < kRows; ++r) {
          static_cast<ggml_fp16_t*>(mask->data)[i * kRows + r] =
              ggml_fp32_to_fp16(r < kRows - n_query + i + 1 ? 0.0F : -INFINITY);
        }
      }
      ggml_tensor* queries = ggml_permute(context, q, 0, 2, 1, 3);
      AttentionOp op;
      ggml_tensor* ours = op.add(context, queries, k, v, {}, 0.125F, /*window=*/0, {}, 2);
      ggml_tensor* theirs = ggml_flash_attn_ext(context, queries, k, v, mask, 0.125F, 0.0F, 0.0F);
      ggml_cgraph* graph = ggml_new_graph(context);
      ggml_build_forward_expand(graph, ours);
      ggml_build_forward_expand(graph, theirs);
      for (int run = 0; run < 2; ++run) {  // a graph may be computed again
        ASSERT_EQ(ggml_graph_compute_with_ctx(context, graph, 2), GGML_STATUS_SUCCESS);
        double error = 0.0;
        double length = 0.0;
        for (int64_t i = 0; i < ggml_nelements(ours); ++i) {
          const double difference = ggml_get_data_f32(ours)[i] - ggml_get_data_f32(theirs)[i];
          error += difference * difference;
          length += std::pow(ggml_get_data_f32(theirs)[i], 2.0);
        }
        const bool f16_sums = type == GGML_TYPE_F16 && n_query < 64;
        const double bound = f16_sums ? 1e-2 : type != GGML_TYPE_F32 && n_query == 80 ? 1e-3 : 1e-4;
        EXPECT_LE(std::sqrt(error / length), bound) << ggml_type_name(type) << " queries " << n_query;
      }
      ggml_free(context);
    }
  }
}

TEST_F(AttentionOpTest, ThreadsChangeNoBit) {
  ASSERT_NO_FATAL_FAILURE(load(model_of("llama")));
  for (const int n_chunk : {1, 100}) {
    const KvFormat format = {KvType::kF16, KvType::kF16};
    const auto one = logits(CpuKernels::kOurs, format, n_chunk, 1);
    EXPECT_EQ(one, logits(CpuKernels::kOurs, format, n_chunk, 2));
    EXPECT_EQ(one, logits(CpuKernels::kOurs, format, n_chunk, 3));
  }
}

}  // namespace
}  // namespace ripplekv
