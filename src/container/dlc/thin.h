// A DLC with fewer entries, as ranges of its source and new bytes between them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "container/dlc/archive.h"
#include "fatctx/import_dlc.h"
#include "mapping/os_file.h"

namespace fatctx::container::dlc {

inline constexpr std::uint64_t kPage = 4096;

struct Replacement {
  std::size_t entry = 0;
  std::string bytes;
};

// Computes the pieces. `kept` has a value for each entry of `archive`. Kept entries keep their order and their offset
// within a page, and also their header if it needs no change.
// Errors: those of reading.
[[nodiscard]] Result<ThinDlc> build_thin(const mapping::OsFile& file, const Archive& archive,
                                         const std::vector<bool>& kept, const std::optional<Replacement>& replacement);

}  // namespace fatctx::container::dlc
