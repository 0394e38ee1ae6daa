// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ggml tensors as the plain structs of src/kernels/product.h.
#include "model/product_op.h"

#include <ggml.h>

#include <array>

#include "model/cpu_compute.h"
#include "ripplekv/status.h"

namespace ripplekv {
namespace {

// Fewer are faster with weights as they are stored; bench/product_bench.cpp.
constexpr int64_t kTokensMin = 16;

WeightType weight_type(ggml_type type) {
  switch (type) {
    case GGML_TYPE_Q4_0:
      return WeightType::kQ4_0;
    case GGML_TYPE_Q4_1:
      return WeightType::kQ4_1;
    case GGML_TYPE_Q8_0:
      return WeightType::kQ8_0;
    default:
      return WeightType::kOther;
  }
}

WeightRows rows_of(const ggml_tensor* weight) {
  return {weight_type(weight->type), static_cast<const uint8_t*>(weight->data), static_cast<int64_t>(weight->nb[1]),
          weight->ne[1], ggml_get_type_traits(weight->type)->to_float};
}

bool is_product(const ggml_tensor* weight, const ggml_tensor* x) {
  return x->ne[2] == 1 && x->ne[3] == 1 && x->type == GGML_TYPE_F32 && x->nb[0] == sizeof(float) &&
         product_supports(x->ne[0]) && ggml_is_contiguous(weight) && on_cpu(weight);
}

int64_t stride_of(const ggml_tensor* x) { return static_cast<int64_t>(x->nb[1] / sizeof(float)); }

std::span<uint8_t> memory_of(const ggml_tensor* packed) {
  return {static_cast<uint8_t*>(packed->data), static_cast<size_t>(packed->ne[0])};
}

}  // namespace

PackedInputsOp::PackedInputsOp(ggml_context* context, ggml_tensor* x, int n_threads)
    : plan_(plan_product(x->ne[0], x->ne[1], n_threads)) {
  tensor_ = ggml_custom_4d(context, GGML_TYPE_I8, plan_.scratch_bytes, 1, 1, 1, &x, 1, run, GGML_N_TASKS_MAX, this);
}

void PackedInputsOp::run(ggml_tensor* packed, int thread, int n_threads, void* op) {
  const ggml_tensor* x = packed->src[0];
  pack_inputs(static_cast<PackedInputsOp*>(op)->plan_, static_cast<const float*>(x->data), stride_of(x),
              memory_of(packed), thread, n_threads);
}

bool ProductOp::supports(const ggml_tensor* weight, const ggml_tensor* x) {
  return is_product(weight, x) && x->ne[1] >= kTokensMin && weight->type != GGML_TYPE_F32 &&
         ggml_get_type_traits(weight->type)->to_float != nullptr;
}

ggml_tensor* ProductOp::add(ggml_context* context, ggml_tensor* weight) {
  RKV_CHECK(weight->ne[0] == inputs_.plan().shape.n_in);
  ggml_tensor* sources[] = {inputs_.tensor(), weight};
  return ggml_custom_4d(context, GGML_TYPE_F32, weight->ne[1], inputs_.plan().shape.n_tokens, 1, 1, sources, 2, run,
                        GGML_N_TASKS_MAX, this);
}

void ProductOp::run(ggml_tensor* out, int thread, int n_threads, void* op) {
  auto* self = static_cast<ProductOp*>(op);
  multiply(self->inputs_.plan(), rows_of(out->src[1]), static_cast<float*>(out->data), memory_of(out->src[0]),
           self->counter_.next, thread);
  self->counter_.done(n_threads);
}

bool FewProductOp::supports(const ggml_tensor* weight, const ggml_tensor* x) {
  return is_product(weight, x) && x->ne[1] < kTokensMin && weight_type(weight->type) != WeightType::kOther;
}

ggml_tensor* FewProductOp::add(ggml_context* context, std::span<ggml_tensor* const> weights, ggml_tensor* x,
                               std::vector<uint8_t>& scratch, int n_threads) {
  RKV_CHECK(!weights.empty() && weights.size() <= kWeightsMax);
  tokens_ = {.n_in = x->ne[0], .n_tokens = x->ne[1]};
  scratch_ = &scratch;
  const auto bytes = static_cast<size_t>(tokens_.scratch_bytes(n_threads));
  if (scratch.size() < bytes) scratch.resize(bytes);
  ggml_tensor* sources[1 + kWeightsMax] = {x};
  int64_t n_out = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    RKV_CHECK(weights[i]->ne[0] == x->ne[0]);
    sources[1 + i] = weights[i];
    n_out += weights[i]->ne[1];
  }
  return ggml_custom_4d(context, GGML_TYPE_F32, n_out, x->ne[1], 1, 1, sources, static_cast<int>(1 + weights.size()),
                        run, GGML_N_TASKS_MAX, this);
}

void FewProductOp::run(ggml_tensor* out, int thread, int n_threads, void* op) {
  auto* self = static_cast<FewProductOp*>(op);
  const ggml_tensor* x = out->src[0];
  std::array<WeightRows, kWeightsMax> weights;
  size_t n_weights = 0;
  for (; n_weights < kWeightsMax && out->src[1 + n_weights] != nullptr; ++n_weights) {
    weights[n_weights] = rows_of(out->src[1 + n_weights]);
  }
  multiply_few(self->tokens_, static_cast<const float*>(x->data), stride_of(x), {weights.data(), n_weights},
               static_cast<float*>(out->data), *self->scratch_, thread, n_threads);
}

}  // namespace ripplekv
