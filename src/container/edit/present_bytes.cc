#include "container/edit/present_bytes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/record_stream.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kMaxPieces = 4096;  // of one record; a view of more takes more maps than most processes have left

// A searchable range of leaves: a segment of the file, or the bytes that a new record stores itself.
struct Store {
  std::size_t segment = 0;  // segment of the file, or index of the record
  bool in_file = false;
  std::vector<Hash128> leaves;  // whole leaves only
};

struct Place {
  std::size_t store = 0;
  std::size_t leaf = 0;
};

class Finder {
 public:
  Finder(Plan& plan, const mapping::OsFile& file, const Toc& toc, const std::vector<bool>& left_out)
      : plan_(plan), file_(file), toc_(toc), budget_(toc), left_out_(left_out) {}

  Status run() {
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      if (!left_out_[i]) by_size_[toc_.records[i].size_bytes].push_back(i);
    }
    std::vector<std::vector<Hash128>> leaves(plan_.records.size());
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      if (!may_be_present(i)) continue;
      PlannedRecord& planned = plan_.records[i];
      FATCTX_ASSIGN(planned.hash, hash_of(planned.input, leaves[i]));
      planned.input.close();
      wanted_.insert(wanted_.end(), leaves[i].begin(), leaves[i].end());
    }
    std::sort(wanted_.begin(), wanted_.end());
    if (!wanted_.empty()) read_leaves_of_file();
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      if (!may_be_present(i)) continue;
      FATCTX_TRY(find(i, plan_.records[i], leaves[i]));
      plan_.records[i].input.close();
    }
    return Done{};
  }

 private:
  [[nodiscard]] bool may_be_present(std::size_t index) const {
    const PlannedRecord& planned = plan_.records[index];
    // The description is excluded: every generation has its own.
    return !planned.alone && planned.stored_as == index && planned.input.size() != 0 &&
           planned.record.type != RecordType::kDescription;
  }

  Status find(std::size_t index, PlannedRecord& planned, const std::vector<Hash128>& leaves) {
    FATCTX_TRY(find_record(planned));
    if (planned.present_row || small_record(planned) || planned.codec != Codec::kNone) return Done{};
    FATCTX_TRY(find_leaves(planned, leaves));
    add_own(index, planned, leaves);
    return Done{};
  }

  static Result<Hash128> hash_of(const Input& input, std::vector<Hash128>& leaves) {
    return read_input(input, [&](ByteView bytes) -> Status {
      for (; bytes.size() >= kLeafSize; bytes = bytes.subspan(kLeafSize))
        leaves.push_back(hash128(bytes.first(kLeafSize)));
      return Done{};
    });
  }

  // Finds a record that is stored in the same way. Another alignment or codec would promise something else.
  Status find_record(PlannedRecord& planned) {
    const auto found = by_size_.find(planned.input.size());
    if (found == by_size_.end()) return Done{};
    for (const std::size_t row : found->second) {
      const RecordInfo& record = toc_.records[row];
      if (record.hash != planned.hash || !record.supported || !stored_alike(planned, row)) continue;
      FATCTX_ASSIGN(const bool equal, equal_to(planned.input, record));
      if (!equal) continue;
      planned.present_row = row;
      return Done{};
    }
    return Done{};
  }

  [[nodiscard]] bool stored_alike(const PlannedRecord& planned, std::size_t row) const {
    const RecordInfo& record = toc_.records[row];
    const Segment& first = toc_.segments[toc_.slices[toc_.forms[row].first_slice].segment];
    if (record.recipe) return !small_record(planned) && planned.codec == Codec::kNone;
    return record.codec == planned.codec && (first.kind == SegmentKind::kPacked) == small_record(planned);
  }

  Result<bool> equal_to(const Input& input, const RecordInfo& record) const {
    std::uint64_t at = 0;
    std::vector<std::byte> given;
    std::optional<Error> of_input;
    bool equal = true;
    const auto compare = [&](ByteView bytes) -> Status {
      given.resize(bytes.size());
      auto read = input.read_at(at, given);
      if (!read.ok()) {
        of_input = read.error();
        return read;
      }
      equal = equal && std::equal(bytes.begin(), bytes.end(), given.begin());
      at += bytes.size();
      return Done{};
    };
    const auto streamed = stream_logical(file_, toc_, record, budget_, compare);
    if (of_input) return std::move(*of_input);
    return streamed.ok() && equal && at == input.size();  // damaged records never match, nor those over the budget
  }

  void read_leaves_of_file() {
    const std::vector<bool> used = segments_in_use(toc_, left_out_);
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      const Segment& segment = toc_.segments[i];
      if (!used[i] || segment.kind != SegmentKind::kPayload || segment.size < kLeafSize) continue;
      auto leaves = read_leaves(file_, toc_, segment, LeafHash::kXxh3);
      if (!leaves.ok()) continue;  // damaged: its leaves never match
      leaves.value().xxh3.resize(static_cast<std::size_t>(segment.size / kLeafSize));
      add_store({i, true, std::move(leaves.value().xxh3)});
    }
  }

  void add_store(Store store) {
    for (std::size_t leaf = 0; leaf < store.leaves.size(); ++leaf) {
      // Only leaves of new records: a file has many more than an append brings.
      if (!std::binary_search(wanted_.begin(), wanted_.end(), store.leaves[leaf])) continue;
      places_.try_emplace(store.leaves[leaf], Place{stores_.size(), leaf});  // the first of equal leaves wins
    }
    stores_.push_back(std::move(store));
  }

  // Adds the bytes that the record stores itself, so that later records can share them.
  void add_own(std::size_t index, const PlannedRecord& planned, const std::vector<Hash128>& leaves) {
    Store store{index, false, {}};
    if (planned.own.empty()) {  // it stores all of its bytes
      store.leaves = leaves;
    } else {
      for (const ByteRange& range : planned.own) {
        const auto first = leaves.begin() + static_cast<std::ptrdiff_t>(range.offset / kLeafSize);
        store.leaves.insert(store.leaves.end(), first, first + static_cast<std::ptrdiff_t>(range.size / kLeafSize));
      }
    }
    if (planned.slices.empty() || !planned.own.empty()) add_store(std::move(store));
  }

  // Splits the record into slices of existing leaves and ranges of its own; both begin on leaves.
  Status find_leaves(PlannedRecord& planned, const std::vector<Hash128>& leaves) {
    std::vector<PlannedSlice> slices;
    std::vector<ByteRange> own;
    std::uint64_t own_bytes = 0;
    bool last_is_own = false;
    std::optional<Place> before;
    const auto keep = [&](ByteRange range) {
      if (last_is_own) {
        own.back().size += range.size;
        slices.back().range.size += range.size;
      } else {
        own.push_back(range);
        slices.push_back({kOwn, {own_bytes, range.size}});
      }
      own_bytes += range.size;
      last_is_own = true;
      before.reset();
    };
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const std::uint64_t offset = leaf * kLeafSize;
      FATCTX_ASSIGN(const std::optional<Place> place, find_leaf(planned.input, offset, leaves[leaf], before));
      if (!place) {
        keep({offset, kLeafSize});
        continue;
      }
      const Store& store = stores_[place->store];
      if (before && before->store == place->store && before->leaf + 1 == place->leaf) {
        slices.back().range.size += kLeafSize;
      } else {
        slices.push_back({store.segment, {place->leaf * kLeafSize, kLeafSize}, store.in_file});
      }
      before = place;
      last_is_own = false;
    }
    const std::uint64_t whole = leaves.size() * kLeafSize;
    if (whole < planned.input.size()) keep({whole, planned.input.size() - whole});
    if (own_bytes == planned.input.size() || slices.size() > kMaxPieces) return Done{};
    for (PlannedSlice& slice : slices) {
      if (slice.segment == kOwn) slice.segment = planned.stored_as;
    }
    planned.slices = std::move(slices);
    planned.own = std::move(own);
    planned.own_bytes = own_bytes;
    return Done{};
  }

  Result<std::optional<Place>> find_leaf(const Input& input, std::uint64_t offset, const Hash128& hash,
                                         const std::optional<Place>& before) {
    std::optional<Place> candidate;
    if (before && before->leaf + 1 < stores_[before->store].leaves.size() &&
        stores_[before->store].leaves[before->leaf + 1] == hash) {
      candidate = Place{before->store, before->leaf + 1};
    } else if (const auto found = places_.find(hash); found != places_.end()) {
      candidate = found->second;
    }
    if (!candidate) return candidate;
    given_.resize(kLeafSize);
    there_.resize(kLeafSize);
    FATCTX_TRY(input.read_at(offset, given_));
    FATCTX_ASSIGN(const bool read, read_place(*candidate));
    if (!read || given_ != there_) candidate.reset();
    return candidate;
  }

  // Reads a leaf into `there_`. Returns false if the file's bytes cannot be read.
  Result<bool> read_place(const Place& place) {
    const Store& store = stores_[place.store];
    const std::uint64_t offset = place.leaf * kLeafSize;
    if (store.in_file) return file_.read_at(toc_.segments[store.segment].offset + offset, there_).ok();
    const PlannedRecord& planned = plan_.records[store.segment];
    std::uint64_t at = offset;
    for (const ByteRange& range : planned.own) {
      if (at < range.size) {
        FATCTX_TRY(planned.input.read_at(range.offset + at, there_));
        planned.input.close();
        return true;
      }
      at -= range.size;
    }
    FATCTX_TRY(planned.input.read_at(offset, there_));  // it stores all of its bytes
    planned.input.close();
    return true;
  }

  static constexpr std::size_t kOwn = static_cast<std::size_t>(-1);

  Plan& plan_;
  const mapping::OsFile& file_;
  const Toc& toc_;
  const WorkBudget budget_;
  const std::vector<bool>& left_out_;
  std::map<std::uint64_t, std::vector<std::size_t>> by_size_;  // rows of the file's records
  std::vector<Hash128> wanted_;                                // leaves of all new records, sorted
  std::vector<Store> stores_;
  std::map<Hash128, Place> places_;
  std::vector<std::byte> given_;
  std::vector<std::byte> there_;
};

}  // namespace

std::vector<bool> segments_in_use(const Toc& toc, const std::vector<bool>& left_out) {
  std::vector<bool> used(toc.segments.size());
  for (std::size_t i = 0; i < toc.records.size(); ++i) {
    if (left_out[i]) continue;
    for (const Slice& slice : std::span(toc.slices).subspan(toc.forms[i].first_slice, toc.records[i].slice_count)) {
      used[slice.segment] = true;
    }
  }
  return used;
}

Status find_present_bytes(Plan& plan, const mapping::OsFile& file, const Toc& toc, const std::vector<bool>& left_out) {
  return Finder(plan, file, toc, left_out).run();
}

}  // namespace fatctx::container
