// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Status and Result<T>: how everything a user can cause (file, flag, prompt, budget) is reported.
// A message is one sentence, "what: got X, expected Y, in Z"; context is prepended as it travels up.
// A bug of ours is no Status: RKV_CHECK aborts loudly. Values are immutable, thread-compatible, and own their text.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ripplekv {

enum class StatusCode {
  kOk,
  kInvalidArgument,    // a flag, option or input value is not usable
  kNotFound,           // a file, model or profile is not there
  kUnsupported,        // understood, but this program cannot do it
  kDataLoss,           // damaged or truncated data
  kMismatch,           // an artefact belongs to another model, version or setting
  kResourceExhausted,  // memory, disk or context length
  kIo,                 // the operating system refused a read or a write
  kCancelled,          // the caller asked to stop
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "context: message"; an ok status stays ok.
  Status with_context(std::string_view context) const {
    if (ok()) return *this;
    return Status(code_, std::string(context) + ": " + message_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status ok_status() { return Status(); }
inline Status invalid_argument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
inline Status not_found(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
inline Status unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
inline Status data_loss(std::string m) { return {StatusCode::kDataLoss, std::move(m)}; }
inline Status mismatch(std::string m) { return {StatusCode::kMismatch, std::move(m)}; }
inline Status resource_exhausted(std::string m) { return {StatusCode::kResourceExhausted, std::move(m)}; }
inline Status io_error(std::string m) { return {StatusCode::kIo, std::move(m)}; }
inline Status cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }

// Either a T or a Status that is not ok.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) {
      std::fputs("ripplekv: Result built from an ok Status\n", stderr);
      std::abort();
    }
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok().
  T& value() & { return require(); }
  const T& value() const& { return const_cast<Result*>(this)->require(); }
  T&& value() && { return std::move(require()); }
  T& operator*() & { return require(); }
  const T& operator*() const& { return const_cast<Result*>(this)->require(); }
  T&& operator*() && { return std::move(require()); }
  T* operator->() { return &require(); }
  const T* operator->() const { return &const_cast<Result*>(this)->require(); }

 private:
  T& require() {
    if (!value_) {
      std::fprintf(stderr, "ripplekv: value of a failed Result: %s\n", status_.message().c_str());
      std::abort();
    }
    return *value_;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace ripplekv

#define RKV_CONCAT_INNER(a, b) a##b
#define RKV_CONCAT(a, b) RKV_CONCAT_INNER(a, b)

// Returns from the enclosing function if `expr` (a Status) is not ok.
#define RKV_RETURN_IF_ERROR(expr)            \
  do {                                       \
    ::ripplekv::Status rkv_status = (expr);  \
    if (!rkv_status.ok()) return rkv_status; \
  } while (0)

// RKV_ASSIGN_OR_RETURN(auto x, function_returning_result());
#define RKV_ASSIGN_OR_RETURN(lhs, expr) RKV_ASSIGN_IMPL(RKV_CONCAT(rkv_result_, __LINE__), lhs, expr)
#define RKV_ASSIGN_IMPL(result, lhs, expr)  \
  auto result = (expr);                     \
  if (!result.ok()) return result.status(); \
  lhs = std::move(result).value()

// A broken invariant of ours: says where and aborts.
#define RKV_CHECK(condition)                                                                       \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "ripplekv: %s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (0)
