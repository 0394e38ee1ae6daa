// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The blocks of layer graphs; which blocks in which order is the architecture's file.
#include "model/graph.h"

#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>

namespace ripplekv {
namespace {

// YaRN's ramp between interpolated and extrapolated frequencies, in rotations over the original context: the paper's
// values. Files may name others (rope.scaling.yarn_*), but libllama reads those keys for none of our architectures.
constexpr float kYarnBetaFast = 32.0F;
constexpr float kYarnBetaSlow = 1.0F;

float extrapolated(const RopeConfig& rope) { return rope.scaling == RopeScaling::kYarn ? 1.0F : 0.0F; }

}  // namespace

// Scaling: linear by Chen et al. 2023, arXiv:2306.15595; YaRN by Peng et al. 2023, arXiv:2309.00071, whose growth of
// Q and K by 1 + 0.1 ln(factor) is in ggml_rope_ext; LongRoPE by Ding et al. 2024, arXiv:2402.13753, is in `factors`
// and rope.attn_factor.
ggml_tensor* rotate(ggml_context* context, ggml_tensor* x, ggml_tensor* positions, const RopeConfig& rope,
                    ggml_tensor* factors) {
  return ggml_rope_ext(context, x, positions, factors, rope.n_rot, rope.mode, static_cast<int>(rope.n_ctx_orig),
                       rope.freq_base, rope.freq_scale, extrapolated(rope), rope.attn_factor, kYarnBetaFast,
                       kYarnBetaSlow);
}

ggml_tensor* rotate_back(ggml_context* context, ggml_tensor* x, ggml_tensor* positions, const RopeConfig& rope,
                         ggml_tensor* factors) {
  // ggml's is the gradient: it turns back, but lengthens once more.
  const float growth = rope.scaling == RopeScaling::kYarn ? 1.0F - 0.1F * std::log(rope.freq_scale) : 1.0F;
  return ggml_rope_ext_back(context, x, positions, factors, rope.n_rot, rope.mode, static_cast<int>(rope.n_ctx_orig),
                            rope.freq_base, rope.freq_scale, extrapolated(rope),
                            1.0F / (rope.attn_factor * growth * growth), kYarnBetaFast, kYarnBetaSlow);
}

LayerGraph::LayerGraph(ggml_context* context, ggml_cgraph* graph, const ModelConfig& config,
                       const ModelWeights& weights, std::span<const Segment> segments,
                       std::span<const QueryTap> query_taps, int layer_begin, int layer_end, const CpuCompute& compute)
    : context_(context),
      graph_(graph),
      config_(config),
      weights_(weights),
      segments_(segments),
      query_taps_(query_taps),
      layer_begin_(layer_begin),
      layer_end_(layer_end),
      compute_(compute) {
  for (const Segment& segment : segments_) n_tokens_ += segment.n_tokens;
  if (layer_begin_ == layer_end_) return;
  positions_ = ggml_new_tensor_1d(context_, GGML_TYPE_I32, n_tokens_);
  row_index_ = ggml_new_tensor_2d(context_, GGML_TYPE_I64, config_.n_head_kv * n_tokens_, layer_end_ - layer_begin_);
  ggml_set_input(positions_);
  ggml_set_input(row_index_);
}

ggml_tensor* LayerGraph::rms_norm(ggml_tensor* x, ggml_tensor* weight) {
  return ggml_mul(context_, ggml_rms_norm(context_, x, config_.norm_rms_eps), weight);
}

ggml_tensor* LayerGraph::linear(ggml_tensor* x, ggml_tensor* weight, ggml_tensor* bias) {
  ggml_tensor* y = nullptr;
  if (compute_.kernels == CpuKernels::kOurs && ProductOp::supports(weight, x)) {
    const PackedInputsOp& packed = packed_.try_emplace(x, context_, x, compute_.n_threads).first->second;
    y = product_ops_.emplace_back(packed).add(context_, weight);
  } else if (compute_.kernels == CpuKernels::kOurs && FewProductOp::supports(weight, x)) {
    y = few_product_ops_.emplace_back().add(context_, {&weight, 1}, x, scratch_, compute_.n_threads);
  } else {
    y = ggml_mul_mat(context_, weight, x);
  }
  return bias == nullptr ? y : ggml_add(context_, y, bias);
}

ggml_tensor* LayerGraph::linear_joint(ggml_tensor* x, std::initializer_list<ggml_tensor*> weights) {
  if (compute_.kernels != CpuKernels::kOurs) return nullptr;
  for (const ggml_tensor* weight : weights) {
    if (!FewProductOp::supports(weight, x)) return nullptr;
  }
  return few_product_ops_.emplace_back().add(context_, {weights.begin(), weights.size()}, x, scratch_,
                                             compute_.n_threads);
}

ggml_tensor* LayerGraph::add(ggml_tensor* a, ggml_tensor* b) { return ggml_add(context_, a, b); }

ggml_tensor* LayerGraph::scale(ggml_tensor* x, float factor) { return ggml_scale(context_, x, factor); }

Qkv LayerGraph::qkv(ggml_tensor* x, const LayerWeights& w) {
  // n heads of the rows of a product, from its `first` head on.
  const auto heads = [&](ggml_tensor* product, int64_t n, int64_t first) {
    const size_t head = static_cast<size_t>(config_.head_dim) * product->nb[0];
    return ggml_view_3d(context_, product, config_.head_dim, n, product->ne[1], head, product->nb[1],
                        static_cast<size_t>(first) * head);
  };
  const int64_t n_head = config_.n_head;
  const int64_t n_head_kv = config_.n_head_kv;
  ggml_tensor* all = nullptr;
  if (w.attn_qkv != nullptr) {
    all = linear(x, w.attn_qkv, w.attn_qkv_bias);
  } else if (w.attn_q_bias == nullptr && w.attn_k_bias == nullptr && w.attn_v_bias == nullptr) {
    all = linear_joint(x, {w.attn_q, w.attn_k, w.attn_v});
  }
  if (all == nullptr) {
    return {heads(linear(x, w.attn_q, w.attn_q_bias), n_head, 0),
            heads(linear(x, w.attn_k, w.attn_k_bias), n_head_kv, 0),
            heads(linear(x, w.attn_v, w.attn_v_bias), n_head_kv, 0)};
  }
  return {heads(all, n_head, 0), heads(all, n_head_kv, n_head), heads(all, n_head_kv, n_head + n_head_kv)};
}

ggml_tensor* LayerGraph::rope(ggml_tensor* x, const RopeConfig& rope, ggml_tensor* factors) {
  return rotate(context_, x, positions_, rope, factors);
}

// Shazeer 2020, arXiv:2002.05202. ggml's GLU ops gate the second half of the rows by the first.
ggml_tensor* LayerGraph::swiglu(ggml_tensor* x, const LayerWeights& w) {
  ggml_tensor* both = w.ffn_gate == nullptr ? linear(x, w.ffn_up) : linear_joint(x, {w.ffn_gate, w.ffn_up});
  ggml_tensor* gated = both != nullptr ? ggml_swiglu(context_, both)
                                       : ggml_swiglu_split(context_, linear(x, w.ffn_gate), linear(x, w.ffn_up));
  return linear(gated, w.ffn_down);
}

// Shazeer 2020 as well, with the tanh approximation of GELU.
ggml_tensor* LayerGraph::geglu(ggml_tensor* x, const LayerWeights& w) {
  ggml_tensor* both = linear_joint(x, {w.ffn_gate, w.ffn_up});
  ggml_tensor* gated = both != nullptr ? ggml_geglu(context_, both)
                                       : ggml_geglu_split(context_, linear(x, w.ffn_gate), linear(x, w.ffn_up));
  return linear(gated, w.ffn_down);
}

ggml_tensor* LayerGraph::mask(size_t segment, int64_t n_past, int64_t window) {
  const int64_t n_tokens = segments_[segment].n_tokens;
  if (n_tokens == 1) return nullptr;  // the only query sees every row looked at
  ggml_tensor*& tensor = masks_[{segment, n_past, window}];
  if (tensor == nullptr) {
    tensor = ggml_new_tensor_2d(context_, GGML_TYPE_F16, n_past + n_tokens, n_tokens);
    ggml_set_input(tensor);
  }
  return tensor;
}

LogSumsTarget LayerGraph::log_sums_of(int il, int64_t first, int64_t n) const {
  for (const QueryTap& tap : query_taps_) {
    if (tap.layer == il && tap.n_tokens > 0 && tap.first_token >= first && tap.first_token < first + n) {
      return {tap.log_sums, tap.first_token - first, tap.first_slot};
    }
  }
  return {};
}

ggml_tensor* LayerGraph::ggml_attention(size_t segment, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                                        int64_t window) {
  ggml_tensor* attended =
      ggml_flash_attn_ext(context_, q, k, v, mask(segment, k->ne[1] - segments_[segment].n_tokens, window),
                          config_.attention_scale, 0.0F, 0.0F);
  ggml_prec_set_acc(attended, GGML_PREC_F32);
  return attended;
}

ggml_tensor* LayerGraph::attention(int il, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v) {
  for (const QueryTap& tap : query_taps_) {
    if (tap.layer != il || tap.n_tokens == 0) continue;
    ggml_tensor* from = ggml_view_3d(context_, q, q->ne[0], q->ne[1], tap.n_tokens, q->nb[1], q->nb[2],
                                     static_cast<size_t>(tap.first_token) * q->nb[2]);
    ggml_tensor* to = ggml_view_3d(context_, tap.window, q->ne[0], q->ne[1], tap.n_tokens, tap.window->nb[1],
                                   tap.window->nb[2], static_cast<size_t>(tap.first_slot) * tap.window->nb[2]);
    ggml_build_forward_expand(graph_, ggml_cpy(context_, from, to));
  }

  ggml_tensor* out = nullptr;
  int64_t first = 0;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = segments_[s];
    const LayerCache& cache = segment.cache->layer(il);
    const int64_t n = segment.n_tokens;
    RKV_CHECK(cache.n_rows() + n <= cache.capacity());
    // A layer with a window holds its last rows without a gap: a row's distance is its position's.
    const int64_t window = config_.window_of(il);
    const int64_t first_row = window > 0 ? std::max<int64_t>(0, cache.n_rows() + 1 - window) : 0;
    const int64_t n_past = cache.n_rows() - first_row;
    const auto of_segment = [&](ggml_tensor* x, int64_t n_head, int64_t first_head) {  // [head_dim, n_head, n]
      return ggml_view_3d(context_, x, x->ne[0], n_head, n, x->nb[1], x->nb[2],
                          static_cast<size_t>(first) * x->nb[2] + static_cast<size_t>(first_head) * x->nb[1]);
    };
    const auto by_head = [&](ggml_tensor* x) { return ggml_permute(context_, x, 0, 2, 1, 3); };  // !! permuted !!
    const auto write = [&](ggml_tensor* rows, ggml_tensor* x) {
      const int64_t n_head_kv = x->ne[1];
      ggml_tensor* index = ggml_view_1d(context_, row_index_, n_head_kv * n,
                                        static_cast<size_t>(il - layer_begin_) * row_index_->nb[1] +
                                            static_cast<size_t>(n_head_kv * first) * row_index_->nb[0]);
      x = of_segment(x, n_head_kv, 0);
      if (!ggml_is_contiguous(x)) x = ggml_cont(context_, x);
      x = ggml_reshape_2d(context_, x, x->ne[0], n_head_kv * n);
      rows = ggml_reshape_2d(context_, rows, rows->ne[0], rows->ne[1] * rows->ne[2]);
      ggml_build_forward_expand(graph_, ggml_set_rows(context_, rows, x, index));
    };
    // The writes come first in the graph: the attention below reads what they wrote.
    write(cache.k(), k);
    write(cache.v(), v);
    HeadRows ragged;
    if (cache.ragged()) {
      RKV_CHECK(window == 0);
      ragged = {cache.first_rows(), cache.head_rows()};
      for (int64_t& n_rows : ragged.n) n_rows += n;
    }
    const auto rows_seen = [&](ggml_tensor* x) {  // [head_dim, n_past + n, n_head_kv], strided by the capacity
      if (!ragged.n.empty()) return x;
      return ggml_view_3d(context_, x, x->ne[0], n_past + n, x->ne[2], x->nb[1], x->nb[2],
                          static_cast<size_t>(first_row) * x->nb[1]);
    };
    ggml_tensor* rows_k = rows_seen(cache.k());
    ggml_tensor* rows_v = rows_seen(cache.v());
    const int64_t n_head = config_.n_head;
    ggml_tensor* attended = nullptr;
    if (compute_.kernels == CpuKernels::kOurs && AttentionOp::supports(rows_k, rows_v)) {
      const LogSumsTarget log_sums = log_sums_of(il, first, n);
      attended = attention_ops_.emplace_back().add(context_, by_head(of_segment(q, n_head, 0)), rows_k, rows_v,
                                                   std::move(ragged), config_.attention_scale, window, log_sums,
                                                   compute_.n_threads);
      if (log_sums.tensor != nullptr) ggml_build_forward_expand(graph_, attended);  // even if nobody wants the rest
    } else if (ragged.n.empty()) {
      attended = ggml_attention(s, by_head(of_segment(q, n_head, 0)), rows_k, rows_v, window);
      attended = ggml_reshape_2d(context_, attended, config_.head_dim * n_head, n);
    } else {
      const int64_t n_group = n_head / config_.n_head_kv;
      for (size_t head = 0; head < ragged.n.size(); ++head) {
        const auto of_head = [&](ggml_tensor* x) {
          return ggml_view_3d(context_, x, x->ne[0], ragged.n[head], 1, x->nb[1], x->nb[2],
                              static_cast<size_t>(ragged.first[head]) * x->nb[1]);
        };
        ggml_tensor* group = by_head(of_segment(q, n_group, static_cast<int64_t>(head) * n_group));
        ggml_tensor* of_group = ggml_attention(s, group, of_head(rows_k), of_head(rows_v), window);
        attended = attended == nullptr ? of_group : ggml_concat(context_, attended, of_group, 1);
      }
      attended = ggml_reshape_2d(context_, attended, config_.head_dim * n_head, n);
    }
    out = out == nullptr ? attended : ggml_concat(context_, out, attended, 1);
    first += n;
  }
  return out;
}

void LayerGraph::set_inputs() const {
  if (positions_ == nullptr) return;
  std::vector<int32_t> positions;
  std::vector<int64_t> index;
  for (const Segment& segment : segments_) {
    for (int64_t i = 0; i < segment.n_tokens; ++i) positions.push_back(static_cast<int32_t>(segment.pos0 + i));
  }
  for (int il = layer_begin_; il < layer_end_; ++il) {
    for (const Segment& segment : segments_) {
      const LayerCache& cache = segment.cache->layer(il);
      std::vector<int64_t> ends = cache.first_rows();
      for (size_t head = 0; head < ends.size(); ++head) ends[head] += cache.n_rows(static_cast<int>(head));
      for (int64_t i = 0; i < segment.n_tokens; ++i) {
        for (const int64_t end : ends) index.push_back(end + i);
      }
    }
  }
  ggml_backend_tensor_set(positions_, positions.data(), 0, ggml_nbytes(positions_));
  ggml_backend_tensor_set(row_index_, index.data(), 0, ggml_nbytes(row_index_));

  const ggml_fp16_t seen = ggml_fp32_to_fp16(0.0F);
  const ggml_fp16_t hidden = ggml_fp32_to_fp16(-INFINITY);
  std::vector<ggml_fp16_t> values;
  for (const auto& [key, tensor] : masks_) {
    // Attention whose output nobody wants (all but the last token of the last layer) is not in the graph.
    if (tensor->buffer == nullptr) continue;
    const auto& [segment, n_past, window] = key;
    const int64_t n_kv = tensor->ne[0];
    values.assign(static_cast<size_t>(ggml_nelements(tensor)), hidden);
    for (int64_t i = 0; i < tensor->ne[1]; ++i) {
      const int64_t end = n_past + i + 1;
      const int64_t begin = window > 0 ? std::max<int64_t>(0, end - window) : 0;
      std::fill(values.begin() + i * n_kv + begin, values.begin() + i * n_kv + end, seen);
    }
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
  }
}

}  // namespace ripplekv
