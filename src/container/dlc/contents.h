// What the entries of a DLC are: names, the metadata, and which entry refers to which.
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
  std::vector<std::vector<std::size_t>> relations;  // entries that the metadata mentions together
};

// True for names that only a DLC has.
[[nodiscard]] bool is_dlc_name(std::string_view name) noexcept;

// As fatctx::is_dlc(). Errors: io.
[[nodiscard]] Result<bool> is_dlc(const mapping::OsFile& file, std::uint64_t file_size);

// Errors: those of read_archive and parse_metadata.
[[nodiscard]] Result<Contents> read_contents(const mapping::OsFile& file, std::uint64_t file_size);

// Which entries stay when of the context binaries only `chosen` do (a value for each entry): all others but shared
// weights, with their metadata, that only context binaries refer to that go.
[[nodiscard]] std::vector<bool> entries_to_keep(const Contents& contents, const std::vector<bool>& chosen);

}  // namespace fatctx::container::dlc
