// Reads the contents of a DLC: entries by name, the metadata, and the relations between entries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "container/dlc/archive.h"
#include "container/dlc/metadata.h"
#include "fatctx/import_dlc.h"
#include "mapping/os_file.h"

namespace fatctx::container::dlc {

struct Contents {
  Archive archive;
  DlcInfo info;
  std::optional<std::size_t> metadata_entry;
  std::string metadata_text;
  std::vector<std::vector<std::size_t>> relations;  // each: entries that the metadata mentions together
};

// Returns whether only a DLC has entries of this name.
[[nodiscard]] bool is_dlc_name(std::string_view name) noexcept;

// Detects a DLC as fatctx::is_dlc() does. Errors: io.
[[nodiscard]] Result<bool> is_dlc(const mapping::OsFile& file, std::uint64_t file_size);

// Reads and classifies the entries. Errors: those of read_archive and parse_metadata.
[[nodiscard]] Result<Contents> read_contents(const mapping::OsFile& file, std::uint64_t file_size);

// Returns which entries stay if only the context binaries in `chosen` do (a value for each entry). Drops the other
// context binaries, and the shared weights and their metadata that only dropped binaries refer to.
[[nodiscard]] std::vector<bool> entries_to_keep(const Contents& contents, const std::vector<bool>& chosen);

}  // namespace fatctx::container::dlc
