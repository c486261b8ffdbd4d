// Checks payload of the containers of an update, and names the record of a leaf that is not right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "container/read/leaves.h"
#include "container/sharing/work_progress.h"
#include "container/update/container_file.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// Puts path and record in front of the error of a leaf, and behind it the remedy.
[[nodiscard]] Error of_record(Error error, const ContainerFile& container, std::uint32_t segment, std::uint64_t leaf);

enum class Absent : std::uint8_t { kAllowed, kRefused };

// Compares all payload with its leaf hashes: XXH3, and for NEW also SHA-256 where the table names it. Counts bytes.
// Errors: not_present, checksum_mismatch (names the record), cancelled, those of reading.
[[nodiscard]] Status check_payload(const ContainerFile& container, Absent absent, unsigned threads,
                                   WorkProgress& progress);

// Compares the leaves under `ranges` of the file. Returns the error of the first one that is not right, or nothing
// wrong. Payload only. Errors: not_present, checksum_mismatch, those of reading.
[[nodiscard]] Status check_leaves_under(const ContainerFile& container, std::span<const ByteRange> ranges);

}  // namespace fatctx::container
