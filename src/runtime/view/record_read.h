// Reads a record into memory in large pieces, on several threads, and checks it there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fatctx/extract.h"
#include "mapping/direct_file.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

// The facts about the host that decide how a record is read. Tests set them.
struct ReadHost {
  std::unique_ptr<mapping::DirectFile> (*direct)(const mapping::OsFile& file) = &mapping::DirectFile::open;
  std::optional<std::uint64_t> (*cached)(const mapping::OsFile& file,
                                         ByteRange range) noexcept = &mapping::cached_bytes;
};

// As read_record, for a record of the table and with the limit of one call. Errors do not name the record.
[[nodiscard]] Result<ReadReport> read_into(const MappedContainer& mapped, const RecordInfo& record,
                                           std::span<std::byte> out, const ReadOptions& options,
                                           std::uint64_t max_made_bytes, const ReadHost& host = {});

}  // namespace fatctx
