// Paths of files as UTF-8 text, the encoding of the whole project. For the _win32.cc files of this folder only.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace fatctx::tools {

// Returns nothing for text that is not UTF-8.
[[nodiscard]] std::optional<std::wstring> wide_of_text(std::string_view utf8);
[[nodiscard]] std::string text_of_wide(std::wstring_view wide);

// Text that is not UTF-8 gives a path that no file has.
[[nodiscard]] std::filesystem::path path_of_text(std::string_view utf8);
[[nodiscard]] std::string text_of_path(const std::filesystem::path& path);

}  // namespace fatctx::tools
