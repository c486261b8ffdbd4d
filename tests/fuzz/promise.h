// The complaint of a fuzz target: one line that names the broken promise, then the end of the process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fatctx/base/bytes.h"
#include "fatctx/base/error.h"

namespace fatctx::fuzz {

inline void require(bool kept, std::string_view promise, std::string_view found = {}) {
  if (kept) return;
  const std::string line = "broken promise: " + std::string(promise) + ": " + std::string(found) + "\n";
  std::fputs(line.c_str(), stderr);
  std::abort();
}

// Checks the properties of every error of the library, for any input.
inline void require_good(const Error& error) {
  require(!error.message.empty(), "an error has a message", error_code_name(error.code));
  const std::string line = to_text(error);
  require(line.find_first_of("\r\n") == std::string::npos, "the text of an error is one line", line);
  require(error.code != ErrorCode::kInternal, "no input is an internal error", error.message);
  require(error_code_name(error.code) != "unknown", "a code is a listed one", error.message);
}

[[nodiscard]] inline bool lies_in(ByteView part, ByteView whole) {
  if (part.empty()) return true;
  // Compares addresses as numbers: pointers into different objects must not be compared.
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const auto from = reinterpret_cast<std::uintptr_t>(whole.data());
  return begin >= from && part.size() <= whole.size() && begin - from <= whole.size() - part.size();
}

}  // namespace fatctx::fuzz
