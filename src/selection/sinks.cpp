// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// `sinks+<name>`: any method with the first n_sink and the last `window` rows protected besides, as StreamingLLM keeps
// them (Xiao et al. 2024). The method only chooses the rest. Reads the options n_sink and window.
#include <algorithm>

#include "selection/methods.h"

namespace ripplekv {
namespace {

class Sinks final : public Selector {
 public:
  Sinks(std::unique_ptr<Selector> method, const SelectorOptions& options)
      : method_(std::move(method)), name_(std::string(kSinksPrefix) + std::string(method_->name())) {
    protected_ = method_->protected_rows();
    protected_.n_sink = std::max(protected_.n_sink, options.n_sink);
    protected_.n_window = std::max(protected_.n_window, options.window);
  }

  std::string_view name() const override { return name_; }
  unsigned needs() const override { return method_->needs(); }
  int64_t n_query(int64_t n_tokens) const override { return method_->n_query(n_tokens); }
  ProtectedRows protected_rows() const override { return protected_; }
  std::vector<float> score(const LayerTaps& taps) const override { return method_->score(taps); }

 private:
  std::unique_ptr<Selector> method_;
  std::string name_;
  ProtectedRows protected_;
};

}  // namespace

std::unique_ptr<Selector> make_sinks(std::unique_ptr<Selector> method, const SelectorOptions& options) {
  return std::make_unique<Sinks>(std::move(method), options);
}

}  // namespace ripplekv
