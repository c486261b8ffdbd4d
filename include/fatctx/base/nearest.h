// "Did you mean": the nearest known word.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fatctx {

// Returns the word with the fewest single-character edits from `typed`; nothing if even that one is too far away.
[[nodiscard]] std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known);

}  // namespace fatctx
