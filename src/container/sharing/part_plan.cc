#include "container/sharing/part_plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "container/sharing/anchor_index.h"
#include "container/sharing/parallel.h"
#include "container/sharing/stored_bytes.h"

namespace fatctx::container::sharing {
namespace {

using Kind = RecipeStep::Kind;

constexpr std::size_t kPartReadUnit = std::size_t{1} << 20;
constexpr std::size_t kCompareBlocks = 16;
constexpr std::uint64_t kFoundGap = 128;      // a gap of this size is worth looking up again
constexpr std::uint64_t kOwnGap = kLeafSize;  // a gap of this size is worth a place in the segment
constexpr std::uint64_t kLeastPartFill = 8;   // a fill that is shorter saves nothing
constexpr std::uint64_t kMostlyDivisor = 16;  // "mostly": all but one sixteenth

// Returns the largest power of two up to kPartAlignment that divides `offset`.
std::uint64_t alignment_of(std::uint64_t offset) noexcept {
  return offset == 0 ? kPartAlignment : std::min(kPartAlignment, offset & (~offset + 1));
}

// A part, or the bytes between two parts.
struct Stretch {
  ByteRange range;
  bool part = false;
  std::uint64_t alignment = 1;  // that its place in the file needs
  Hash128 hash = {};

  [[nodiscard]] std::uint64_t end() const noexcept { return range.offset + range.size; }
  [[nodiscard]] bool worth_finding() const noexcept { return part || range.size >= kFoundGap; }
};

// Cuts the record from front to back without gaps. Overlapping parts are merged, because views of them point into the
// same bytes.
std::vector<Stretch> stretches_of(const PartInput& record) {
  std::vector<KnownPart> parts = record.parts;
  std::erase_if(parts, [](const KnownPart& part) { return part.range.size == 0; });
  std::sort(parts.begin(), parts.end(),
            [](const KnownPart& a, const KnownPart& b) { return a.range.offset < b.range.offset; });
  std::vector<Stretch> result;
  result.reserve(parts.size() + 1);
  std::uint64_t at = 0;
  for (const KnownPart& part : parts) {
    const ByteRange& range = part.range;
    if (range.offset < at) {
      Stretch& last = result.back();
      last.range.size = std::max(last.end(), range.offset + range.size) - last.range.offset;
      last.alignment = std::max(last.alignment, part.element_bytes);
    } else {
      if (range.offset > at) result.push_back({.range = {at, range.offset - at}});
      result.push_back({.range = range, .part = true, .alignment = part.element_bytes});
    }
    at = result.back().end();
  }
  const std::uint64_t size = record.bytes->size();
  if (at < size) result.push_back({.range = {at, size - at}});
  return result;
}

// Returns the alignment of the record, and sets the one that each part needs.
std::uint64_t align_parts(std::vector<Stretch>& stretches) {
  std::map<std::uint64_t, std::uint64_t> bytes_on;  // by alignment
  std::uint64_t in_parts = 0;
  for (const Stretch& stretch : stretches) {
    if (!stretch.part) continue;
    in_parts += stretch.range.size;
    bytes_on[alignment_of(stretch.range.offset)] += stretch.range.size;
  }
  std::uint64_t alignment = kPartAlignment;
  std::uint64_t below = 0;  // bytes of parts with a smaller alignment
  for (const auto& [least, bytes] : bytes_on) {
    below += bytes;
    if (below <= in_parts / kMostlyDivisor) continue;
    alignment = least;
    break;
  }
  for (Stretch& stretch : stretches) {
    if (!stretch.part) continue;
    stretch.alignment = std::min(alignment_of(stretch.range.offset), std::max(alignment, stretch.alignment));
  }
  return alignment;
}

// Hashes every stretch in one pass over the record.
Status hash_stretches(const RecordBytes& bytes, const PartHash& seen_as, std::vector<Stretch>& stretches) {
  std::vector<std::byte> buffer;
  std::uint64_t held_from = 0;
  const auto at = [&](std::uint64_t offset) -> Result<ByteView> {
    if (offset < held_from || offset >= held_from + buffer.size()) {
      held_from = offset;
      buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPartReadUnit, bytes.size() - offset)));
      FATCTX_TRY(bytes.read_at(offset, buffer));
    }
    return ByteView(buffer).subspan(static_cast<std::size_t>(offset - held_from));
  };
  for (Stretch& stretch : stretches) {
    Hasher hasher;
    for (std::uint64_t offset = stretch.range.offset; offset < stretch.end();) {
      FATCTX_ASSIGN(const ByteView held, at(offset));
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(held.size(), stretch.end() - offset));
      hasher.update(held.first(size));
      offset += size;
    }
    stretch.hash = hasher.digest();
    if (seen_as) stretch.hash = seen_as(stretch.hash);
  }
  bytes.close();
  return Done{};
}

// The place of a stretch in stored bytes.
struct Place {
  std::uint32_t store = 0;
  std::uint64_t offset = 0;
};

// The way a stretch is stored.
struct Choice {
  enum class Form : std::uint8_t { kOwn, kCopy, kAsBefore, kFill, kLiteral };
  Form form = Form::kLiteral;
  Place from;               // kCopy
  std::size_t earlier = 0;  // kAsBefore: index of an own stretch of this record
  std::byte byte{};         // kFill
};
using Form = Choice::Form;

// The order of work: well-aligned records first, because others can copy from them; then those that have most in
// common with others.
struct Rank {
  std::uint64_t alignment = 0;
  std::uint64_t common_bytes = 0;
  std::uint64_t size = 0;
  Hash128 content;  // differs for any two records
};

class PartPlanner {
 public:
  PartPlanner(std::span<const PartInput> records, const PartSettings& settings)
      : records_(records),
        settings_(settings),
        granule_(std::uint64_t{1} << settings.granule_log2),
        stretches_(records.size()),
        alignments_(records.size()),
        family_(records.size()) {
    plan_.records.resize(records.size());
    stores_.sizes.resize(records.size());
    store_bytes_.resize(records.size());
    std::iota(family_.begin(), family_.end(), std::size_t{0});
  }

  Result<PartPlan> run() {
    FATCTX_TRY(for_each_index(settings_.threads, records_.size(), [&](std::size_t index) {
      stretches_[index] = stretches_of(records_[index]);
      alignments_[index] = align_parts(stretches_[index]);
      return hash_stretches(*records_[index].bytes, settings_.hash, stretches_[index]);
    }));
    const std::vector<std::size_t> order = order_of_work();
    for (const std::size_t index : order) {
      FATCTX_TRY(plan_record(index));
      ours_.close_all();
      theirs_.close_all();
    }
    make_families(order);
    return std::move(plan_);
  }

 private:
  std::vector<std::size_t> order_of_work() const {
    struct Holders {
      std::size_t first = 0;
      bool several = false;
    };
    std::map<Hash128, Holders> holders;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      for (const Stretch& stretch : stretches_[i]) {
        if (!stretch.part) continue;
        const auto [found, first] = holders.emplace(stretch.hash, Holders{i, false});
        if (!first && found->second.first != i) found->second.several = true;
      }
    }
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      Rank rank{.alignment = alignments_[i], .common_bytes = 0, .size = records_[i].bytes->size(), .content = {}};
      Hasher content;
      for (const Stretch& stretch : stretches_[i]) {
        const std::uint64_t numbers[] = {stretch.range.offset, stretch.range.size};
        for (const std::uint64_t number : numbers) {
          std::byte word[sizeof(number)];
          for (std::size_t byte = 0; byte < sizeof(number); ++byte) word[byte] = std::byte(number >> (8 * byte));
          content.update(word);
        }
        content.update(stretch.hash.bytes);
        if (!stretch.part) continue;
        if (holders.at(stretch.hash).several) rank.common_bytes += stretch.range.size;
      }
      rank.content = content.digest();
      ranks.push_back(rank);
    }
    std::vector<std::size_t> order(records_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Rank& left = ranks[a];
      const Rank& right = ranks[b];
      if (left.alignment != right.alignment) return left.alignment > right.alignment;
      if (left.common_bytes != right.common_bytes) return left.common_bytes > right.common_bytes;
      if (left.size != right.size) return left.size > right.size;
      return left.content < right.content;
    });
    return order;
  }

  Status plan_record(std::size_t index) {
    const RecordBytes& bytes = *records_[index].bytes;
    ByteRecord& record = plan_.records[index];
    FATCTX_ASSIGN(std::vector<Choice> choices, choose(index, nullptr));
    if (const auto allowed = best_sources(index, choices)) {
      FATCTX_ASSIGN(choices, choose(index, &*allowed));
    }
    const bool found_in_others =
        std::any_of(choices.begin(), choices.end(), [](const Choice& choice) { return choice.form == Form::kCopy; });
    const bool found = found_in_others || std::any_of(choices.begin(), choices.end(), [](const Choice& choice) {
                         return choice.form == Form::kAsBefore;
                       });
    if (found) {
      lay_out_own(index, choices, record);
      stores_.sizes[index] = record.own_bytes;
      const std::vector<Draft> drafts = drafts_of(index, choices, record);
      if (drafts.size() <= most_steps(bytes.size())) {
        FATCTX_ASSIGN(const bool fits, encode_drafts(bytes, drafts, stores_, granule_, record));
        const std::uint64_t divisor =
            found_in_others ? settings_.min_saving_divisor : settings_.min_base_saving_divisor;
        const std::uint64_t stored = record.own_bytes + record.program.size();
        record.recipe = fits && stored <= bytes.size() && (bytes.size() - stored) * divisor >= bytes.size();
      }
    }
    if (!record.recipe) {
      record = {};
      record.own = {{0, bytes.size()}};
      record.own_bytes = bytes.size();
    }
    stores_.sizes[index] = record.own_bytes;
    owns_.emplace_back(bytes, record.own);
    store_bytes_[index] = &owns_.back();
    remember(index, choices);
    if (record.recipe) {
      for (const std::uint32_t source : record.sources) join(index, source);
    }
    return Done{};
  }

  // Chooses how each stretch is stored. If `allowed` is null, every store may be used.
  Result<std::vector<Choice>> choose(std::size_t index, const std::vector<bool>* allowed) {
    const std::vector<Stretch>& stretches = stretches_[index];
    const RecordBytes& bytes = *records_[index].bytes;
    std::vector<Choice> choices(stretches.size());
    std::map<Hash128, std::vector<std::size_t>> own;  // stretches that this record stores itself
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const Stretch& stretch = stretches[i];
      Choice& choice = choices[i];
      FATCTX_ASSIGN(const bool found, find_stored(index, i, allowed, choices));
      if (found) continue;
      if (!stretch.part) {
        FATCTX_ASSIGN(const bool filled, take_fill(bytes, stretch, choice));
        if (filled) continue;
        choice.form = stretch.range.size >= kOwnGap ? Form::kOwn : Form::kLiteral;
        continue;
      }
      choice.form = Form::kOwn;
      std::vector<std::size_t>& before = own[stretch.hash];
      for (const std::size_t earlier : before) {
        const Stretch& same = stretches[earlier];
        if (same.range.size != stretch.range.size || same.range.offset % stretch.alignment != 0) continue;
        FATCTX_ASSIGN(const bool equal, equal_bytes(bytes, stretch.range, bytes, same.range.offset));
        if (!equal) continue;
        choice.form = Form::kAsBefore;
        choice.earlier = earlier;
        break;
      }
      if (choice.form == Form::kOwn) before.push_back(i);
    }
    return choices;
  }

  // Tries the place behind the last copy, so that both are one step; then the oldest known place.
  Result<bool> find_stored(std::size_t index, std::size_t i, const std::vector<bool>* allowed,
                           std::vector<Choice>& choices) {
    const Stretch& stretch = stretches_[index][i];
    const RecordBytes& bytes = *records_[index].bytes;
    Choice& choice = choices[i];
    const auto take = [&](const Place& place) -> Result<bool> {
      if (allowed != nullptr && !(*allowed)[place.store]) return false;
      if (place.offset % stretch.alignment != 0) return false;
      if (!within({place.offset, stretch.range.size}, stores_.sizes[place.store])) return false;
      FATCTX_ASSIGN(const bool equal, equal_bytes(bytes, stretch.range, *store_bytes_[place.store], place.offset));
      if (!equal) return false;
      choice.form = Form::kCopy;
      choice.from = place;
      return true;
    };
    if (i != 0 && choices[i - 1].form == Form::kCopy) {
      const Place& last = choices[i - 1].from;
      FATCTX_ASSIGN(const bool goes_on, take({last.store, last.offset + stretches_[index][i - 1].range.size}));
      if (goes_on) return true;
    }
    if (!stretch.worth_finding()) return false;
    const auto known = places_.find(stretch.hash);
    if (known == places_.end()) return false;
    for (const Place& place : known->second) {
      FATCTX_ASSIGN(const bool equal, take(place));
      if (equal) return true;
    }
    return false;
  }

  // Returns which sources to keep: every source takes a row in the table of slices. Returns nothing if all fit.
  std::optional<std::vector<bool>> best_sources(std::size_t index, const std::vector<Choice>& choices) const {
    std::map<std::uint32_t, std::uint64_t> bytes_by_store;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i].form == Form::kCopy) bytes_by_store[choices[i].from.store] += stretches_[index][i].range.size;
    }
    const std::size_t most = settings_.max_sources - 1;  // its own bytes are one more source
    if (bytes_by_store.size() <= most) return std::nullopt;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> ranked;
    ranked.reserve(bytes_by_store.size());
    for (const auto& [store, bytes] : bytes_by_store) ranked.emplace_back(bytes, store);
    std::sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : stores_.place_of(a.second) < stores_.place_of(b.second);
    });
    std::vector<bool> allowed(records_.size());
    for (std::size_t i = 0; i < most; ++i) allowed[ranked[i].second] = true;
    return allowed;
  }

  Result<bool> take_fill(const RecordBytes& bytes, const Stretch& stretch, Choice& choice) {
    if (stretch.range.size < kLeastPartFill) return false;
    FATCTX_ASSIGN(const ByteView first, ours_.at(bytes, stretch.range.offset));
    const std::byte byte = first[0];
    for (std::uint64_t at = stretch.range.offset; at < stretch.end();) {
      FATCTX_ASSIGN(const ByteView held, ours_.at(bytes, at));
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(held.size(), stretch.end() - at));
      const ByteView here = held.first(size);
      if (here[0] != byte || !constant(here)) return false;
      at += size;
    }
    choice.form = Form::kFill;
    choice.byte = byte;
    return true;
  }

  Result<bool> equal_bytes(const RecordBytes& a, ByteRange range, const RecordBytes& b, std::uint64_t offset) {
    for (std::uint64_t done = 0; done < range.size;) {
      FATCTX_ASSIGN(const ByteView left, ours_.at(a, range.offset + done));
      FATCTX_ASSIGN(const ByteView right, theirs_.at(b, offset + done));
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(std::min(left.size(), right.size()), range.size - done));
      if (common_prefix(left.first(size), right.first(size)) != size) return false;
      done += size;
    }
    return true;
  }

  // Lays out own stretches in whole units of 64 bytes. So a byte has the same offset within 64 bytes in the segment and
  // in the record.
  void lay_out_own(std::size_t index, const std::vector<Choice>& choices, ByteRecord& record) {
    const std::uint64_t size = records_[index].bytes->size();
    record.own.clear();
    record.own_bytes = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i].form != Form::kOwn) continue;
      const Stretch& stretch = stretches_[index][i];
      const std::uint64_t from = stretch.range.offset / kPartAlignment * kPartAlignment;
      const std::uint64_t rounded = (stretch.end() + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
      const std::uint64_t end = std::min(rounded, size);
      if (!record.own.empty() && record.own.back().offset + record.own.back().size >= from) {
        record.own.back().size = end - record.own.back().offset;
      } else {
        record.own.push_back({from, end - from});
      }
    }
    own_starts_.clear();
    for (const ByteRange& range : record.own) {
      own_starts_.push_back(record.own_bytes);
      record.own_bytes += range.size;
    }
  }

  // Returns the position of `range` in the bytes that the record stores itself; nothing if it does not store them.
  // Requires: the record was laid out last.
  std::optional<std::uint64_t> place_in_own(const ByteRecord& record, ByteRange range) const {
    const auto behind = std::upper_bound(record.own.begin(), record.own.end(), range.offset,
                                         [](std::uint64_t at, const ByteRange& own) { return at < own.offset; });
    if (behind == record.own.begin()) return std::nullopt;
    const ByteRange& own = *(behind - 1);
    if (range.offset + range.size > own.offset + own.size) return std::nullopt;
    return own_starts_[static_cast<std::size_t>(behind - 1 - record.own.begin())] + (range.offset - own.offset);
  }

  std::vector<Draft> drafts_of(std::size_t index, const std::vector<Choice>& choices, const ByteRecord& record) const {
    const std::vector<Stretch>& stretches = stretches_[index];
    const auto self = static_cast<std::uint32_t>(index);
    std::vector<Draft> drafts;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const ByteRange& range = stretches[i].range;
      const Choice& choice = choices[i];
      Draft draft{.target = range.offset, .size = range.size};
      const ByteRange& where = choice.form == Form::kAsBefore ? stretches[choice.earlier].range : range;
      if (choice.form == Form::kCopy) {
        draft.kind = Kind::kCopy;
        draft.store = choice.from.store;
        draft.source = choice.from.offset;
      } else if (const auto place = place_in_own(record, where)) {  // bytes between own parts are stored too
        draft.kind = Kind::kCopy;
        draft.store = self;
        draft.source = *place;
      } else if (choice.form == Form::kFill) {
        draft.kind = Kind::kFill;
        draft.source = std::to_integer<std::uint64_t>(choice.byte);
      }
      if (!drafts.empty() && goes_on(drafts.back(), draft)) {
        drafts.back().size += draft.size;
      } else {
        drafts.push_back(draft);
      }
    }
    return drafts;
  }

  static bool goes_on(const Draft& last, const Draft& next) {
    if (last.kind != next.kind) return false;
    if (last.kind == Kind::kCopy) return last.store == next.store && last.source + last.size == next.source;
    return last.kind == Kind::kLiteral || last.source == next.source;
  }

  // Remembers the places that others may copy from: of equal stretches the first one, and later ones that are better
  // aligned.
  void remember(std::size_t index, const std::vector<Choice>& choices) {
    const ByteRecord& record = plan_.records[index];
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const Stretch& stretch = stretches_[index][i];
      if (!stretch.worth_finding() || (record.recipe && choices[i].form != Form::kOwn)) continue;
      const std::uint64_t offset = record.recipe ? *place_in_own(record, stretch.range) : stretch.range.offset;
      const Place place{static_cast<std::uint32_t>(index), offset};
      std::vector<Place>& known = places_[stretch.hash];
      const bool better = std::all_of(known.begin(), known.end(), [&](const Place& before) {
        return alignment_of(before.offset) < alignment_of(place.offset);
      });
      if (better) known.push_back(place);
    }
  }

  std::size_t family_of(std::size_t index) {
    while (family_[index] != index) index = family_[index] = family_[family_[index]];
    return index;
  }
  void join(std::size_t a, std::size_t b) { family_[family_of(a)] = family_of(b); }

  void make_families(const std::vector<std::size_t>& order) {
    std::map<std::size_t, std::size_t> number;  // of a family, by its root
    std::vector<std::vector<std::size_t>> all;
    for (const std::size_t index : order) {
      const auto [found, first] = number.emplace(family_of(index), all.size());
      if (first) all.emplace_back();
      all[found->second].push_back(index);
    }
    for (std::vector<std::size_t>& members : all) {
      const bool shares =
          std::any_of(members.begin(), members.end(), [&](std::size_t index) { return plan_.records[index].recipe; });
      if (shares) plan_.families.push_back(std::move(members));
    }
  }

  std::span<const PartInput> records_;
  const PartSettings& settings_;
  const std::uint64_t granule_;
  std::vector<std::vector<Stretch>> stretches_;
  std::vector<std::uint64_t> alignments_;
  std::map<Hash128, std::vector<Place>> places_;
  Stores stores_;
  std::deque<OwnBytes> owns_;  // a deque, so that addresses stay valid
  std::vector<const RecordBytes*> store_bytes_;
  std::vector<std::uint64_t> own_starts_;  // start of each own range of the record that was laid out last
  BlockCache ours_{kCompareBlocks};
  BlockCache theirs_{kCompareBlocks};
  std::vector<std::size_t> family_;  // its root, or one on the way to it
  PartPlan plan_;
};

}  // namespace

Result<PartPlan> plan_parts(std::span<const PartInput> records, const PartSettings& settings) {
  return PartPlanner(records, settings).run();
}

}  // namespace fatctx::container::sharing
