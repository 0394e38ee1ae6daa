// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ggml tensors as the plain structs of src/kernels/attention.h.
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

}  // namespace

bool AttentionOp::supports(const ggml_tensor* k, const ggml_tensor* v) {
  const auto k_type = row_type(k->type);
  const auto v_type = row_type(v->type);
  return k_type && v_type && attention_supports(k->ne[0], *k_type, *v_type) && on_cpu(k) && on_cpu(v);
}

ggml_tensor* AttentionOp::add(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, HeadRows ragged,
                              float scale, int64_t window, int n_threads) {
  ragged_ = std::move(ragged);
  const int64_t n_rows = ragged_.n.empty() ? k->ne[1] : *std::max_element(ragged_.n.begin(), ragged_.n.end());
  const AttentionShape shape = {q->ne[0], q->ne[1], q->ne[2], k->ne[2], n_rows, *row_type(k->type), *row_type(v->type)};
  plan_ = plan_attention(shape, n_threads);
  scale_ = scale;
  window_ = window;
  ggml_tensor* inputs[] = {q, k, v};
  ggml_tensor* scratch =
      ggml_custom_4d(context, GGML_TYPE_I8, plan_.scratch_bytes, 1, 1, 1, inputs, 3, run_units, GGML_N_TASKS_MAX, this);
  return ggml_custom_4d(context, GGML_TYPE_F32, shape.head_dim * shape.n_head, shape.n_query, 1, 1, &scratch, 1,
                        run_merge, GGML_N_TASKS_MAX, this);
}

void AttentionOp::run_units(ggml_tensor* scratch, int thread, int /*n_threads*/, void* op) {
  auto* self = static_cast<AttentionOp*>(op);
  const ggml_tensor* q = scratch->src[0];
  AttentionCall call;
  call.q = static_cast<const float*>(q->data);
  call.q_query_stride = static_cast<int64_t>(q->nb[1] / sizeof(float));
  call.q_head_stride = static_cast<int64_t>(q->nb[2] / sizeof(float));
  call.k = rows_of(scratch->src[1], self->ragged_);
  call.v = rows_of(scratch->src[2], self->ragged_);
  call.n_rows = {&self->plan_.shape.n_rows, 1};
  if (!self->ragged_.n.empty()) call.n_rows = self->ragged_.n;
  call.scale = self->scale_;
  call.window = self->window_;
  attend(self->plan_, call, {static_cast<uint8_t*>(scratch->data), static_cast<size_t>(self->plan_.scratch_bytes)},
         self->next_unit_, thread);
}

void AttentionOp::run_merge(ggml_tensor* out, int thread, int n_threads, void* op) {
  auto* self = static_cast<AttentionOp*>(op);
  if (thread == 0) self->next_unit_.store(0);  // all have passed the units, and a graph may be computed again
  const ggml_tensor* scratch = out->src[0];
  merge_attention(self->plan_,
                  {static_cast<const uint8_t*>(scratch->data), static_cast<size_t>(self->plan_.scratch_bytes)},
                  static_cast<float*>(out->data), thread, n_threads);
}

}  // namespace ripplekv
