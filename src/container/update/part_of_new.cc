#include "container/update/part_of_new.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "container/check/absent_leaves.h"
#include "container/check/leaf_parts.h"
#include "container/check/needed_records.h"
#include "container/read/leaves.h"
#include "mapping/file_holes.h"

namespace fatctx::container {
namespace {

class PartKeeper {
 public:
  PartKeeper(mapping::OsFile& file, const Toc& toc, const UnknownBytes& unknown, const mapping::AfterPiece& after)
      : file_(file), toc_(toc), unknown_(unknown), after_(after) {}

  Status keep_leaves() {
    for (std::uint32_t i = 0; i < toc_.segments.size(); ++i) {
      const Segment& segment = toc_.segments[i];
      if (!segment.holds_payload()) continue;
      for (std::uint64_t first = 0; first < segment.leaf_count(); first += kLeavesPerPage) {
        FATCTX_TRY(keep_page(i, {first, std::min(first + kLeavesPerPage, segment.leaf_count())}));
      }
    }
    return Done{};
  }

  Result<PartOfNew> records(const std::set<std::string>& required) const {
    FATCTX_ASSIGN(const AbsentLeaves absent, AbsentLeaves::find(file_, toc_, LookFor::kZeros, after_));
    std::vector<std::uint32_t> ids;
    bool has_payload = false;
    for (const RecordInfo& record : toc_.records) {
      if (!required.contains(std::string(record.name))) continue;
      ids.push_back(record.id);
      has_payload = has_payload || record.type != RecordType::kDescription;
    }
    if (!has_payload) {
      return Error{ErrorCode::kNotPresent,
                   "none of the new file's records has the name of a record that the old files have"};
    }
    for (const std::uint32_t id : with_what_they_need(toc_, ids)) {
      const RecordInfo* record = toc_.find(id);
      if (record != nullptr && absent.bytes_of(*record) != 0) return lacks(*record, absent.bytes_of(*record));
    }
    PartOfNew part;
    for (const ByteRange& range : absent.ranges()) part.absent_bytes += range.size;
    for (const RecordInfo& record : toc_.records) {
      if (absent.bytes_of(record) == 0) part.records.emplace_back(record.name);
    }
    return part;
  }

 private:
  static Error lacks(const RecordInfo& record, std::uint64_t bytes) {
    Error error{ErrorCode::kNotPresent,
                fmt::format("record \"{}\" would lack {} bytes; `fatctx fetch SOURCE --from OLD` brings them",
                            record.name, bytes)};
    error.where.record_id = record.id;
    return error;
  }

  Status keep_page(std::uint32_t index, LeafRange page) {
    const Segment& segment = toc_.segments[index];
    const bool both = leaf_hashes_named(toc_, index).size() > 1;
    auto leaves = read_leaves(file_, toc_, segment, both ? LeafHash::kBoth : LeafHash::kXxh3, page);
    if (!leaves.ok()) {
      return Error{ErrorCode::kChecksumMismatch,
                   "its leaf hashes do not match its table",
                   {.file_offset = segment.offset, .rule = "F26"}};
    }
    std::vector<ByteRange> wrong;
    FATCTX_TRY(look_at_leaves(
        file_, segment, leaves.value(), page,
        [&](std::uint64_t leaf, ByteView bytes, bool good) {
          if (!good) wrong.push_back({segment.offset + (leaf << kLeafLog2), bytes.size()});
        },
        after_));
    for (const ByteRange& leaf : wrong) {
      if (unknown_.within(leaf).empty()) return leaf_error(leaf, false);
      FATCTX_TRY(mapping::make_hole(file_, leaf));
    }
    return Done{};
  }

  mapping::OsFile& file_;
  const Toc& toc_;
  const UnknownBytes& unknown_;
  const mapping::AfterPiece& after_;
};

}  // namespace

Result<std::set<std::string>> whole_records_of(const std::vector<ContainerFile>& olds,
                                               const mapping::AfterPiece& after) {
  std::set<std::string> whole;
  std::set<std::string> lacking;
  for (const ContainerFile& old : olds) {
    const Toc& toc = old.opened.toc;
    FATCTX_ASSIGN(const AbsentLeaves absent, AbsentLeaves::find(*old.file, toc, LookFor::kZeros, after));
    std::set<std::uint32_t> lack;
    for (const RecordInfo& record : toc.records) {
      if (absent.bytes_of(record) != 0) lack.insert(record.id);
    }
    const RecordNeeds needs(toc);
    for (const RecordInfo& record : toc.records) {
      const std::set<std::uint32_t> needed = needs.of({record.id});
      const bool lacks = std::any_of(needed.begin(), needed.end(), [&](std::uint32_t id) { return lack.contains(id); });
      (lacks ? lacking : whole).emplace(record.name);
    }
  }
  for (const std::string& name : lacking) whole.erase(name);
  return whole;
}

Result<PartOfNew> keep_part(mapping::OsFile& file, const Toc& toc, const UnknownBytes& unknown,
                            const std::set<std::string>& required, const mapping::AfterPiece& after) {
  PartKeeper keeper(file, toc, unknown, after);
  FATCTX_TRY(keeper.keep_leaves());
  return keeper.records(required);
}

}  // namespace fatctx::container
