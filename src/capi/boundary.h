// The line between C++ and C: the one place where exceptions end, and where errors, texts and sized structs cross.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/exceptions.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/fatctx.h"
#include "fatctx/record.h"

namespace fatctx::capi {

// Thrown through the library by a progress callback that asks to stop; everything on the way cleans up as for
// bad_alloc.
struct Cancelled {};

// Write what the caller's struct has room for and return the code. `error` may be null.
std::int32_t write_success(fatctx_error* error) noexcept;
std::int32_t write_error(fatctx_error* error, const Error& what) noexcept;
// Only inside a catch block: the exception that is being handled.
std::int32_t write_current_exception(fatctx_error* error) noexcept;

// Every entry point that can fail is a guarded body.
template <typename Body>
std::int32_t guarded(fatctx_error* error, const Body& body) noexcept {
#if FATCTX_EXCEPTIONS
  try {
#endif
    const Status status = body();
    return status.ok() ? write_success(error) : write_error(error, status.error());
#if FATCTX_EXCEPTIONS
  } catch (...) {
    return write_current_exception(error);
  }
#endif
}

[[nodiscard]] Error null_argument(std::string_view name);

template <typename T>
[[nodiscard]] Status not_null(T* pointer, std::string_view name) {
  if (pointer == nullptr) return null_argument(name);
  return Done{};
}

// An array that may be null if it is empty.
template <typename T>
[[nodiscard]] Result<std::span<const T>> array_in(const T* items, std::uint64_t count, std::string_view name) {
  if (items == nullptr && count != 0) return null_argument(name);
  return std::span<const T>(items, static_cast<std::size_t>(count));
}
[[nodiscard]] Result<ByteView> bytes_in(const void* bytes, std::uint64_t size, std::string_view name);

[[nodiscard]] inline std::string text_in(const char* text) { return text == nullptr ? std::string() : text; }
[[nodiscard]] inline fatctx_text text_out(std::string_view text) noexcept { return {text.data(), text.size()}; }
[[nodiscard]] inline fatctx_version version_out(const Version& version) noexcept {
  return {version.major, version.minor, version.patch, version.build};
}
[[nodiscard]] inline Version version_in(const fatctx_version& version) noexcept {
  return {version.major, version.minor, version.patch, version.build};
}
[[nodiscard]] inline std::uint32_t flag(bool value) noexcept { return value ? 1 : 0; }

// The part of a fixed array before its NUL; all of it if the caller's array has none.
template <std::size_t Size>
[[nodiscard]] std::string_view until_nul(const char (&field)[Size]) noexcept {
  return {field, static_cast<std::size_t>(std::find(field, field + Size, '\0') - field)};
}

// The protocol of `buffer`, `capacity` and `size`.
[[nodiscard]] Status put_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* size);

// Bytes of `text` that fit into `room` without cutting a character.
[[nodiscard]] std::size_t cut_at_character(std::string_view text, std::size_t room) noexcept;

[[nodiscard]] Status check_struct_size(std::uint32_t struct_size);
// A field that is reserved here may mean something to a newer program.
[[nodiscard]] Status check_reserved(std::uint32_t reserved);
[[nodiscard]] Status check_unknown_tail(const void* given, std::size_t known, std::size_t struct_size);

// A struct that the program sets: fields its size does not reach keep their default in `known`.
template <typename Sized>
[[nodiscard]] Status read_sized(const Sized* given, Sized& known) {
  static_assert(std::is_trivially_copyable_v<Sized> && offsetof(Sized, struct_size) == 0);
  const std::uint32_t size = given->struct_size;
  FATCTX_TRY(check_struct_size(size));
  FATCTX_TRY(check_unknown_tail(given, sizeof(Sized), size));
  std::memcpy(&known, given, size < sizeof(Sized) ? size : sizeof(Sized));
  if constexpr (requires { known.reserved; }) FATCTX_TRY(check_reserved(known.reserved));
  return Done{};
}

// A struct that the library fills: what does not fit is left out, and what it does not know stays as it was.
template <typename Sized>
[[nodiscard]] Status write_sized(Sized filled, Sized* out, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<Sized> && offsetof(Sized, struct_size) == 0);
  FATCTX_TRY(not_null(out, name));
  FATCTX_TRY(check_struct_size(out->struct_size));
  filled.struct_size = out->struct_size;
  std::memcpy(out, &filled, filled.struct_size < sizeof(Sized) ? filled.struct_size : sizeof(Sized));
  return Done{};
}

// The body of an _init function: defaults, then zeros for what only the program knows.
template <typename Sized>
void init_sized(Sized defaults, Sized* out, std::size_t struct_size) noexcept {
  static_assert(std::is_trivially_copyable_v<Sized> && offsetof(Sized, struct_size) == 0);
  if (out == nullptr || struct_size < sizeof defaults.struct_size) return;
  defaults.struct_size = static_cast<std::uint32_t>(struct_size);
  std::memset(static_cast<void*>(out), 0, struct_size);
  std::memcpy(static_cast<void*>(out), &defaults, struct_size < sizeof(Sized) ? struct_size : sizeof(Sized));
}

}  // namespace fatctx::capi
