// Plans the layout of a new file before a byte is written. Pure, except that it reads the inputs.
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
#include "container/write/toc_rows.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// The program of a record that is not stored as it is.
struct PlannedRecipe {
  std::vector<std::byte> program;  // in its stored form
  bool packed = false;             // `program` is an lz4 frame
  std::vector<std::size_t> present_sources =
      {};                            // segments of the file that is appended to, ascending; they come first
  std::vector<std::size_t> sources;  // indexes of the records whose own bytes it copies from, ascending
  std::uint32_t steps = 0;
  std::uint64_t mappable_bytes = 0;
};

struct PlannedSlice {
  std::size_t segment = 0;  // counts Plan::present first, then Plan::segments
  ByteRange range;          // in the segment
  bool in_file = false;     // an existing slice of the file
};

// A record with its place. `stored_as` is the index of the record that stores its bytes: its own, or an earlier one
// with equal bytes. A storing record may find runs of its bytes in the bytes that others store.
struct PlannedRecord {
  PackRecord record;
  Input input;
  std::vector<sharing::KnownPart> parts;  // its tensors, or the ranges that the caller has named
  std::uint32_t id = 0;
  Codec codec = Codec::kNone;     // of the stored form: the requested codec, if it makes the record smaller
  std::uint64_t stored_size = 0;  // of the input, of its frame, or of the program and all sources of its recipe
  std::optional<PlannedRecipe> recipe;
  bool alone = false;  // shares no bytes with others: docs/sharing.md, "What does not share"
  std::size_t stored_as = 0;
  std::optional<std::size_t> present_row;  // row of the file's record that has its bytes: nothing is stored
  std::vector<PlannedSlice> slices;   // of a storing record: its slices, none if it is empty; of a recipe: its program,
                                      // then its sources
  std::vector<ByteRange> own;         // of a storing record: the ranges that its segment holds; may be none
  std::uint64_t own_bytes = 0;        // sum of `own`, or stored_size if it is compressed
  std::uint32_t sharing_order = 0;    // from 1, in the order of work
  std::uint64_t shifted_bytes = 0;    // of `own_bytes`, about how many others hold at another offset in a granule
  std::uint64_t reordered_bytes = 0;  // of the others, about how many another record holds in another order
  Hash128 hash;                       // computed by copy_payload()
  DiskSha256 sha256 = {};             // computed by add_digests(), if the plan asks for it
  Hash128 table_hash;                 // of the head of a tensor table

  // Returns whether it shares bytes with others or itself, so that copying has not hashed it as a whole.
  [[nodiscard]] bool shares() const noexcept { return own_bytes != stored_size || slices.size() > 1; }
};

// Returns whether the record is stored in the packed segment, with other small ones.
[[nodiscard]] bool small_record(const PlannedRecord& planned) noexcept;

struct PlannedSegment {
  SegmentKind kind = SegmentKind::kPayload;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint8_t hash_algorithm = kHashXxh3;  // of LEAVES
  std::uint64_t first_leaf = 0;             // where its leaf range begins in a LEAVES segment, in hashes
  std::vector<std::size_t> records;         // indexes of the records that store bytes here, ascending
  Hash128 leaves_hash;                      // computed by copy_payload()
  DiskSha256 leaves_sha256 = {};            // computed by add_digests()

  [[nodiscard]] std::uint64_t leaf_count() const noexcept { return (size + kLeafSize - 1) >> kLeafLog2; }
};

// The name of the one description of a container.
inline constexpr std::string_view kDescriptionName = "description";

// A record of the file that is appended to, as far as new records refer to it.
struct PresentRecord {
  std::uint32_t id = 0;
  Hash128 hash;
};

struct Plan {
  std::vector<PlannedRecord> records;  // in id order
  // For appending: the ranges of the file's segments, and its weight blobs by name.
  std::vector<ByteRange> present;
  std::map<std::string, PresentRecord, std::less<>> present_weights;
  std::vector<bool> present_alone;       // of the records of that file, in the order of its table
  std::vector<PlannedSegment> segments;  // the new ones, in file order; LEAVES come last, if there are any
  std::uint8_t extent_log2 = kExtentLog2;
  bool sha256 = false;  // whether it has digests
  TocSize toc_size;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t committed_end = 0;
  std::vector<std::string> warnings;
  std::vector<SharingWarning> sharing_warnings;  // by index of the plan's records; moved to `warnings` at the end

  // Returns the range of a slice in the file.
  [[nodiscard]] ByteRange place_of(const PlannedSlice& slice) const {
    const std::uint64_t start = slice.segment < present.size() ? present[slice.segment].offset
                                                               : segments[slice.segment - present.size()].offset;
    return {start + slice.range.offset, slice.range.size};
  }
};

// Plans a new file. Requires: `records` are complete and checked: names unique, keys unique, references resolvable.
// `parts` has the tensors of a record, by its name. The inputs of the plan borrow `progress`.
// Errors: not_found, io (inputs), limit_exceeded, invalid_argument (a range outside its file).
using PartsByName = std::map<std::string, std::vector<sharing::KnownPart>>;
[[nodiscard]] Result<Plan> make_plan(std::vector<PackRecord> records, PartsByName parts, const PackOptions& options,
                                     WorkProgress& progress);

// The state of a file in which an append plan starts.
struct AppendStart {
  std::uint32_t first_id = 1;
  std::uint64_t first_byte = 0;      // where its first segment may begin
  ContainerDescription description;  // of the records that the file keeps
  std::vector<ByteRange> present;
  std::map<std::string, PresentRecord, std::less<>> present_weights;
  // All records of the file, in the order of its table. The elements of records that the new generation drops are
  // empty.
  std::vector<SharingCandidate> present_candidates;
  // Sets present_row, or slices and own, of records that the file has as a whole or in part.
  std::function<Status(Plan&)> find_in_file;
};
// Plans the new part of a file. committed_end is the end of its last segment; the table of contents has no place yet.
// Errors: those of make_plan and of find_in_file.
[[nodiscard]] Result<Plan> make_append_plan(std::vector<PackRecord> records, PartsByName parts, AppendStart start,
                                            const PackOptions& options, WorkProgress& progress);

// Returns the key of a record as it is compared and stored. Lifetime: borrows from `record` and `features`.
[[nodiscard]] SelectionKey key_of(const PackRecord& record, std::string_view features);
[[nodiscard]] std::string canonical_features(const std::vector<std::string>& features);

}  // namespace fatctx::container
