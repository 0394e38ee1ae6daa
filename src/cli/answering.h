// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What `run` does for one prompt and for a conversation alike: the profile it was asked to make, the sampling of its
// flags, the answer's way to standard output, and the report on stderr.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/args.h"
#include "engine/generate.h"
#include "ripplekv/budgets.h"
#include "ripplekv/engine.h"
#include "ripplekv/status.h"

namespace ripplekv {

// --auto-profile: profiles the model if it has no finished profile yet.
Status profile_if_asked(const RunArgs& args, const Model& model);

// A seed that was not given is drawn here.
GenerateOptions generate_options(const RunArgs& args, const ModelConfig& config, int64_t n_ctx);

// Writes an answer to standard output as it comes. If nobody reads on, the engine is cancelled.
class AnswerOutput {
 public:
  explicit AnswerOutput(Engine& engine) : engine_(engine) {}
  void write(std::string_view text);
  void end();  // the newline, before what stderr says
  bool failed() const { return failed_; }

 private:
  Engine& engine_;
  std::atomic<bool> failed_ = false;
};

// Bytes of rows: what is allocated beside them (room to grow, page ends) is told apart.
struct KvFigures {
  int64_t held = 0;
  int64_t allocated = 0;
  int64_t full = 0;          // rows of an uncompressed cache of as many tokens, in the formats that are held
  bool full_is_f16 = false;  // where the budget counts bytes, `full` is in f16, as the budget means it
};
KvFigures kv_figures(const Sequence& sequence, const std::optional<Budgets>& budgets);

double per_second(int64_t n, double seconds);
std::string closing_line(int64_t n_prefilled, double prefill_seconds, const Generated& generated, const KvFigures& kv);
void print_receipt(const Receipt& receipt);

}  // namespace ripplekv
