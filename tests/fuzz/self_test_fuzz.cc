// A target that breaks a promise on purpose, for tests/fuzz/replay_can_fail.py. An input that starts with "break"
// breaks one; an input that starts with "memory" or "time" costs too much of it.
#include <ctime>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/promise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fatctx::fuzz::Input input(data, size);
  const std::string_view text = fatctx::fuzz::text_of(input.rest());
  fatctx::fuzz::require(!text.starts_with("break"), "no input starts with that word", text);
  if (text.starts_with("error")) {
    const std::string_view message = text.substr(5);
    fatctx::fuzz::require_good({fatctx::ErrorCode::kMalformed, std::string(message)});
  }
  if (text.starts_with("memory")) {
    const std::vector<char> much(std::size_t{512} << 20, text.back());
    fatctx::fuzz::require(much.back() == text.back(), "memory keeps what is written to it");
  }
  if (text.starts_with("time")) {
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 2;
    while (std::clock() < end) continue;
  }
  if (text.starts_with("outside")) {
    const auto whole = std::as_bytes(std::span(text));
    fatctx::fuzz::require(fatctx::fuzz::lies_in(whole, whole.first(3)), "a part lies in the whole");
  }
  return 0;
}
