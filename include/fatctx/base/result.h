// A value, or the Error that explains its absence.
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "fatctx/base/error.h"

namespace fatctx {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // implicit: `return value;`
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // implicit: `return Error{...};`

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

// The result of a function that may fail but has no value to return: `return Done{};`.
struct Done {};
using Status = Result<Done>;

}  // namespace fatctx

#define FATCTX_CONCAT_(a, b) a##b
#define FATCTX_CONCAT(a, b) FATCTX_CONCAT_(a, b)

// Returns the error of `expr` if there is one.
#define FATCTX_TRY(expr)                                              \
  do {                                                                \
    auto fatctx_status = (expr);                                      \
    if (!fatctx_status.ok()) return std::move(fatctx_status).error(); \
  } while (false)

// Declares `decl` from the value of `expr`, or returns its error.
#define FATCTX_ASSIGN(decl, expr) FATCTX_ASSIGN_IMPL_(FATCTX_CONCAT(fatctx_result_, __LINE__), decl, expr)
#define FATCTX_ASSIGN_IMPL_(name, decl, expr)     \
  auto name = (expr);                             \
  if (!name.ok()) return std::move(name).error(); \
  decl = std::move(name).value()
