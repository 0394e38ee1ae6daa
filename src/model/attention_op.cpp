// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ggml tensors as the plain structs of src/kernels/attention.h and attention_sums.h.
#include "model/attention_op.h"

#include <ggml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/cpu_compute.h"

namespace ripplekv {
namespace {

std::optional<RowType> row_type(ggml_type type) {
  switch (type) {
    case GGML_TYPE_F32:
      return RowType::kF32;
    case GGML_TYPE_F16:
      return RowType::kF16;
    case GGML_TYPE_Q8_0:
      return RowType::kQ8_0;
    case GGML_TYPE_Q4_0:
      return RowType::kQ4_0;
    default:
      return std::nullopt;
  }
}

AttentionRows rows_of(const ggml_tensor* tensor, const HeadRows& ragged) {
  return {*row_type(tensor->type), static_cast<const uint8_t*>(tensor->data), static_cast<int64_t>(tensor->nb[1]),
          static_cast<int64_t>(tensor->nb[2]), ragged.first.empty() ? nullptr : ragged.first.data()};
}

int64_t most_rows(const ggml_tensor* k, const HeadRows& ragged) {
  return ragged.n.empty() ? k->ne[1] : *std::max_element(ragged.n.begin(), ragged.n.end());
}

// The strides of q, and k.
AttentionCall call_of(const ggml_tensor* q, const ggml_tensor* k, const HeadRows& ragged, const AttentionShape& shape,
                      float scale) {
  AttentionCall call;
  call.q = static_cast<const float*>(q->data);
  call.q_query_stride = static_cast<int64_t>(q->nb[1] / sizeof(float));
  call.q_head_stride = static_cast<int64_t>(q->nb[2] / sizeof(float));
  call.k = rows_of(k, ragged);
  call.n_rows = {&shape.n_rows, 1};
  if (!ragged.n.empty()) call.n_rows = ragged.n;
  call.scale = scale;
  return call;
}

LogSums log_sums_at(const LogSumsTarget& target) {
  if (target.tensor == nullptr) return {};
  return {static_cast<float*>(target.tensor->data) + target.first_slot,
          static_cast<int64_t>(target.tensor->nb[1] / sizeof(float))};
}

// A tensor that is scratch memory.
std::span<uint8_t> memory_of(const ggml_tensor* scratch) {
  return {static_cast<uint8_t*>(scratch->data), static_cast<size_t>(scratch->ne[0])};
}

}  // namespace

bool AttentionOp::supports(const ggml_tensor* k, const ggml_tensor* v) {
  const auto k_type = row_type(k->type);
  const auto v_type = row_type(v->type);
  return k_type && v_type && attention_supports(k->ne[0], *k_type, *v_type) && on_cpu(k) && on_cpu(v);
}

ggml_tensor* AttentionOp::add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, HeadRows ragged,
                              float scale, int64_t window, const LogSumsTarget& log_sums, int n_threads) {
  ragged_ = std::move(ragged);
  const AttentionShape shape = {q->ne[0],           q->ne[1],          q->ne[2], k->ne[2], most_rows(k, ragged_),
                                *row_type(k->type), *row_type(v->type)};
  plan_ = plan_attention(shape, n_threads);
  scale_ = scale;
  window_ = window;
  log_sums_ = log_sums;
  ggml_tensor* inputs[] = {q, k, v};
  ggml_tensor* scratch =
      ggml_custom_4d(context, GGML_TYPE_I8, plan_.scratch_bytes, 1, 1, 1, inputs, 3, run_units, GGML_N_TASKS_MAX, this);
  return ggml_custom_4d(context, GGML_TYPE_F32, shape.head_dim * shape.n_head, shape.n_query, 1, 1, &scratch, 1,
                        run_merge, GGML_N_TASKS_MAX, this);
}

void AttentionOp::run_units(ggml_tensor* scratch, int thread, int /*n_threads*/, void* op) {
  auto* self = static_cast<AttentionOp*>(op);
  AttentionCall call = call_of(scratch->src[0], scratch->src[1], self->ragged_, self->plan_.shape, self->scale_);
  call.v = rows_of(scratch->src[2], self->ragged_);
  call.window = self->window_;
  attend(self->plan_, call, memory_of(scratch), self->next_unit_, thread);
}

void AttentionOp::run_merge(ggml_tensor* out, int thread, int n_threads, void* op) {
  auto* self = static_cast<AttentionOp*>(op);
  if (thread == 0) self->next_unit_.store(0);  // all have passed the units, and a graph may be computed again
  merge_attention(self->plan_, memory_of(out->src[0]), static_cast<float*>(out->data), log_sums_at(self->log_sums_),
                  self->log_sums_.first_query, thread, n_threads);
}

bool AttentionSumsOp::supports(const ggml_tensor* k) {
  const auto type = row_type(k->type);
  return type && attention_sums_support(k->ne[0], *type) && on_cpu(k);
}

ggml_tensor* AttentionSumsOp::add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, HeadRows ragged, float scale,
                                  const LogSumsTarget& log_sums, int n_threads) {
  ragged_ = std::move(ragged);
  const RowType type = *row_type(k->type);
  const int64_t n_rows = most_rows(k, ragged_);
  plan_ = plan_attention_sums({q->ne[0], q->ne[1], q->ne[2], k->ne[2], n_rows, type, type}, n_threads);
  scale_ = scale;
  log_sums_ = log_sums;
  ggml_tensor* inputs[] = {q, k};
  ggml_tensor* scratch = ggml_custom_4d(context, GGML_TYPE_I8, plan_.scratch_bytes, 1, 1, 1, inputs, 2, run_scores,
                                        GGML_N_TASKS_MAX, this);
  // Works on the scratch memory itself: a node for its barriers only.
  ggml_tensor* merged =
      ggml_custom_4d(context, GGML_TYPE_I8, 1, 1, 1, 1, &scratch, 1, run_merge, GGML_N_TASKS_MAX, this);
  ggml_tensor* sources[] = {scratch, merged};
  return ggml_custom_4d(context, GGML_TYPE_F32, n_rows, q->ne[2], 1, 1, sources, 2, run_weights, GGML_N_TASKS_MAX,
                        this);
}

void AttentionSumsOp::run_scores(ggml_tensor* scratch, int thread, int /*n_threads*/, void* op) {
  auto* self = static_cast<AttentionSumsOp*>(op);
  if (self->log_sums_.tensor != nullptr) return;
  sum_scores(self->plan_, call_of(scratch->src[0], scratch->src[1], self->ragged_, self->plan_.shape, self->scale_),
             memory_of(scratch), self->next_unit_[0], thread);
}

void AttentionSumsOp::run_merge(ggml_tensor* merged, int thread, int n_threads, void* op) {
  auto* self = static_cast<AttentionSumsOp*>(op);
  if (thread == 0) self->next_unit_[1].store(0);  // a graph may be computed again, and none is at the third op yet
  if (self->log_sums_.tensor == nullptr) merge_scores(self->plan_, memory_of(merged->src[0]), thread, n_threads);
}

void AttentionSumsOp::run_weights(ggml_tensor* out, int thread, int /*n_threads*/, void* op) {
  auto* self = static_cast<AttentionSumsOp*>(op);
  if (thread == 0) self->next_unit_[0].store(0);
  const ggml_tensor* scratch = out->src[0];
  sum_weights(self->plan_, call_of(scratch->src[0], scratch->src[1], self->ragged_, self->plan_.shape, self->scale_),
              log_sums_at(self->log_sums_), memory_of(scratch), self->next_unit_[1], thread,
              static_cast<float*>(out->data));
}

}  // namespace ripplekv
