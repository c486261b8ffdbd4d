// Containers in memory of the caller, and the one call that says when it is needed no longer.
#pragma once

#include <cstdint>
#include <memory>

#include "capi/objects.h"

namespace fatctx::capi {

// Calls the caller's function when the last share goes, once it is armed.
class CallersMemory {
 public:
  struct Given {
    const void* bytes;
    std::uint64_t size;
    fatctx_release release;
    void* user;
  };

  explicit CallersMemory(const Given& given) noexcept : given_(given) {}
  ~CallersMemory() {
    if (armed_ && given_.release != nullptr) given_.release(given_.user);
  }
  CallersMemory(const CallersMemory&) = delete;
  CallersMemory& operator=(const CallersMemory&) = delete;
  void arm() noexcept { armed_ = true; }

 private:
  Given given_;
  bool armed_ = false;
};

// Does what make_handle() does; `make` gets the memory as a Source. The memory is armed when nothing can fail any more,
// so that a caller that frees it after an error frees it once; until then the share held here keeps it from going.
template <typename Handle, typename Make>
std::int32_t make_handle_over_memory(const CallersMemory::Given& given, Handle* out, std::string_view name,
                                     fatctx_error* error, const Make& make) noexcept {
  std::shared_ptr<CallersMemory> memory;
  const std::int32_t code = make_handle(out, name, error, [&]() -> decltype(make(std::declval<Source>())) {
    FATCTX_ASSIGN(const ByteView bytes, bytes_in(given.bytes, given.size, "bytes"));
    memory = std::make_shared<CallersMemory>(given);
    return make(Source::of_memory(bytes, memory));
  });
  if (code == FATCTX_OK) memory->arm();
  return code;
}

}  // namespace fatctx::capi
