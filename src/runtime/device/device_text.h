// Describes a device for explanations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/select.h"

namespace fatctx::runtime {

// Returns a short text: "cpu x86-64-v3+avx-vnni", "htp SM8750 soc 69 v79 vtcm 8 sdk 2.50".
[[nodiscard]] std::string device_text(const Device& device);

// Returns true if the text is a word as feature lists have them: lower case letters, digits, '.', '_' and '-'.
[[nodiscard]] bool is_word(std::string_view text);
// Sorts the words and removes those that are there twice.
void sort_unique(std::vector<std::string>& words);

}  // namespace fatctx::runtime
