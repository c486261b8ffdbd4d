// The part of fmt that the loader's files use, in a few KiB: literals with {}, {0}, {:08x} and their like.
//
// The whole library compiles the same files with fmt itself, which checks every literal against its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace fmt {

// An argument in two words, so that call sites stay small. Lifetime: of a text, the caller's.
struct LoaderArgument {
  enum : std::uint64_t { kUnsigned = ~std::uint64_t{0}, kSigned = kUnsigned - 1, kCharacter = kUnsigned - 2 };
  std::uint64_t kind_or_size;  // any other number is the size of a text
  union {
    std::uint64_t number;
    const char* text;
  };
};

template <typename T>
[[nodiscard]] LoaderArgument loader_argument(const T& value) {
  LoaderArgument argument{};
  if constexpr (std::is_same_v<T, bool>) {
    argument.kind_or_size = value ? 4 : 5;
    argument.text = value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    argument.kind_or_size = std::is_same_v<T, char> ? LoaderArgument::kCharacter
                            : std::is_signed_v<T>   ? LoaderArgument::kSigned
                                                    : LoaderArgument::kUnsigned;
    argument.number = static_cast<std::uint64_t>(value);
  } else {
    const std::string_view text(value);
    argument.kind_or_size = text.size();
    argument.text = text.data();
  }
  return argument;
}

// Returns `literal` with its replacement fields filled.
[[nodiscard]] std::string loader_format(std::string_view literal, const LoaderArgument* arguments, std::size_t count);

template <typename... Arguments>
[[nodiscard]] std::string format(std::string_view literal, const Arguments&... arguments) {
  const LoaderArgument list[] = {loader_argument(arguments)..., LoaderArgument{}};
  return loader_format(literal, list, sizeof...(Arguments));
}

template <typename T>
[[nodiscard]] std::string to_string(const T& value) {
  return fmt::format("{}", value);
}

template <typename Items>
[[nodiscard]] std::string join(const Items& items, std::string_view between) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += between;
    first = false;
    text += fmt::format("{}", item);
  }
  return text;
}

}  // namespace fmt
