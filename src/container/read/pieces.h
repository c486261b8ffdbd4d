// Where the bytes of a record lie in the file.
#pragma once

#include <cstdint>
#include <vector>

#include "container/read/parse.h"

namespace fatctx::container {

// A run of stored bytes that is one range of the file.
struct Piece {
  std::uint64_t offset_in_record = 0;
  ByteRange in_file;
};

// Nothing for a recipe, whose slices are not its bytes. The slices in the order of the record's bytes; neighbours in
// the record that are neighbours in the file make one piece.
[[nodiscard]] std::vector<Piece> pieces_of(const Toc& toc, const RecordInfo& record);

// The slices themselves, in their order; each lies in one segment.
[[nodiscard]] std::vector<ByteRange> slices_in_file(const Toc& toc, const RecordInfo& record);

// Where a stored byte lies in the file; of a recipe, the first byte of its program. An offset behind the record counts
// on from its last byte.
[[nodiscard]] std::uint64_t place_in_file(const Toc& toc, const RecordInfo& record, std::uint64_t offset_in_record);

// Between the end of a record of several slices and the end of its last granule: bytes that a view shows as zeros when
// whole pages are mapped. Empty for other records. May end behind the container.
[[nodiscard]] ByteRange behind_last_granule(const Toc& toc, const RecordInfo& record, std::uint8_t granule_log2);

}  // namespace fatctx::container
