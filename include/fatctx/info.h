// The contents of a container as JSON, for `fatctx info --json` and the C interface.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx {

// A choice of parts to add to the file and its records.
struct InfoParts {
  bool graphs = false;
  bool options = false;
  bool sharing = false;                          // reads payload: see measure_sharing()
  bool extents = false;                          // where everything is in the file: see file_extents()
  bool present = false;                          // reads payload to find absent bytes: see find_absent()
  bool metadata_alone = false;                   // the payload is elsewhere: nothing is said to be absent
  std::optional<std::uint32_t> tensors_of = {};  // id of a weight blob
};

// Returns JSON of schema "fatctx.info/1": indented, pure ASCII (so that no name can harm a terminal), without a final
// line feed. `description` is the result of Container::describe(), or an empty one if that is damaged.
// Says of each record how many bytes are absent, by the holes of the file unless `parts.present` is set.
// Errors: those of Container::tensors, of measure_sharing and of find_absent.
[[nodiscard]] Result<std::string> info_json(const Container& container, const ContainerDescription& description,
                                            const InfoParts& parts = {});

// A contiguous range of the file: the header, a copy of the table of contents, or a segment (docs/format.md, 5.1).
struct FileExtent {
  // "header", "toc copy 0", "toc copy 1", "payload", "packed", "leaves", "sha256 leaves" or "dead".
  std::string_view kind;
  ByteRange range;                                         // in the file, bytes
  std::optional<std::uint32_t> segment = {};               // its index, if it is a segment
  std::uint64_t generation = 0;                            // that wrote the segment; else 0
  std::vector<std::uint32_t> records = {};                 // ids of those with bytes here, ascending
  std::uint64_t leaf_count = 0;                            // pieces of 64 KiB with a hash each; 0 if it has no payload
  std::optional<std::uint64_t> leaves_offset = {};         // of its leaf hashes in the file; none if it has one leaf
  Hash128 leaves_hash = {};                                // of the leaf hashes; of one leaf: the leaf
  std::optional<std::uint64_t> sha256_leaves_offset = {};  // as leaves_offset, of its SHA-256 leaves
  std::string leaves_sha256 = {};  // as leaves_hash, 64 hexadecimal digits; empty if there is none
};
// Returns all ranges of the generation that was opened, in the order of the file: what a tool needs that fetches,
// compares or mends parts of a file. Reads no payload. Errors: those of the whole table (container.h).
[[nodiscard]] Result<std::vector<FileExtent>> file_extents(const Container& container);

// Returns the field tables of the format, schema "fatctx.layout/1", in the same form.
[[nodiscard]] std::string layout_json();

// Returns the ids of the other records that are stored in the same bytes as `record`. Looks at all of them: a caller
// that asks about every record makes a SameBytes.
[[nodiscard]] std::vector<std::uint32_t> same_bytes_as(const RecordInfo& record, std::span<const RecordInfo> records);

// A table of the records by the bytes that they are stored in, made in one pass.
class SameBytes {
 public:
  explicit SameBytes(std::span<const RecordInfo> records);

  // Returns the ids of the other records that are stored in the same bytes as `record`, in the order of the records.
  [[nodiscard]] std::vector<std::uint32_t> others(const RecordInfo& record) const;
  // Returns true if a record before `record` is stored in the same bytes.
  [[nodiscard]] bool repeats(const RecordInfo& record) const;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // offset in the file, stored bytes
  [[nodiscard]] std::span<const std::uint32_t> ids_at(const RecordInfo& record) const;

  std::map<Place, std::vector<std::uint32_t>> ids_;
};

}  // namespace fatctx
