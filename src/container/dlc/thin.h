// A DLC with fewer entries, as pieces of the one it is cut from and new bytes between them.
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

// `kept` has a value for each entry of `archive`; those that stay keep their order, their place within a page, and
// their header where it can stay as it is.
// Errors: those of reading.
[[nodiscard]] Result<ThinDlc> build_thin(const mapping::OsFile& file, const Archive& archive,
                                         const std::vector<bool>& kept, const std::optional<Replacement>& replacement);

}  // namespace fatctx::container::dlc
