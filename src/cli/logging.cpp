// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// spdlog's set-up, and the callback that turns llama's messages, which come in pieces, into lines of it.
#include "cli/logging.h"

#include <llama.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <string>

namespace ripplekv {
namespace {

spdlog::level::level_enum level_of(ggml_log_level level) {
  switch (level) {
    case GGML_LOG_LEVEL_ERROR:
      return spdlog::level::err;
    case GGML_LOG_LEVEL_WARN:
      return spdlog::level::warn;
    default:
      return spdlog::level::debug;
  }
}

// Messages come from any thread, and a line in several pieces (GGML_LOG_LEVEL_CONT).
class LineCollector {
 public:
  void add(ggml_log_level level, const char* text) {
    const std::lock_guard lock(mutex_);
    if (level != GGML_LOG_LEVEL_CONT) level_ = level_of(level);
    line_ += text;
    size_t begin = 0;
    for (size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n', begin)) {
      if (end > begin) spdlog::log(level_, "llama.cpp: {}", std::string_view(line_).substr(begin, end - begin));
      begin = end + 1;
    }
    line_.erase(0, begin);
  }

 private:
  std::mutex mutex_;
  spdlog::level::level_enum level_ = spdlog::level::debug;
  std::string line_;
};

void collect(ggml_log_level level, const char* text, void* collector) {
  static_cast<LineCollector*>(collector)->add(level, text);
}

void drop(ggml_log_level, const char*, void*) {}

}  // namespace

void install_logging(int verbosity) {
  auto logger = std::make_shared<spdlog::logger>("ripplekv", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%^%l%$: %v");
  logger->set_level(verbosity >= 2 ? spdlog::level::debug : verbosity == 1 ? spdlog::level::info : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
  static LineCollector collector;  // ggml may log until the process ends
  llama_log_set(verbosity >= 1 ? collect : drop, &collector);
}

}  // namespace ripplekv
