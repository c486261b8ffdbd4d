// Views of records that are stored in several pieces of the file. One range of addresses exists per record and process.
// If the system cannot map the pieces next to each other, the view is a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "container/read/pieces.h"
#include "fatctx/container.h"
#include "mapping/map_count.h"
#include "mapping/mapped_region.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

// The properties of the system that decide; tests pass other values.
struct StitchHost {
  std::uint64_t page_bytes = mapping::map_granule_bytes();
  std::uint64_t most_pieces = 4096;  // with more, a view costs more than the copy that it saves
  std::optional<mapping::MapCount> (*maps)() = &mapping::count_maps;
};

// Returns why a record of these pieces is copied instead of stitched; empty if it is stitched.
[[nodiscard]] std::string stitch_obstacle(const MappedContainer& mapped, const RecordInfo& record,
                                          std::span<const container::Piece> pieces, const StitchHost& host = {});

// Returns a view of the range that this process has of the record; maps the range if nobody holds a view of it. Threads
// that ask at the same time wait for one of them. The bytes are verified as the options of `container` say. If there is
// an obstacle, returns the shared copy.
// Requires: the container is mapped, and the record is stored in more than one piece.
// Errors: those of MappedContainer::verify_record; no_resource (no maps left; the message says what to do);
// copy_not_allowed (an obstacle, and FileMapping::kRequire); with an obstacle those of shared_copy.
[[nodiscard]] Result<RecordView> pieced_view(const Container& container, const RecordInfo& record,
                                             std::span<const container::Piece> pieces, const StitchHost& host = {});

// Returns the error for an obstacle. The message names the bytes that a copy would take.
[[nodiscard]] Error pieces_not_mapped(const std::string& name, const RecordInfo& record, const std::string& obstacle);

// Returns the mapped range of the record if anybody holds a view of it; otherwise null.
[[nodiscard]] std::shared_ptr<const mapping::MappedRegion> live_stitched(const MappedContainer& mapped,
                                                                         std::uint32_t record_id);

}  // namespace fatctx
