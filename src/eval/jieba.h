// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Chinese words as jieba 0.42 cuts them in its exact mode with its hidden Markov model: by the method it publishes,
// with the tables that come with it (Debian's python3-jieba), which are read, not shipped. Tables are immutable: any
// thread. Private to src/eval/.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ripplekv/status.h"

namespace ripplekv {

class Jieba {
 public:
  // The package's folder: dict.txt, finalseg/prob_start.py, prob_trans.py and prob_emit.py.
  // Errors: a file is not there or damaged (file and line).
  static Result<Jieba> load(const std::string& folder);

  // Of $RIPPLEKV_JIEBA_DIR, or else of the folder where Debian has it; read once, never freed.
  // Error: not installed.
  static Result<const Jieba*> installed();
  static std::string installed_folder();

  // The text cut into words; joined they are the text. What is no character becomes U+FFFD first.
  std::vector<std::string> cut(std::string_view text) const;

 private:
  // States of the model in the order jieba compares them where probabilities are equal: begin, end, middle, single.
  enum State : uint8_t { kBegin, kEnd, kMiddle, kSingle };
  static constexpr size_t kStates = 4;
  static constexpr double kImpossible = -3.14e100;  // jieba's logarithm of 0

  struct Hash : std::hash<std::u32string_view> {
    using is_transparent = void;
  };

  Status read_dictionary(const std::string& path);
  Status read_model(const std::string& folder);
  int64_t frequency(std::u32string_view word) const;  // 0: only a beginning of words; -1: not even that
  double emission(State state, char32_t c) const;

  void cut_run(std::u32string_view run, std::vector<std::u32string>& words) const;
  void cut_unknown(std::u32string_view run, std::vector<std::u32string>& words) const;
  void cut_by_model(std::u32string_view run, std::vector<std::u32string>& words) const;

  std::unordered_map<std::u32string, int64_t, Hash, std::equal_to<>> frequencies_;
  double log_total_ = 0;
  std::array<double, kStates> start_{};
  std::array<std::array<double, kStates>, kStates> transition_{};  // [from][to]
  std::array<std::unordered_map<char32_t, double>, kStates> emission_;
};

}  // namespace ripplekv
