// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/answering.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "base/text.h"
#include "cli/setup.h"
#include "cli/standard_output.h"

namespace ripplekv {

Status profile_if_asked(const RunArgs& args, const Model& model) {
  if (!args.auto_profile) return ok_status();
  const std::string& named = args.kv.allocator.profile_file;
  std::error_code ignored;
  std::optional<Profile> found;
  if (named.empty() || std::filesystem::exists(named, ignored)) {
    RKV_ASSIGN_OR_RETURN(found, find_profile(named, model.id()));
  }
  if (found && found->complete()) return ok_status();
  ModelArgs profiled_model = args.model;
  profiled_model.n_ctx = 0;  // of the run, not of the model's profile
  RKV_ASSIGN_OR_RETURN(const Profiled profiled,
                       profile_with_progress(profiled_model, ProfileArgs().settings, "", ProfileArgs().n_sample, named,
                                             /*fresh=*/false, ProfileArgs().fit));
  print_to_stderr(fmt::format("profiled in {}", human_duration(profiled.profile.seconds)));
  return ok_status();
}

GenerateOptions generate_options(const RunArgs& args, const ModelConfig& config, int64_t n_ctx) {
  GenerateOptions options;
  options.sampling.n_vocab = config.n_vocab;
  options.sampling.seed = args.sampling.seed.value_or(std::random_device()());
  options.sampling.temperature = args.sampling.temperature;
  options.sampling.top_k = args.sampling.top_k;
  options.sampling.top_p = args.sampling.top_p;
  options.sampling.min_p = args.sampling.min_p;
  options.sampling.repeat_penalty = args.sampling.repeat_penalty;
  options.sampling.repeat_last_n = args.sampling.repeat_last_n;
  options.n_predict = args.sampling.n_predict;
  options.n_ctx = n_ctx;
  options.stop = args.prompt.stop;
  return options;
}

void AnswerOutput::write(std::string_view text) {
  write_out(text);
  if (flush_out().ok()) return;
  failed_ = true;
  engine_.set_cancel(&failed_);
}

void AnswerOutput::end() { write("\n"); }

KvFigures kv_figures(const Sequence& sequence, const std::optional<Budgets>& budgets) {
  const KvCache& cache = sequence.cache;
  const LayerBytes bytes = cache.bytes();
  KvFigures figures;
  figures.held = bytes.payload + bytes.scales + bytes.index;
  figures.allocated = bytes.total();
  figures.full_is_f16 = budgets && budgets->counts_bytes();
  for (int il = 0; il < cache.n_layer(); ++il) {
    const LayerShape& shape = cache.layer(il).shape();
    const int64_t window = sequence.plan.window_of(il);
    const int64_t rows = window > 0 ? std::min(window, cache.n_pos()) : cache.n_pos();
    const KvFormat format = figures.full_is_f16 ? KvFormat{} : cache.layer(il).format();
    figures.full +=
        rows * (bytes_per_row(shape, format) - index_bytes_per_row(shape) + static_cast<int64_t>(sizeof(int32_t)));
  }
  return figures;
}

double per_second(int64_t n, double seconds) { return seconds > 0 ? static_cast<double>(n) / seconds : 0; }

std::string closing_line(int64_t n_prefilled, double prefill_seconds, const Generated& generated, const KvFigures& kv) {
  return fmt::format(
      "prefill {} tokens, {:.1f} tokens/s | decode {} tokens, {:.1f} tokens/s | KV {} held ({} allocated), {} full{} "
      "({:.1f}%)",
      n_prefilled, per_second(n_prefilled, prefill_seconds), generated.n_decoded,
      per_second(generated.n_decoded, generated.seconds), human_bytes(kv.held), human_bytes(kv.allocated),
      human_bytes(kv.full), kv.full_is_f16 ? " in f16" : "",
      100.0 * static_cast<double>(kv.held) / static_cast<double>(kv.full));
}

void print_receipt(const Receipt& receipt) {
  print_to_stderr(fmt::format("{:>5}  {:>8}  {:>8}  {:>9}  {:>10}  {:>8}  {:>8}  {:>8}", "layer", "planned", "held",
                              "format", "payload", "scales", "padding", "index"));
  for (size_t il = 0; il < receipt.lines.size(); ++il) {
    const ReceiptLine& line = receipt.lines[il];
    print_to_stderr(fmt::format("{:>5}  {:>8}  {:>8}  {:>9}  {:>10}  {:>8}  {:>8}  {:>8}", il, line.rows_planned,
                                line.rows_held,
                                fmt::format("{}/{}", to_string(line.format.k), to_string(line.format.v)),
                                line.bytes.payload, line.bytes.scales, line.bytes.padding, line.bytes.index));
  }
  print_to_stderr(fmt::format("peak of the cache during prefill: {} planned, {} held",
                              human_bytes(receipt.kv_peak_planned), human_bytes(receipt.kv_peak_held)));
}

}  // namespace ripplekv
