// The rules of single rows of a table of contents: what a row and the rows that it names decide.
//
// parse_toc() adds the rules about all rows together. PartialToc applies these to the rows that it needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "container/format/disk_format.h"
#include "container/read/parse.h"

namespace fatctx::container {

// Checks rows and makes their elements in a Toc.
// Requires: the bytes of a row, and of the names that it has, are there when a function about it is called.
class RowRules {
 public:
  // The row that is being checked, for messages.
  struct Row {
    std::string_view table;
    std::uint64_t index = 0;
    std::uint64_t offset = 0;  // in the TOC
  };

  // `bytes`: the whole TOC, of which pages may be missing; `toc.head` is that of the table, and its arrays have their
  // sizes. Lifetime: borrows all of them.
  RowRules(Toc& toc, ByteView bytes, const Header& header, int copy);

  // Checks a segment without its leaves, and makes it.
  [[nodiscard]] Status make_segment(std::uint64_t index);
  // Checks a segment's SHA-256. Requires: the table has digests; the segment is made.
  [[nodiscard]] Status check_segment_digest(std::uint64_t index) const;
  // The position of a segment's leaf range; `segment` is kNoSegment if it has none of that algorithm.
  struct LeafPlace {
    std::uint32_t segment;
    std::uint64_t first;
  };
  [[nodiscard]] LeafPlace leaf_place(std::uint64_t index, std::uint8_t algorithm) const;
  // Checks that the segment of a leaf range may hold it, and that the range is within it. Requires: it is made.
  [[nodiscard]] Status check_leaf_segment(std::uint64_t index, const LeafPlace& place, std::uint8_t algorithm) const;
  [[nodiscard]] Status check_leaf_range(std::uint64_t index, const LeafPlace& place, std::uint8_t algorithm) const;
  // Checks a slice and makes it. Requires: its segment is made, unless there is no such segment.
  [[nodiscard]] Status make_slice(std::uint64_t index);
  // Checks a record without its key and its references, and makes it. `first_slice`: the place of its first slice, as
  // far as the caller knows it. Requires: its slices are made.
  [[nodiscard]] Status make_record(std::uint64_t index, std::uint64_t first_slice);
  [[nodiscard]] Status read_key(const KeyEntry& disk, const Row& row, SelectionKey& key);
  // Checks the fields of a reference that do not depend on its records.
  [[nodiscard]] Status check_reference(const ReferenceEntry& disk, const Row& row) const;
  // Checks a reference between two records, and makes it. A reference to weights follows those of its record.
  [[nodiscard]] Status make_reference(const ReferenceEntry& disk, const Row& row, RecordInfo& from,
                                      const RecordInfo& to);
  // Checks a digest of a record.
  [[nodiscard]] Status check_record_digest(std::uint64_t index) const;

  // Returns a row's fields and sets `row`.
  template <typename T>
  [[nodiscard]] T entry(Table which, std::uint64_t index, Row& row, std::string_view name) const {
    row = Row{name, index, row_at(which, index)};
    T copy;
    std::memcpy(&copy, bytes_.data() + row.offset, sizeof(T));
    return copy;
  }
  [[nodiscard]] const TableRange& table(Table which) const { return toc_.head.table(which); }
  // Returns where a row starts in the TOC. Requires: index <= the table's count.
  [[nodiscard]] std::uint64_t row_at(Table which, std::uint64_t index) const {
    return table(which).offset + index * table(which).entry_size;  // inside the TOC: parse_toc_head checked
  }

  [[nodiscard]] Error complaint(ErrorCode code, std::string_view rule, const Row& row, std::string_view message) const;
  [[nodiscard]] Error malformed(std::string_view rule, const Row& row, std::string_view message) const {
    return complaint(ErrorCode::kMalformed, rule, row, message);
  }
  [[nodiscard]] Error malformed_toc(std::string_view rule, std::uint64_t offset, std::string message) const;

 protected:
  enum NameState : std::uint8_t { kNoName, kFreeName, kUsedName, kRecordName };

  // Returns false if no name starts there. Writes the result in place: returning it in a Result would cost more than
  // the lookup, several times for each record.
  [[nodiscard]] bool take_name(std::uint32_t offset, std::string_view& name);
  [[nodiscard]] Error no_name(std::uint32_t offset, const Row& row) const;

  Toc& toc_;
  ByteView bytes_;
  const Header& header_;
  const std::uint64_t toc_at_;
  const bool newer_fields_;  // then reserved bytes and bits are not judged
  ByteView names_;
  // For each byte of the names region, what starts there. Empty: nobody has looked at the region as a whole.
  std::vector<std::uint8_t> name_state_;

 private:
  [[nodiscard]] Status check_segment(const SegmentEntry& disk, const Row& row) const;
  [[nodiscard]] Status fill_record(const RecordEntry& disk, const Row& row, std::size_t index,
                                   std::uint64_t first_slice);
  [[nodiscard]] Status check_record_sizes(const RecordEntry& disk, const RecordInfo& info, const RecordForm& form,
                                          const Row& row) const;
  [[nodiscard]] Status check_record_slices(const RecordEntry& disk, const Row& row, std::uint64_t first_slice) const;
  [[nodiscard]] Status check_recipe_slices(const RecordEntry& disk, const Row& row) const;
};

}  // namespace fatctx::container
