// Callbacks that the library holds: what they answer as Status, and the one call that says when they are needed no
// longer.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "capi/boundary.h"

namespace fatctx::capi {

// The `user` of callbacks. Calls the caller's function when the last share goes, once it is armed: a caller whose call
// fails keeps its `user`.
class CallersUser {
 public:
  CallersUser(void* user, fatctx_release release) noexcept : user_(user), release_(release) {}
  ~CallersUser() {
    if (armed_ && release_ != nullptr) release_(user_);
  }
  CallersUser(const CallersUser&) = delete;
  CallersUser& operator=(const CallersUser&) = delete;
  void arm() noexcept { armed_ = true; }
  [[nodiscard]] void* get() const noexcept { return user_; }

 private:
  void* user_;
  fatctx_release release_;
  bool armed_ = false;
};

// The error that a callback's answer stands for.
[[nodiscard]] Error error_of_callback(std::string_view name, std::int32_t code, const fatctx_error& told);

// `call` takes a fatctx_error to write to and returns a code. An exception, which a callback in C++ may throw against
// the rules, ends here: the library's own seams promise none.
template <typename Call>
[[nodiscard]] Status status_of_callback(std::string_view name, const Call& call) noexcept {
#if FATCTX_EXCEPTIONS
  try {
#endif
    fatctx_error told = {};
    told.struct_size = sizeof told;
    const std::int32_t code = call(&told);
    if (code == FATCTX_OK) return Done{};
    return error_of_callback(name, code, told);
#if FATCTX_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, {}};
  } catch (...) {
    return Error{ErrorCode::kInternal, {}};
  }
#endif
}

// Calls a callback that cannot answer. An exception, which the rules forbid, is dropped: nobody could take it.
template <typename Call>
void quietly(const Call& call) noexcept {
#if FATCTX_EXCEPTIONS
  try {
    call();
  } catch (...) {  // nothing is left to do
  }
#else
  call();
#endif
}

}  // namespace fatctx::capi
