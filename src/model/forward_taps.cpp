// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The graphs behind the taps: what a layer's queries attend to, are expected to attend to, and how long its Values are.
// Each is built per KV head, so that the largest intermediate is one head's. Running layers is forward.cpp's business.
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "model/attention_op.h"
#include "model/forward.h"

namespace ripplekv {
namespace {

constexpr int64_t kNodes = 64;  // of a graph, beside those per KV head
constexpr int64_t kNodesPerHead = 64;
constexpr int64_t kQueryBlock = 64;        // queries whose attention is computed at once
constexpr int64_t kFuturePositions = 512;  // as the paper's n_future_positions

// The first n_rows of a head's rows in K's or V's tensor of a cache.
ggml_tensor* rows_of_head(ggml_context* context, const LayerCache& cache, ggml_tensor* rows, int64_t n_rows,
                          int64_t head) {
  return ggml_view_2d(context, rows, rows->ne[0], n_rows, rows->nb[1],
                      static_cast<size_t>(cache.first_rows()[static_cast<size_t>(head)]) * rows->nb[1]);
}

int64_t most_rows(const LayerCache& cache) {
  const std::vector<int64_t> rows = cache.head_rows();
  return *std::max_element(rows.begin(), rows.end());
}

std::vector<int32_t> ascending(int64_t first, int64_t n) {
  std::vector<int32_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), static_cast<int32_t>(first));
  return values;
}

void set_ascending(ggml_tensor* tensor, int64_t first) {
  const std::vector<int32_t> values = ascending(first, tensor->ne[0]);
  ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
}

// Puts n columns of the tensors, one per KV head and each [n, ...] contiguous, behind each other.
void read_heads(const std::vector<ggml_tensor*>& heads, std::vector<float>& result) {
  float* to = result.data();
  for (const ggml_tensor* head : heads) {
    ggml_backend_tensor_get(head, to, 0, ggml_nbytes(head));
    to += ggml_nelements(head);
  }
}

// The sum over the second dimension of [n, n_column, n_group], by halves: a transposed copy for ggml_sum_rows() would
// cost more than the attention itself.
ggml_tensor* sum_of_columns(ggml_context* context, ggml_tensor* x) {
  const auto columns = [&](int64_t first, int64_t n) {
    return ggml_view_3d(context, x, x->ne[0], n, x->ne[2], x->nb[1], x->nb[2], static_cast<size_t>(first) * x->nb[1]);
  };
  ggml_tensor* odd = nullptr;  // [n, 1, n_group]: columns that had no other half
  while (x->ne[1] > 1) {
    const int64_t half = x->ne[1] / 2;
    if (x->ne[1] % 2 != 0) {
      ggml_tensor* last = columns(2 * half, 1);
      odd = odd == nullptr ? last : ggml_add(context, odd, last);
    }
    x = ggml_add(context, columns(0, half), columns(half, half));
  }
  return odd == nullptr ? x : ggml_add(context, x, odd);
}

ggml_tensor* output(ggml_cgraph* graph, ggml_tensor* tensor) {
  ggml_set_output(tensor);
  ggml_build_forward_expand(graph, tensor);
  return tensor;
}

}  // namespace

Result<std::vector<float>> Forward::window_attention(const LayerCache& cache, ggml_tensor* queries,
                                                     ggml_tensor* log_sums, int first_slot, int n_window) {
  const int64_t n_rows = cache.n_rows();
  RKV_CHECK(n_window >= 1 && first_slot >= 0 && first_slot + n_window <= queries->ne[2]);
  for (const int64_t of_head : cache.head_rows()) RKV_CHECK(n_window <= of_head);
  std::vector<float> result(static_cast<size_t>(n_rows * model_->config().n_head), 0.0F);
  if (kernels_ == CpuKernels::kOurs && AttentionSumsOp::supports(cache.k())) {
    RKV_RETURN_IF_ERROR(sum_window_attention(cache, queries, log_sums, first_slot, n_window, result));
  } else {
    for (int64_t first = 0; first < n_window; first += kQueryBlock) {
      const int64_t n_query = std::min<int64_t>(kQueryBlock, n_window - first);
      RKV_RETURN_IF_ERROR(
          add_window_attention(cache, queries, first_slot + first, n_rows - n_window + first, n_query, result));
    }
  }
  for (float& value : result) value /= static_cast<float>(n_window);
  return result;
}

Status Forward::sum_window_attention(const LayerCache& cache, ggml_tensor* queries, ggml_tensor* log_sums,
                                     int64_t first_slot, int64_t n_query, std::span<float> sums) {
  const ModelConfig& config = model_->config();
  // Attention by ggml leaves none.
  if (!AttentionOp::supports(cache.k(), cache.v())) log_sums = nullptr;
  AttentionSumsOp op;
  ggml_tensor* attention = nullptr;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) -> std::function<void()> {
    ggml_tensor* q = ggml_view_3d(context, queries, config.head_dim, n_query, config.n_head, queries->nb[2],
                                  queries->nb[1], static_cast<size_t>(first_slot) * queries->nb[2]);
    ggml_tensor* k = cache.k();
    HeadRows ragged;
    if (cache.ragged()) {
      ragged = {cache.first_rows(), cache.head_rows()};
    } else {
      k = ggml_view_3d(context, k, k->ne[0], cache.n_rows(), k->ne[2], k->nb[1], k->nb[2], 0);
    }
    attention = output(
        graph, op.add(context, q, k, std::move(ragged), config.attention_scale, {log_sums, 0, first_slot}, n_threads_));
    return [] {};
  };
  RKV_RETURN_IF_ERROR(compute(kNodes, build));
  // A head's sums have as many places as the head with most rows has.
  const auto place = static_cast<size_t>(attention->ne[0]) * sizeof(float);
  float* to = sums.data();
  for (int64_t head = 0; head < config.n_head; ++head) {
    const int64_t n_rows = cache.n_rows(static_cast<int>(head / (config.n_head / cache.shape().n_head_kv)));
    ggml_backend_tensor_get(attention, to, static_cast<size_t>(head) * place,
                            static_cast<size_t>(n_rows) * sizeof(float));
    to += n_rows;
  }
  return ok_status();
}

Status Forward::add_window_attention(const LayerCache& cache, ggml_tensor* queries, int64_t first_slot,
                                     int64_t first_row, int64_t n_query, std::span<float> sums) {
  const ModelConfig& config = model_->config();
  const int64_t n_head_kv = cache.shape().n_head_kv;
  const int64_t n_group = config.n_head / n_head_kv;  // query heads of one KV head
  const auto n_seen_of = [&](int64_t head) {          // rows of a KV head that the last of these queries sees
    return first_row + n_query + cache.n_rows(static_cast<int>(head)) - cache.n_rows();
  };
  std::vector<ggml_tensor*> attention;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) -> std::function<void()> {
    attention.clear();
    std::map<int64_t, ggml_tensor*> masks;  // by rows seen
    for (int64_t head = 0; head < n_head_kv; ++head) {
      const int64_t n_seen = n_seen_of(head);
      ggml_tensor*& mask = masks[n_seen];
      if (mask == nullptr) mask = ggml_new_tensor_2d(context, GGML_TYPE_F32, n_seen, n_query);
      ggml_set_input(mask);
      ggml_tensor* k = rows_of_head(context, cache, cache.k(), n_seen, head);
      ggml_tensor* q = ggml_view_3d(
          context, queries, config.head_dim, n_group, n_query, queries->nb[1], queries->nb[2],
          static_cast<size_t>(head * n_group) * queries->nb[1] + static_cast<size_t>(first_slot) * queries->nb[2]);
      q = ggml_permute(context, q, 0, 2, 1, 3);  // [head_dim, n_query, n_group] !! permuted !!
      q = ggml_cont_2d(context, q, config.head_dim, n_query * n_group);
      ggml_tensor* weights = ggml_reshape_3d(context, ggml_mul_mat(context, k, q), n_seen, n_query, n_group);
      weights = ggml_soft_max_ext(context, weights, mask, config.attention_scale, 0.0F);
      attention.push_back(output(graph, sum_of_columns(context, weights)));  // [n_seen, 1, n_group]
    }
    return [n_query, masks] {
      for (const auto& [n_seen, mask] : masks) {
        std::vector<float> values(static_cast<size_t>(n_seen * n_query), 0.0F);
        for (int64_t i = 0; i < n_query; ++i) {
          std::fill_n(values.begin() + (i + 1) * n_seen - (n_query - i - 1), n_query - i - 1, -INFINITY);
        }
        ggml_backend_tensor_set(mask, values.data(), 0, ggml_nbytes(mask));
      }
    };
  };
  RKV_RETURN_IF_ERROR(compute(kNodes + kNodesPerHead * n_head_kv, build));
  std::vector<float> block(static_cast<size_t>((first_row + n_query) * config.n_head));
  read_heads(attention, block);
  const float* from = block.data();
  float* to = sums.data();
  for (int64_t head = 0; head < config.n_head; ++head) {
    const int64_t n_seen = n_seen_of(head / n_group);
    for (int64_t row = 0; row < n_seen; ++row) to[row] += from[row];
    from += n_seen;
    to += cache.n_rows(static_cast<int>(head / n_group));
  }
  return ok_status();
}

Status Forward::update_mean_rotation(const RopeConfig& rope, ggml_tensor* factors, int64_t next_pos) {
  if (mean_rotation_.next_pos == next_pos && mean_rotation_.rope == rope && mean_rotation_.factors == factors) {
    return ok_status();
  }
  const int64_t head_dim = model_->config().head_dim;
  ggml_tensor* mean = nullptr;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) -> std::function<void()> {
    // What it does to the unit vectors.
    ggml_tensor* coming = ggml_new_tensor_1d(context, GGML_TYPE_I32, kFuturePositions);
    ggml_tensor* units = ggml_new_tensor_3d(context, GGML_TYPE_F32, head_dim, head_dim, kFuturePositions);
    ggml_set_input(coming);
    ggml_set_input(units);
    ggml_tensor* rotated = rotate(context, units, coming, rope, factors);      // [out, in, position]
    rotated = ggml_cont(context, ggml_permute(context, rotated, 2, 1, 0, 3));  // [position, in, out]
    mean = output(graph, ggml_mean(context, rotated));
    return [=] {
      set_ascending(coming, next_pos);
      std::vector<float> identity(static_cast<size_t>(ggml_nelements(units)), 0.0F);
      for (int64_t i = 0; i < kFuturePositions * head_dim; ++i) {
        identity[static_cast<size_t>(i * head_dim + i % head_dim)] = 1.0F;
      }
      ggml_backend_tensor_set(units, identity.data(), 0, ggml_nbytes(units));
    };
  };
  RKV_RETURN_IF_ERROR(compute(kNodes, build));
  mean_rotation_ = {next_pos, rope, factors, std::vector<float>(static_cast<size_t>(head_dim * head_dim))};
  ggml_backend_tensor_get(mean, mean_rotation_.values.data(), 0, ggml_nbytes(mean));
  return ok_status();
}

// With k the rotated key of a row, mu and S mean and covariance of the queries before rotation, R the mean rotation of
// the coming positions and s the attention scale, the log of the expected weight of a normally distributed query is
// s k.(R mu) + s^2/2 k.(R S R^T) k.
Result<std::vector<float>> Forward::future_attention(int il, const LayerCache& cache, ggml_tensor* queries,
                                                     int first_slot, int n_window) {
  const ModelConfig& config = model_->config();
  const int64_t n_head_kv = cache.shape().n_head_kv;
  const int64_t n_group = config.n_head / n_head_kv;
  const int64_t head_dim = config.head_dim;
  RKV_CHECK(n_window >= 1 && n_window <= cache.n_rows() && first_slot >= 0 && first_slot + n_window <= queries->ne[2]);
  const int64_t next_pos = cache.positions(0).back() + 1;
  ggml_tensor* factors = model_->weights().layers[static_cast<size_t>(il)].rope_factors;
  RKV_RETURN_IF_ERROR(update_mean_rotation(config.rope_of(il), factors, next_pos));
  std::vector<float> result(static_cast<size_t>(cache.n_rows() * config.n_head));
  std::vector<ggml_tensor*> logits;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) -> std::function<void()> {
    logits.clear();
    ggml_tensor* past = ggml_new_tensor_1d(context, GGML_TYPE_I32, n_window);
    ggml_tensor* rotation = ggml_new_tensor_2d(context, GGML_TYPE_F32, head_dim, head_dim);  // [in, out]
    ggml_tensor* all = ggml_new_tensor_1d(context, GGML_TYPE_I32, most_rows(cache));
    for (ggml_tensor* input : {past, rotation, all}) ggml_set_input(input);

    ggml_tensor* q = ggml_view_3d(context, queries, head_dim, config.n_head, n_window, queries->nb[1], queries->nb[2],
                                  static_cast<size_t>(first_slot) * queries->nb[2]);
    q = rotate_back(context, q, past, config.rope_of(il), factors);
    q = ggml_cont(context, ggml_permute(context, q, 1, 2, 0, 3));  // [n_window, head_dim, n_head]
    ggml_tensor* mean = ggml_mean(context, q);                     // [1, head_dim, n_head]
    q = ggml_sub(context, q, mean);
    ggml_tensor* covariance = ggml_mul_mat(context, q, q);  // [head_dim, head_dim, n_head], times n_window
    covariance = ggml_scale(context, covariance, 1.0F / static_cast<float>(n_window));
    covariance = ggml_mul_mat(context, rotation, covariance);
    covariance = ggml_mul_mat(context, rotation, ggml_cont(context, ggml_permute(context, covariance, 1, 0, 2, 3)));
    mean = ggml_reshape_2d(context, mean, head_dim, config.n_head);
    mean = ggml_mul_mat(context, rotation, mean);  // [head_dim, n_head]

    const float scale = config.attention_scale;
    for (int64_t head = 0; head < n_head_kv; ++head) {
      const int64_t n_rows = cache.n_rows(static_cast<int>(head));
      ggml_tensor* k = ggml_get_rows(context, rows_of_head(context, cache, cache.k(), n_rows, head),
                                     ggml_view_1d(context, all, n_rows, 0));  // F32
      ggml_tensor* mean_of_head = ggml_view_2d(context, mean, head_dim, n_group, mean->nb[1],
                                               static_cast<size_t>(head * n_group) * mean->nb[1]);
      ggml_tensor* linear = ggml_mul_mat(context, k, mean_of_head);  // [n_rows, n_group]
      ggml_tensor* covariance_of_head =
          ggml_view_3d(context, covariance, head_dim, head_dim, n_group, covariance->nb[1], covariance->nb[2],
                       static_cast<size_t>(head * n_group) * covariance->nb[2]);
      ggml_tensor* k_of_group = ggml_repeat_4d(context, k, head_dim, n_rows, n_group, 1);
      ggml_tensor* quadratic = ggml_mul_mat(context, covariance_of_head, k_of_group);  // [head_dim, n_rows, n_group]
      quadratic = ggml_sum_rows(context, ggml_mul(context, quadratic, k));             // [1, n_rows, n_group]
      quadratic = ggml_reshape_2d(context, quadratic, n_rows, n_group);
      logits.push_back(output(graph, ggml_add(context, ggml_scale(context, linear, scale),
                                              ggml_scale(context, quadratic, scale * scale / 2))));
    }
    return [=, this] {
      set_ascending(past, next_pos - n_window);
      set_ascending(all, 0);
      ggml_backend_tensor_set(rotation, mean_rotation_.values.data(), 0, ggml_nbytes(rotation));
    };
  };
  RKV_RETURN_IF_ERROR(compute(kNodes + kNodesPerHead * n_head_kv, build));
  read_heads(logits, result);
  return result;
}

Result<std::vector<float>> Forward::value_norm(const LayerCache& cache) {
  const int64_t n_head_kv = cache.shape().n_head_kv;
  std::vector<float> result(static_cast<size_t>(cache.n_rows() * n_head_kv));
  std::vector<ggml_tensor*> norms;
  const auto build = [&](ggml_context* context, ggml_cgraph* graph) -> std::function<void()> {
    norms.clear();
    ggml_tensor* all = ggml_new_tensor_1d(context, GGML_TYPE_I32, most_rows(cache));
    ggml_set_input(all);
    for (int64_t head = 0; head < n_head_kv; ++head) {
      const int64_t n_rows = cache.n_rows(static_cast<int>(head));
      ggml_tensor* v = ggml_get_rows(context, rows_of_head(context, cache, cache.v(), n_rows, head),
                                     ggml_view_1d(context, all, n_rows, 0));  // F32
      norms.push_back(output(graph, ggml_sqrt(context, ggml_sum_rows(context, ggml_sqr(context, v)))));
    }
    return [all] { set_ascending(all, 0); };
  };
  RKV_RETURN_IF_ERROR(compute(kNodes + kNodesPerHead * n_head_kv, build));
  read_heads(norms, result);
  return result;
}

}  // namespace ripplekv
