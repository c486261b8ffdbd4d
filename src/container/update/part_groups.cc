#include "container/update/part_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "container/check/needed_records.h"
#include "container/format/byte_set.h"
#include "container/read/leaves.h"

namespace fatctx::container {
namespace {

// The records that need a range, counted for all ranges. Limits the memory for names of groups to 200 MB.
constexpr std::size_t kMostMembers = std::size_t{1} << 22;

using Ids = std::set<std::uint32_t>;

std::uint64_t end_of(ByteRange range) noexcept { return range.offset + range.size; }

void append(std::vector<ByteRange>& ranges, ByteRange range) {
  if (range.size == 0) return;
  if (!ranges.empty() && end_of(ranges.back()) == range.offset) {
    ranges.back().size += range.size;
  } else {
    ranges.push_back(range);
  }
}

std::vector<ByteRange> in_both(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
  std::vector<ByteRange> both;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    append(both, overlap(*i, *j));
    end_of(*i) < end_of(*j) ? ++i : ++j;
  }
  return both;
}

// Returns whether one of the ranges, which ascend, has all of `range`.
bool has_all(const std::vector<ByteRange>& ranges, ByteRange range) noexcept {
  const auto next =
      std::partition_point(ranges.begin(), ranges.end(), [&](ByteRange one) { return one.offset <= range.offset; });
  return next != ranges.begin() && end_of(range) <= end_of(*std::prev(next));
}

// The bytes of a container that each record needs, with its weights and tensor tables.
class Needs {
 public:
  explicit Needs(const Toc& toc) : toc_(toc), needs_(toc) {
    for (const RecordInfo& record : toc.records) by_name_.emplace(record.name, &record);
  }

  [[nodiscard]] const RecordInfo* named(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  // Without the description: a device with any record has it.
  [[nodiscard]] const std::vector<ByteRange>& of(const RecordInfo& record) {
    const auto [known, fresh] = known_.try_emplace(record.id);
    if (!fresh) return known->second;
    ByteSet bytes;
    for (const std::uint32_t id : needs_.of({record.id})) {
      const RecordInfo* one = toc_.find(id);
      if (one == nullptr) continue;
      for (const SegmentLeaves& leaves : leaves_under(toc_, *one)) {
        const Segment& segment = toc_.segments[leaves.segment];
        const std::uint64_t first = leaves.range.first << kLeafLog2;
        bytes.add({segment.offset + first, std::min(leaves.range.end << kLeafLog2, segment.size) - first});
      }
    }
    known->second = bytes.ranges();
    return known->second;
  }

 private:
  const Toc& toc_;
  RecordNeeds needs_;
  std::map<std::uint32_t, std::vector<ByteRange>> known_;  // by the record
  std::map<std::string_view, const RecordInfo*> by_name_;
};

class Grouper {
 public:
  Grouper(const ContainerFile& made, std::span<const ContainerFile> olds) : made_(made), olds_(olds) {
    for (const ContainerFile& old : olds) needs_of_olds_.emplace_back(old.opened.toc);
  }

  Result<std::vector<PartGroup>> run() {
    FATCTX_TRY(sweep());
    std::vector<PartGroup> groups;
    groups.push_back({metadata_, tables_of_olds()});
    for (auto& [ids, made] : groups_) groups.push_back({std::move(made), sources_of(ids)});
    return groups;
  }

 private:
  // Goes through NEW from front to back, and keeps account of the records that need the bytes.
  Status sweep() {
    const Toc& toc = made_.opened.toc;
    std::map<std::uint64_t, std::vector<std::uint32_t>> changes;  // by offset: a record begins or ends to need bytes
    Needs needs(toc);
    for (const RecordInfo& record : toc.records) {
      for (const ByteRange& range : needs.of(record)) {
        changes[range.offset].push_back(record.id);
        changes[end_of(range)].push_back(record.id);
      }
    }
    ByteSet payload;
    for (const Segment& segment : toc.segments) {
      if (segment.holds_payload()) payload.add({segment.offset, segment.size});
    }
    for (const ByteRange& range : payload.ranges()) {  // bytes that no record needs are a group, too
      changes[range.offset];
      changes[end_of(range)];
    }
    Ids now;
    std::uint64_t at = 0;
    for (const auto& [offset, ids] : changes) {
      FATCTX_TRY(put(now, {at, offset - at}, payload));
      for (const std::uint32_t id : ids) {
        if (!now.insert(id).second) now.erase(id);
      }
      at = offset;
    }
    return put(now, {at, made_.opened.header.committed_end - at}, payload);
  }

  Status put(const Ids& ids, ByteRange range, const ByteSet& payload) {
    if (range.size == 0) return Done{};
    if (!payload.contains(range.offset)) {
      append(metadata_, range);
      return Done{};
    }
    members_ += ids.size();
    std::vector<ByteRange>& made = groups_[ids];
    append(made, range);
    return check_limits();
  }

  Status check_limits() const {
    if (members_ <= kMostMembers) return Done{};
    return Error{
        ErrorCode::kLimitExceeded,
        fmt::format("{}: its records share bytes in too many ways for an update for partial files", made_.path)};
  }

  std::vector<std::vector<ByteRange>> tables_of_olds() const {
    std::vector<std::vector<ByteRange>> tables;
    for (const ContainerFile& old : olds_) {
      const Header& header = old.opened.header;
      ByteSet table;
      for (const std::uint64_t offset : header.toc_offset) table.add({offset, header.toc_size});
      tables.push_back(table.ranges());
    }
    return tables;
  }

  // Returns the bytes of each OLD that everybody has who has the old records of these names.
  std::vector<std::vector<ByteRange>> sources_of(const Ids& ids) {
    std::vector<std::optional<std::vector<ByteRange>>> common(olds_.size());
    bool known = false;
    for (const std::uint32_t id : ids) {
      const std::string_view name = made_.opened.toc.find(id)->name;
      if (std::none_of(needs_of_olds_.begin(), needs_of_olds_.end(),
                       [&](const Needs& one) { return one.named(name) != nullptr; })) {
        continue;
      }
      known = true;
      for (std::size_t i = 0; i < olds_.size(); ++i) {
        const RecordInfo* old = needs_of_olds_[i].named(name);
        const std::vector<ByteRange> needed = old != nullptr ? needs_of_olds_[i].of(*old) : std::vector<ByteRange>();
        common[i] = common[i] ? in_both(*common[i], needed) : needed;
      }
    }
    std::vector<std::vector<ByteRange>> sources;
    for (std::size_t i = 0; i < olds_.size(); ++i) {
      if (!known) common[i] = {{0, olds_[i].opened.header.committed_end}};
      sources.push_back(std::move(*common[i]));
    }
    return sources;
  }

  const ContainerFile& made_;
  std::span<const ContainerFile> olds_;
  std::vector<Needs> needs_of_olds_;
  std::vector<ByteRange> metadata_;
  std::map<Ids, std::vector<ByteRange>> groups_;  // by the records that need the bytes
  std::size_t members_ = 0;
};

}  // namespace

PartGroups::PartGroups(std::vector<PartGroup> groups) : groups_(std::move(groups)) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const ByteRange& range : groups_[i].made) places_.push_back({range, i});
  }
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.made.offset < b.made.offset; });
}

PartGroups PartGroups::whole(std::uint64_t made_size, std::span<const std::uint64_t> old_sizes) {
  PartGroup all{{{0, made_size}}, {}};
  for (const std::uint64_t size : old_sizes) all.olds.push_back({{0, size}});
  return PartGroups({std::move(all)});
}

Result<PartGroups> PartGroups::by_record(const ContainerFile& made, std::span<const ContainerFile> olds) {
  FATCTX_ASSIGN(std::vector<PartGroup> groups, Grouper(made, olds).run());
  return PartGroups(std::move(groups));
}

bool PartGroups::may_copy(ByteRange made, std::uint32_t source, std::uint64_t offset) const noexcept {
  const auto next = std::partition_point(places_.begin(), places_.end(),
                                         [&](const Place& place) { return place.made.offset <= made.offset; });
  if (next == places_.begin()) return false;
  const Place& place = *std::prev(next);
  if (end_of(made) > end_of(place.made)) return false;
  const PartGroup& group = groups_[place.group];
  return has_all(source == 0 ? group.made : group.olds[source - 1], {offset, made.size});
}

}  // namespace fatctx::container
