// Views of records that lie in several pieces of the file: one range of addresses per record and process, or a copy
// where the system cannot put the pieces side by side.
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

namespace fatctx {

// What of the system decides; tests put other numbers in.
struct StitchHost {
  std::uint64_t page_bytes = mapping::map_granule_bytes();
  std::uint64_t most_pieces = 4096;  // above, a view costs more than the copy it saves
  std::optional<mapping::MapCount> (*maps)() = &mapping::count_maps;
};

// Why a record of these pieces is copied and not stitched; empty if it is stitched.
[[nodiscard]] std::string stitch_obstacle(const MappedContainer& mapped, const RecordInfo& record,
                                          std::span<const container::Piece> pieces, const StitchHost& host = {});

// A view of the range that this process has of the record, made if nobody holds one; threads that ask at once wait for
// one of them. What it shows is verified as the options of `container` say. With an obstacle: the shared copy.
// Requires: the container is mapped, and the record lies in more than one piece.
// Errors:   those of MappedContainer::verify_record; no_resource (no maps left; the message says what to do);
//           copy_not_allowed (an obstacle, and FileMapping::kRequire); with an obstacle those of shared_copy.
[[nodiscard]] Result<RecordView> pieced_view(const Container& container, const RecordInfo& record,
                                             std::span<const container::Piece> pieces, const StitchHost& host = {});

// Naming the bytes that a copy would take.
[[nodiscard]] Error pieces_not_mapped(const std::string& name, const RecordInfo& record, const std::string& obstacle);

// The range of the record, if anybody holds a view of it; else null.
[[nodiscard]] std::shared_ptr<const mapping::MappedRegion> live_stitched(const MappedContainer& mapped,
                                                                         std::uint32_t record_id);

}  // namespace fatctx
