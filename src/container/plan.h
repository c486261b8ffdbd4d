// What goes where in a new file, decided before a byte is written. Pure but for reading the inputs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "container/codec.h"
#include "container/disk_format.h"
#include "container/sharing/part_plan.h"
#include "container/sharing/record_bytes.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// A record's bytes: a file, a part of one, or bytes in memory. A file is open only between the first read and close(),
// because there may be more records than a process may have descriptors. It is read, never mapped
// (docs/decisions/0011).
//
// Threads: const members from any number of threads.
class Input final : public sharing::RecordBytes {
 public:
  // Looks at the file once; what follows is about that file as it was then.
  [[nodiscard]] static Result<Input> open(const PackSource& source);
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Errors: changed, those of opening and reading.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  // Errors: changed, if the file is not the one that was looked at any more.
  [[nodiscard]] Status check_unchanged() const;
  void close() const noexcept override;

 private:
  [[nodiscard]] Error changed() const;

  std::string name_;
  std::uint64_t offset_ = 0;  // of the part, in its file
  std::uint64_t size_ = 0;
  bool in_memory_ = true;
  mapping::FileIdentity identity_;
  struct Handle {
    std::mutex mutex;
    std::shared_ptr<const mapping::OsFile> file;  // null: not open now; a reader keeps what another one closes
  };
  [[nodiscard]] Result<std::shared_ptr<const mapping::OsFile>> opened() const;
  std::shared_ptr<Handle> handle_ = std::make_shared<Handle>();
  std::vector<std::byte> bytes_;
};

// Two inputs byte by byte; a hash is never proof. Errors: those of reading.
[[nodiscard]] Result<bool> equal_bytes(const Input& a, const Input& b);

// The whole input in pieces; the result is its hash. Errors: those of reading, what `sink` returns.
[[nodiscard]] Result<Hash128> read_input(const Input& input, const StreamSink& sink);
// The same as one lz4 frame; the hash is that of the input itself. A second call gives the same frame.
[[nodiscard]] Result<Hash128> compress_input(const Input& input, const StreamSink& sink);

// How a record is made that is not stored as it is.
struct PlannedRecipe {
  std::vector<std::byte> program;    // as it is stored
  bool packed = false;               // it is an lz4 frame
  std::vector<std::size_t> sources;  // indexes of the records whose own bytes it copies from, ascending
  std::uint32_t steps = 0;
  std::uint64_t mappable_bytes = 0;
};

struct PlannedSlice {
  std::size_t segment = 0;  // in Plan::segments
  ByteRange range;          // in the segment
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
  std::size_t stored_as = 0;
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

struct Plan {
  std::vector<PlannedRecord> records;    // in id order
  std::vector<PlannedSegment> segments;  // in file order; the last one is LEAVES
  std::uint64_t toc_size = 0;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t committed_end = 0;
  std::vector<std::string> warnings;
};

// `records` are complete and checked: names unique, keys unique, references resolvable. `parts` says where the tensors
// of a record lie, by its name. Errors: not_found, io (inputs), limit_exceeded, invalid_argument (a range outside its
// file).
using PartsByName = std::map<std::string, std::vector<sharing::KnownPart>>;
[[nodiscard]] Result<Plan> make_plan(std::vector<PackRecord> records, PartsByName parts, const PackOptions& options);

// The key of a record as it is compared and stored. Lifetime: borrows from `record` and `features`.
[[nodiscard]] SelectionKey key_of(const PackRecord& record, std::string_view features);
[[nodiscard]] std::string canonical_features(const std::vector<std::string>& features);

}  // namespace fatctx::container
