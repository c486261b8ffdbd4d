// An index by which one name is found among many without reading the others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "container/format/disk_format.h"

namespace fatctx::container {

// Returns the index of a list of names: a row for each, ascending by the name's hash, then by its place in the list.
[[nodiscard]] std::vector<NameIndexEntry> name_index(std::span<const std::string_view> names);

}  // namespace fatctx::container
