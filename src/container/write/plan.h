// What goes where in a new file, decided before a byte is written. Pure but for reading the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "container/format/codec.h"
#include "container/format/disk_format.h"
#include "container/sharing/part_plan.h"
#include "container/sharing/record_bytes.h"
#include "container/sharing/sharing_rules.h"
#include "container/write/input.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// How a record is made that is not stored as it is.
struct PlannedRecipe {
  std::vector<std::byte> program;    // as it is stored
  bool packed = false;               // it is an lz4 frame
  std::vector<std::size_t> sources;  // indexes of the records whose own bytes it copies from, ascending
  std::uint32_t steps = 0;
  std::uint64_t mappable_bytes = 0;
};

struct PlannedSlice {
  std::size_t segment = 0;  // counts Plan::present first, then Plan::segments
  ByteRange range;          // in the segment
  bool in_file = false;     // the file has it already
};

// A record with its place. `stored_as` is the index of the record that stores its bytes: its own, or an earlier one
// with equal bytes. A storing record may find runs of its bytes in what others store.
struct PlannedRecord {
  PackRecord record;
  Input input;
  std::vector<sharing::KnownPart> parts;  // its tensors, or the ranges that somebody has named
  std::uint32_t id = 0;
  Codec codec = Codec::kNone;     // how it is stored: what was asked for, if that makes it smaller
  std::uint64_t stored_size = 0;  // of the input, of its frame, or of the program and all sources of its recipe
  std::optional<PlannedRecipe> recipe;
  bool alone = false;  // its bytes are nobody else's: docs/sharing.md, "What does not share"
  std::size_t stored_as = 0;
  std::optional<std::size_t> present_row;  // index of a record of the file that has its bytes: nothing is stored
  std::vector<PlannedSlice> slices;  // of a storing record: one, or several that it shares with others; empty: no bytes
                                     // of a recipe: its program, then its sources
  std::vector<ByteRange> own;        // of a storing record: which of its bytes its segment holds; may be none
  std::uint64_t own_bytes = 0;       // sum of `own`, or stored_size if it is compressed
  std::uint32_t sharing_order = 0;   // from 1, in the order of work
  std::uint64_t shifted_bytes = 0;  // of `own_bytes`, about how many another record holds at another place of a granule
  std::uint64_t reordered_bytes = 0;  // of the others, about how many another record holds in another order
  Hash128 hash;                       // filled in while copying

  // Its bytes lie somewhere else too, so that nothing has hashed them as a whole.
  [[nodiscard]] bool shares() const noexcept { return own_bytes != stored_size || slices.size() > 1; }
};

// It lies in the packed segment with others of its kind.
[[nodiscard]] bool small_record(const PlannedRecord& planned) noexcept;

struct PlannedSegment {
  SegmentKind kind = SegmentKind::kPayload;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t first_leaf = 0;
  std::vector<std::size_t> records;  // indexes of the records that store bytes here, ascending
  Hash128 leaves_hash;               // filled in while copying

  [[nodiscard]] std::uint64_t leaf_count() const noexcept { return (size + kLeafSize - 1) >> kLeafLog2; }
};

// Of the one description of a container.
inline constexpr std::string_view kDescriptionName = "description";

// A record of the file that is appended to, as those that are new may use it.
struct PresentRecord {
  std::uint32_t id = 0;
  Hash128 hash;
};

struct Plan {
  std::vector<PlannedRecord> records;  // in id order
  // Of a file that is appended to: the places of the segments that it has, and its weight blobs by name.
  std::vector<ByteRange> present;
  std::map<std::string, PresentRecord, std::less<>> present_weights;
  std::vector<bool> present_alone;       // of the records of that file, in the order of its table
  std::vector<PlannedSegment> segments;  // that are new, in file order; the last one is LEAVES
  std::uint64_t toc_size = 0;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t committed_end = 0;
  std::vector<std::string> warnings;
  std::vector<SharingWarning> sharing_warnings;  // by index of the plan's records; in `warnings` when it is complete

  // Where the bytes of a slice lie in the file.
  [[nodiscard]] ByteRange place_of(const PlannedSlice& slice) const {
    const std::uint64_t start = slice.segment < present.size() ? present[slice.segment].offset
                                                               : segments[slice.segment - present.size()].offset;
    return {start + slice.range.offset, slice.range.size};
  }
};

// `records` are complete and checked: names unique, keys unique, references resolvable. `parts` says where the tensors
// of a record lie, by its name. Errors: not_found, io (inputs), limit_exceeded, invalid_argument (a range outside its
// file).
using PartsByName = std::map<std::string, std::vector<sharing::KnownPart>>;
[[nodiscard]] Result<Plan> make_plan(std::vector<PackRecord> records, PartsByName parts, const PackOptions& options);

// What an appended plan begins with.
struct AppendStart {
  std::uint32_t first_id = 1;
  std::uint64_t first_byte = 0;      // where its first segment may begin
  ContainerDescription description;  // of what the file keeps
  std::vector<ByteRange> present;
  std::map<std::string, PresentRecord, std::less<>> present_weights;
  // Of each record of the file, in the order of its table; of those that go without a name or a type that is asked for.
  std::vector<SharingCandidate> present_candidates;
  // Sets present_row, or slices and own, of records that the file has, wholly or in part.
  std::function<Status(Plan&)> find_in_file;
};
// A plan of what is new: committed_end is where its last segment ends, and the table of contents has no place yet.
// Errors: those of make_plan and of find_in_file.
[[nodiscard]] Result<Plan> make_append_plan(std::vector<PackRecord> records, PartsByName parts, AppendStart start,
                                            const PackOptions& options);

// The key of a record as it is compared and stored. Lifetime: borrows from `record` and `features`.
[[nodiscard]] SelectionKey key_of(const PackRecord& record, std::string_view features);
[[nodiscard]] std::string canonical_features(const std::vector<std::string>& features);

}  // namespace fatctx::container
