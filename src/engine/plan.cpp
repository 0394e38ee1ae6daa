// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// From a policy and a prompt's length to rows, bytes and a forecast: arithmetic only, no graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "cache/tensor_arena.h"
#include "model/prefill.h"
#include "ripplekv/engine.h"

namespace ripplekv {
namespace {

int64_t allocation(const LayerShape& shape, const KvFormat& format, int64_t rows) {
  const std::array tensors = {rows * shape.n_head_kv * row_bytes(format.k, shape.head_dim),
                              rows * shape.n_head_kv * row_bytes(format.v, shape.head_dim)};
  return host_allocation(tensors);
}

// What an allocation may differ from its forecast where a device aligns otherwise than the host: a page.
int64_t slack() { return host_allocation(std::array{int64_t{1}}); }

// Rows a sliding layer may hold over its window before the oldest are dropped: at every token would move all of them.
constexpr int64_t kWindowSlack = LayerCache::kGrowRows;

int64_t bytes_of(const std::vector<int64_t>& rows, const LayerShape& shape, const std::vector<KvFormat>& format) {
  int64_t bytes = 0;
  for (size_t il = 0; il < rows.size(); ++il) bytes += rows[il] * bytes_per_row(shape, format[il]);
  return bytes;
}

// Of the queries that a limited answer is scored with.
int64_t window_bytes(const CachePlan& plan, const ModelConfig& config) {
  if (plan.decode_slack == 0) return 0;
  const auto selector = std::move(make_selector(plan.selector, plan.selector_options)).value();
  const int64_t n_query = 2 * selector->n_query(plan.selector_options.window) * config.n_layer;
  return static_cast<int64_t>(sizeof(float)) * config.n_head * config.head_dim * n_query;
}

int64_t floor_of(const Budgets& budgets, const Selector& selector) {
  return selector.protected_rows().count() + budgets.rows_floor_extra;
}

// What the layers that share the budget are given, of a model whose other layers keep their window.
class Sharing {
 public:
  Sharing(const Budgets& budgets, int64_t n_prompt)
      : budgets_(budgets), n_prompt_(n_prompt), layers_(budgets.model.compressible_layers()) {
    weights_.base_rows = budgets.weights.base_rows;
    for (int il : layers_) weights_.weights.push_back(budgets.weights.weights[static_cast<size_t>(il)]);
  }

  bool nobody() const { return layers_.empty(); }
  // Of the values of all layers.
  template <class T>
  std::vector<T> of_sharing(const std::vector<T>& all) const {
    std::vector<T> values;
    for (int il : layers_) values.push_back(all[static_cast<size_t>(il)]);
    return values;
  }
  std::vector<int64_t> window_rows() const { return budgets_.model.window_rows(n_prompt_); }
  // Rows of all layers: a budget shared, the others' windows.
  Result<std::vector<int64_t>> rows(const KvBudget& budget, int64_t floor, double row_bytes_mean) const {
    const int64_t total = total_rows(budget, n_prompt_, static_cast<int>(layers_.size()), row_bytes_mean);
    return rows_of_total(total, floor);
  }
  Result<std::vector<int64_t>> rows_of_total(int64_t total, int64_t floor) const {
    RKV_ASSIGN_OR_RETURN(const auto shared, rows_for(weights_, total, floor, n_prompt_));
    std::vector<int64_t> rows = window_rows();
    for (size_t i = 0; i < layers_.size(); ++i) rows[static_cast<size_t>(layers_[i])] = shared[i];
    return rows;
  }
  // The largest B whose rows cost no more than `limit` bytes, and single rows of the layers in turn while one more
  // fits. Needed where formats differ: total_rows() prices all rows at the mean, but the layers with more rows may have
  // the dearer format. REQUIRES: `floor` rows each are within.
  Result<std::vector<int64_t>> rows_within_bytes(const LayerShape& shape, int64_t floor, double limit) const {
    const auto n_layer = static_cast<int64_t>(layers_.size());
    int64_t within = floor * n_layer;
    int64_t beyond = n_prompt_ * n_layer + 1;
    while (beyond - within > 1) {
      const int64_t middle = within + (beyond - within) / 2;
      RKV_ASSIGN_OR_RETURN(const auto rows, rows_of_total(middle, floor));
      const auto bytes = static_cast<double>(bytes_of(rows, shape, budgets_.kv_format));
      (bytes <= limit ? within : beyond) = middle;
    }
    RKV_ASSIGN_OR_RETURN(auto rows, rows_of_total(within, floor));
    double room = limit - static_cast<double>(bytes_of(rows, shape, budgets_.kv_format));
    for (bool fits = true; fits;) {
      fits = false;
      for (int il : layers_) {
        int64_t& of_layer = rows[static_cast<size_t>(il)];
        const auto one = static_cast<double>(bytes_per_row(shape, budgets_.kv_format[static_cast<size_t>(il)]));
        if (of_layer == n_prompt_ || one > room) continue;
        ++of_layer;
        room -= one;
        fits = true;
      }
    }
    return rows;
  }

 private:
  const Budgets& budgets_;
  int64_t n_prompt_;
  std::vector<int> layers_;
  AllocationWeights weights_;
};

// What a budget of this kind would have to be for so many bytes, rounded up: it has to fit when it is typed in.
// bytes_of_one: of what a fraction or a row stands for.
KvBudget budget_of_bytes(KvBudget::Kind kind, double bytes, double bytes_of_one) {
  if (kind == KvBudget::Kind::kBytes) return {kind, std::ceil(bytes)};
  const double unit = kind == KvBudget::Kind::kFraction ? 1e3 : 1;
  return {kind, std::ceil(bytes / bytes_of_one * unit * (1 - 1e-12)) / unit};
}

// Rows of all layers. shape: of the model, for budgets that count bytes.
Result<std::vector<int64_t>> rows_of(const Budgets& budgets, const LayerShape& shape, int64_t floor, int64_t n_prompt,
                                     bool lift_fraction) {
  const Sharing sharing(budgets, n_prompt);
  if (sharing.nobody()) return sharing.window_rows();
  const std::vector<KvFormat> formats = sharing.of_sharing(budgets.kv_format);
  const auto n_layer = static_cast<double>(formats.size());
  const int64_t total_least = floor * static_cast<int64_t>(formats.size());
  lift_fraction &= budgets.budget.kind == KvBudget::Kind::kFraction && n_prompt > floor;
  if (!budgets.counts_bytes()) {
    if (lift_fraction && total_rows(budgets.budget, n_prompt, static_cast<int>(formats.size()), 1) < total_least) {
      return sharing.rows_of_total(total_least, floor);
    }
    return sharing.rows(budgets.budget, floor, /*row_bytes_mean=*/1);
  }
  const auto windows = static_cast<double>(bytes_of(sharing.window_rows(), shape, budgets.kv_format));
  const std::vector<KvFormat> all_f16(budgets.kv_format.size());
  const auto windows_f16 = static_cast<double>(bytes_of(sharing.window_rows(), shape, all_f16));
  // Of the full f16 cache, or of one of its rows in each layer.
  const double bytes_of_one = n_layer * static_cast<double>(bytes_per_row(shape, KvFormat{})) *
                              (budgets.budget.kind == KvBudget::Kind::kFraction ? static_cast<double>(n_prompt) : 1);
  // Of the whole cache. A fraction is of the layers that share it, with windows in f16 on top: where these are stored
  // in fewer bytes, the others have what that saves.
  const bool is_of_bytes = budgets.budget.kind == KvBudget::Kind::kBytes;
  const double total = is_of_bytes ? budgets.budget.value : budgets.budget.value * bytes_of_one + windows_f16;
  if (total <= windows) {
    return invalid_argument(
        fmt::format("the sliding layers alone take {}, expected more", human_bytes(static_cast<int64_t>(windows))));
  }
  const KvBudget budget = {KvBudget::Kind::kBytes, total - windows};
  const std::vector<int64_t> one_row(formats.size(), 1);
  const auto bytes_of_row = static_cast<double>(bytes_of(one_row, shape, formats));  // in every layer
  const double least = static_cast<double>(floor) * bytes_of_row;
  if (n_prompt > floor && budget.value * (1 + 1e-12) < least) {
    if (lift_fraction) return sharing.rows_of_total(total_least, floor);
    const double not_shared = is_of_bytes ? windows : windows - windows_f16;
    return invalid_argument(
        fmt::format("budget: too few bytes, expected at least {}: {} rows in each layer (protected rows and a margin)",
                    budget_of_bytes(budgets.budget.kind, least + not_shared, bytes_of_one).to_string(), floor));
  }
  RKV_ASSIGN_OR_RETURN(const auto rows, sharing.rows(budget, floor, bytes_of_row / n_layer));
  const bool mixed = std::adjacent_find(formats.begin(), formats.end(), std::not_equal_to<>()) != formats.end();
  if (!mixed || n_prompt <= floor) return rows;
  return sharing.rows_within_bytes(shape, floor, total);
}

Status check_head_rows(const CachePlan& plan, size_t il, int n_head_kv) {
  if (plan.head_rows.empty()) return ok_status();
  if (plan.head_rows.size() != plan.rows.size()) {
    return mismatch(fmt::format("cache plan: has heads of {} layers, the model has {} layers", plan.head_rows.size(),
                                plan.rows.size()));
  }
  const std::vector<int64_t>& heads = plan.head_rows[il];
  if (heads.empty()) return ok_status();
  const bool fit = std::cmp_equal(heads.size(), n_head_kv) &&
                   std::all_of(heads.begin(), heads.end(), [&](int64_t n) { return n >= 1 && n <= plan.n_prompt; });
  if (fit && std::accumulate(heads.begin(), heads.end(), int64_t{0}) == plan.rows[il] * n_head_kv) return ok_status();
  return invalid_argument(
      fmt::format("cache plan: the heads of layer {} are to keep {} rows, expected {} in all, 1 to "
                  "{} in each of {}",
                  il, fmt::join(heads, ", "), plan.rows[il] * n_head_kv, plan.n_prompt, n_head_kv));
}

Result<std::vector<std::vector<int64_t>>> head_rows_of(const Budgets& budgets, std::span<const int64_t> rows,
                                                       int64_t n_prompt) {
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(budgets.selector, budgets.selector_options));
  const int64_t floor = floor_of(budgets, *selector);
  std::vector<std::vector<int64_t>> head_rows(budgets.head_shares.size());
  for (size_t il = 0; il < head_rows.size(); ++il) {
    const std::vector<double>& shares = budgets.head_shares[il];
    if (shares.empty() || rows[il] == n_prompt) continue;
    // As layers share a budget.
    const auto n_head = static_cast<int64_t>(shares.size());
    RKV_ASSIGN_OR_RETURN(head_rows[il], rows_for({shares, 0}, rows[il] * n_head, std::min(floor, rows[il]), n_prompt));
  }
  return head_rows;
}

}  // namespace

int64_t CachePlan::total_rows() const {
  int64_t total = 0;
  for (size_t il = 0; il < rows.size(); ++il) {
    if (window_of(static_cast<int>(il)) == 0) total += rows[il];
  }
  return total;
}

bool CachePlan::keeps_all() const {
  for (size_t il = 0; il < rows.size(); ++il) {
    if (window_of(static_cast<int>(il)) == 0 && rows[il] != n_prompt) return false;
  }
  return true;
}

std::vector<int64_t> CachePlan::rows_of_heads(int il, int64_t of_layer, int n_head_kv) const {
  const auto layer = static_cast<size_t>(il);
  if (!head_rows.empty() && !head_rows[layer].empty() && of_layer == rows[layer]) return head_rows[layer];
  return std::vector<int64_t>(static_cast<size_t>(n_head_kv), of_layer);
}

int64_t CachePlan::rows_after(int il, int64_t n_decode) const {
  const int64_t kept = rows[static_cast<size_t>(il)];
  if (window_of(il) > 0) return std::min(kept + n_decode, window_of(il) + kWindowSlack);
  if (decode_slack == 0) return kept + n_decode;
  // The row that is one too many is there before the layer is compressed.
  return std::min(kept + n_decode, std::max(kept, rows_floor) + decode_slack + 1);
}

Status check_plan(const CachePlan& plan, const ModelConfig& config) {
  const auto n_layer = static_cast<size_t>(config.n_layer);
  if (plan.rows.size() != n_layer || plan.format.size() != n_layer) {
    return mismatch(fmt::format("cache plan: made for {} layers, the model has {}", plan.rows.size(), n_layer));
  }
  if (plan.windows != config.windows) return mismatch("cache plan: made for a model with other sliding windows");
  for (size_t il = 0; il < n_layer; ++il) {
    if (plan.rows[il] < 1 || plan.rows[il] > plan.n_prompt) {
      return invalid_argument(
          fmt::format("cache plan: layer {} is to keep {} rows, expected 1 to {}", il, plan.rows[il], plan.n_prompt));
    }
    const int64_t window = plan.window_of(static_cast<int>(il));
    if (window > 0 && plan.rows[il] != std::min(window, plan.n_prompt)) {
      return invalid_argument(fmt::format("cache plan: layer {} is to keep {} rows, expected its window of {}", il,
                                          plan.rows[il], std::min(window, plan.n_prompt)));
    }
    RKV_RETURN_IF_ERROR(check_kv_format(plan.format[il], config.head_dim));
    RKV_RETURN_IF_ERROR(check_head_rows(plan, il, config.n_head_kv));
  }
  return make_selector(plan.selector, plan.selector_options).status();
}

CachePlan plan_full(const ModelConfig& config, int64_t n_prompt, const KvFormat& format) {
  CachePlan plan;
  plan.n_prompt = n_prompt;
  plan.windows = config.windows;
  for (int il = 0; il < config.n_layer; ++il) {
    plan.rows.push_back(plan.window_of(il) > 0 ? std::min(plan.window_of(il), n_prompt) : n_prompt);
  }
  plan.format.assign(static_cast<size_t>(config.n_layer), format);
  plan.selector = "full";
  return plan;
}

Result<std::vector<int64_t>> plan_rows(const Budgets& budgets, int64_t n_prompt) {
  if (budgets.counts_bytes()) {
    if (budgets.model.layer == LayerShape{}) {
      return unsupported(
          "budgets that count bytes and are older than the shape of their model's rows, which bytes depend on: "
          "'ripplekv allocate' makes them anew");
    }
    for (const KvFormat& format : budgets.kv_format) {
      RKV_RETURN_IF_ERROR(check_kv_format(format, budgets.model.layer.head_dim));
    }
  }
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(budgets.selector, budgets.selector_options));
  auto rows = rows_of(budgets, budgets.model.layer, floor_of(budgets, *selector), n_prompt, /*lift_fraction=*/false);
  if (!rows.ok()) return rows.status().with_context(fmt::format("--kv-budget {}", budgets.budget.to_string()));
  return rows;
}

Result<std::vector<std::vector<int64_t>>> plan_head_rows(const Budgets& budgets, std::span<const int64_t> rows,
                                                         int64_t n_prompt) {
  if (budgets.selector_options.head_floor < 1) return std::vector<std::vector<int64_t>>();
  return head_rows_of(budgets, rows, n_prompt);
}

Result<CachePlan> plan_cache(const Budgets& budgets, const ModelConfig& config, int64_t n_prompt, bool lift_fraction) {
  const auto n_layer = static_cast<size_t>(config.n_layer);
  if (budgets.weights.weights.size() != n_layer || budgets.kv_format.size() != n_layer) {
    return mismatch(
        fmt::format("budgets: made for {} layers, the model has {}", budgets.weights.weights.size(), n_layer));
  }
  for (const KvFormat& format : budgets.kv_format) RKV_RETURN_IF_ERROR(check_kv_format(format, config.head_dim));
  const LayerShape shape = config.layer_shape();
  CachePlan plan;
  plan.n_prompt = n_prompt;
  plan.windows = config.windows;
  plan.format = budgets.kv_format;
  plan.selector = budgets.selector;
  plan.selector_options = budgets.selector_options;
  RKV_ASSIGN_OR_RETURN(const auto selector, make_selector(budgets.selector, budgets.selector_options));
  plan.rows_floor = floor_of(budgets, *selector);
  auto rows = rows_of(budgets, shape, plan.rows_floor, n_prompt, lift_fraction);
  if (!rows.ok()) return rows.status().with_context(fmt::format("--kv-budget {}", budgets.budget.to_string()));
  plan.rows = std::move(*rows);
  RKV_ASSIGN_OR_RETURN(plan.head_rows, head_rows_of(budgets, plan.rows, n_prompt));
  return plan;
}

MemoryForecast forecast_memory(const CachePlan& plan, const ModelConfig& config, int64_t n_decode, bool in_place) {
  const LayerShape shape = config.layer_shape();
  MemoryForecast forecast;
  // Room for later rows is made at once only where no layer is compressed: elsewhere it would raise the peak.
  const bool known = n_decode < LayerCache::kManyRows;
  const bool roomy = known && plan.keeps_all();
  if (!known && plan.decode_slack == 0) n_decode = 0;
  int64_t largest_moved = 0;
  for (size_t il = 0; il < plan.rows.size(); ++il) {
    const KvFormat& format = plan.format[il];
    const KvFormat format_before = prefill_format(format);
    const bool compressed = plan.rows[il] < plan.n_prompt;
    const bool rounded = format_before != format;
    const int64_t rows_grown = plan.rows_after(static_cast<int>(il), n_decode);
    const int64_t grown = allocation(shape, format, rows_grown);
    const bool slides = plan.window_of(static_cast<int>(il)) > 0;
    const bool has_room = roomy && !slides;
    const int64_t kept = has_room ? grown : allocation(shape, format, plan.rows[il]);
    forecast.kv_decode += grown;
    // After every compression a layer is exactly as large as its rows and grows anew.
    const bool moves = grown > kept || ((plan.decode_slack > 0 || slides) && n_decode > 0);
    if (moves) largest_moved = std::max(largest_moved, grown);
    // A layer that keeps all as it is is never moved; others are full for a moment, and rounded ones copied.
    int64_t during = kept;
    if (compressed || rounded) {
      during = allocation(shape, format_before, has_room ? rows_grown : plan.n_prompt);
      if (rounded || !in_place) during += kept;
    }
    forecast.kv_peak = std::max(forecast.kv_peak, forecast.kv_after_prefill + during);
    forecast.kv_after_prefill += kept;
    forecast.layers.push_back(kept);
    forecast.kv_full += slides ? kept : allocation(shape, plan.format[il], plan.n_prompt);
  }
  forecast.kv_decode += largest_moved;
  const auto selector = std::move(make_selector(plan.selector, plan.selector_options)).value();
  forecast.scratch =
      prefill_scratch_bytes(config, plan.n_prompt, selector->n_query(plan.n_prompt)) + window_bytes(plan, config);
  return forecast;
}

int64_t rows_extended(const KvCache& cache, const CachePlan& plan, int il, int64_t n_new, int64_t n_decode) {
  const int64_t planned = plan.rows[static_cast<size_t>(il)];
  const int64_t rows = std::min(planned, cache.layer(il).n_rows() + n_new);
  if (plan.window_of(il) > 0) return std::min(rows + n_decode, plan.window_of(il) + kWindowSlack);
  if (plan.decode_slack == 0) return rows + n_decode;
  return std::min(rows + n_decode, std::max(planned, plan.rows_floor) + plan.decode_slack + 1);  // as rows_after()
}

bool appends_all(const KvCache& cache, const CachePlan& plan, int64_t n_new) {
  for (int il = 0; il < cache.n_layer(); ++il) {
    if (plan.window_of(il) > 0) continue;  // may be cut afterwards
    if (rows_extended(cache, plan, il, n_new) < cache.layer(il).n_rows() + n_new) return false;
  }
  return true;
}

MemoryForecast forecast_extension(const KvCache& cache, const CachePlan& plan, const ModelConfig& config, int64_t n_new,
                                  int64_t n_decode, bool in_place) {
  RKV_CHECK(plan.n_prompt == cache.n_pos() + n_new);
  const bool appends = appends_all(cache, plan, n_new);
  const bool known = n_decode < LayerCache::kManyRows;
  if (!known && plan.decode_slack == 0) n_decode = 0;
  MemoryForecast forecast;
  const int64_t old = cache.bytes().allocated();
  int64_t largest_moved = 0;
  int64_t beyond_old = 0;  // new allocations so far, less the old ones they replaced
  for (int il = 0; il < cache.n_layer(); ++il) {
    const LayerCache& layer = cache.layer(il);
    const KvFormat& format = layer.format();
    const auto bytes = [&](int64_t rows) { return allocation(layer.shape(), format, rows); };
    const int64_t rows = appends ? layer.n_rows() + n_new : rows_extended(cache, plan, il, n_new);
    const int64_t rows_grown = std::max(rows, rows_extended(cache, plan, il, n_new, n_decode));
    const int64_t window = plan.window_of(il);
    // Rows appended in place make room for a known answer at once and use the room that is there.
    const int64_t kept = bytes(appends ? std::max(layer.capacity(), known ? rows_grown : rows) : rows);
    const int64_t grown = std::max(kept, bytes(rows_grown));
    forecast.kv_decode += grown;
    if (grown > kept || ((plan.decode_slack > 0 || window > 0) && n_decode > 0))
      largest_moved = std::max(largest_moved, grown);
    if (appends) {
      const int64_t before = layer.bytes().allocated();
      if (kept > before) {
        forecast.kv_peak = std::max(forecast.kv_peak, old + beyond_old + kept);
        beyond_old += kept - before;
      }
    } else {
      const bool compressed = rows < layer.n_rows() + n_new;
      const int64_t during = bytes(layer.n_rows() + n_new) + (compressed && !in_place ? kept : 0);
      forecast.kv_peak = std::max(forecast.kv_peak, old + beyond_old + during);
      beyond_old += kept;
    }
    forecast.kv_after_prefill += kept;
    forecast.layers.push_back(kept);
    forecast.kv_full += bytes(window > 0 ? std::min(window, plan.n_prompt) : plan.n_prompt);
  }
  forecast.kv_peak = std::max({forecast.kv_peak, old, forecast.kv_after_prefill});
  forecast.kv_decode += largest_moved;
  const auto selector = std::move(make_selector(plan.selector, plan.selector_options)).value();
  forecast.scratch = prefill_scratch_bytes(config, n_new, selector->n_query(n_new)) + window_bytes(plan, config);
  return forecast;
}

Status Receipt::check() const {
  for (size_t il = 0; il < lines.size(); ++il) {
    const ReceiptLine& line = lines[il];
    if (line.rows_held != line.rows_planned) {
      return data_loss(
          fmt::format("receipt: layer {} holds {} rows, {} were planned", il, line.rows_held, line.rows_planned));
    }
    if (std::abs(line.bytes.allocated() - line.bytes_planned) > line.bytes_planned / 200 + slack()) {
      return data_loss(fmt::format("receipt: layer {} holds {} bytes, {} were planned", il, line.bytes.allocated(),
                                   line.bytes_planned));
    }
  }
  if (kv_peak_held > kv_peak_planned + kv_peak_planned / 50 + static_cast<int64_t>(lines.size()) * slack()) {
    return data_loss(fmt::format("receipt: the cache reached {}, {} were planned", human_bytes(kv_peak_held),
                                 human_bytes(kv_peak_planned)));
  }
  return ok_status();
}

}  // namespace ripplekv
