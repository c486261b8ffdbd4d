// Reads the header: two prologue copies and four slots, a sector each. Every open reads and checks all of them.
#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/read/parse.h"

namespace fatctx::container {
namespace {

Error complaint(ErrorCode code, std::string_view rule, std::uint64_t offset, std::string message) {
  return Error{code, std::move(message), {.file_offset = offset, .rule = rule}};
}

template <typename T>
T page_at(ByteView header, std::uint64_t offset) {
  static_assert(sizeof(T) == kSectorSize);
  T page;
  std::memcpy(&page, header.data() + offset, sizeof(T));
  return page;
}

bool page_has_its_hash(ByteView header, std::uint64_t offset, std::uint64_t seed) {
  const ByteView sector = header.subspan(static_cast<std::size_t>(offset), kSectorSize);
  const Hash128 hash = hash128(sector.first(kSectorSize - sizeof(DiskHash)), seed);
  return std::memcmp(hash.bytes.data(), sector.data() + kSectorSize - sizeof(DiskHash), sizeof(DiskHash)) == 0;
}

bool has_magic(ByteView bytes, std::uint64_t offset) {
  return within({offset, kSectorSize}, bytes.size()) &&
         std::memcmp(bytes.data() + offset, kMagic.data(), kMagic.size()) == 0;
}

Status check_long_enough(ByteView header, std::uint64_t file_size, std::uint64_t least) {
  if (file_size >= least && header.size() >= least) return Done{};
  return complaint(ErrorCode::kTruncated, "F1", file_size,
                   fmt::format("the file ends after {} bytes, inside its {}-byte header", file_size, least));
}

Status check_begin(ByteView header, std::uint64_t file_size) {
  if (file_size == 0) return complaint(ErrorCode::kTruncated, "F1", 0, "the file is empty");
  const bool magic = header.size() >= kMagic.size() && std::memcmp(header.data(), kMagic.data(), kMagic.size()) == 0;
  if (file_size < kLeastHeaderSize && !magic) {
    return complaint(ErrorCode::kBadMagic, "F1", 0, "not a fatctx container: the magic is missing");
  }
  return check_long_enough(header, file_size, kLeastHeaderSize);
}

std::string version_of(const Prologue& prologue) {
  return fmt::format("{}.{}", static_cast<unsigned>(prologue.major_version),
                     static_cast<unsigned>(prologue.minor_version));
}

std::uint64_t unknown_ro_compat(const Prologue& prologue) {
  return prologue.ro_compat_features & ~kKnownRoCompatFeatures;
}
std::uint64_t unknown_compat(const Prologue& prologue) { return prologue.compat_features & ~kKnownCompatFeatures; }
bool newer_fields(const Prologue& prologue) { return (unknown_ro_compat(prologue) | unknown_compat(prologue)) != 0; }

Status check_prologue(const Prologue& prologue, std::uint64_t offset) {
  // Minor versions of one major version share one layout; additions are guarded by feature bits (F3).
  if (prologue.major_version != kMajorVersion) {
    return complaint(
        ErrorCode::kUnsupported, "F1", offset,
        fmt::format("format version {}; this library reads {}.x: {}", version_of(prologue), kMajorVersion,
                    prologue.major_version > kMajorVersion ? "update the library" : "pack the file again"));
  }
  if ((prologue.incompat_features & ~kKnownIncompatFeatures) != 0) {
    return complaint(ErrorCode::kUnsupported, "F3", offset,
                     fmt::format("needs features this library does not know (bits {:#x}): update the library",
                                 static_cast<std::uint64_t>(prologue.incompat_features)));
  }
  if (prologue.extent_log2 != kSmallExtentLog2 && prologue.extent_log2 != kExtentLog2 &&
      prologue.extent_log2 != kLargeExtentLog2) {
    return complaint(ErrorCode::kMalformed, "F4", offset, fmt::format("extent_log2 is {}", prologue.extent_log2));
  }
  if (prologue.granule_log2 != 12 && prologue.granule_log2 != 14 && prologue.granule_log2 != 16) {
    return complaint(ErrorCode::kMalformed, "F4", offset, fmt::format("granule_log2 is {}", prologue.granule_log2));
  }
  if (prologue.granule_log2 > prologue.extent_log2) {
    return complaint(
        ErrorCode::kMalformed, "F4", offset,
        fmt::format("granule_log2 {} is above extent_log2 {}", prologue.granule_log2, prologue.extent_log2));
  }
  if (all_zero(prologue.uuid)) return complaint(ErrorCode::kMalformed, "F5", offset, "the uuid is zero");
  if (!newer_fields(prologue) && (!all_zero(prologue.reserved0) || !all_zero(prologue.reserved1))) {
    return complaint(ErrorCode::kMalformed, "F20", offset, "reserved bytes of the prologue are not zero");
  }
  return Done{};
}

bool good_prologue(ByteView header, std::uint64_t offset) {
  return has_magic(header, offset) && page_has_its_hash(header, offset, 0);
}

}  // namespace

const HeaderForm& form_of(ByteView first) noexcept {
  if (good_prologue(first, 0)) return header_form(page_at<Prologue>(first, 0).extent_log2);
  return good_prologue(first, kSmallForm.prologues[1]) ? kSmallForm : kLargeForm;
}

namespace {

// Returns the offset of a good copy that says the form of the header; nothing if there is none. Copy 0 is at 0 in both
// forms. Where the small form has copy 1, the large form has a slot. The other way round there may be payload, which
// may be anything, so the place of the small form comes first.
std::optional<std::uint64_t> find_prologue(ByteView header) {
  for (const std::uint64_t offset : {kLargeForm.prologues[0], kSmallForm.prologues[1], kLargeForm.prologues[1]}) {
    if (good_prologue(header, offset)) return offset;
  }
  return std::nullopt;
}

// Fills in the fields of the prologue.
Status read_prologue(ByteView header, Header& facts) {
  const std::optional<std::uint64_t> good = find_prologue(header);
  if (!good) {
    const bool seen = has_magic(header, 0) || has_magic(header, kSmallForm.prologues[1]) ||
                      has_magic(header, kLargeForm.prologues[1]);
    if (!seen) return complaint(ErrorCode::kBadMagic, "F1", 0, "not a fatctx container: the magic is missing");
    return complaint(ErrorCode::kChecksumMismatch, "F2", 0, "both prologue copies are damaged");
  }
  const auto prologue = page_at<Prologue>(header, *good);
  FATCTX_TRY(check_prologue(prologue, *good));
  const HeaderForm& form = header_form(prologue.extent_log2);
  const auto place = std::find(form.prologues.begin(), form.prologues.end(), *good);
  if (place == form.prologues.end()) {
    return complaint(ErrorCode::kMalformed, "F4", *good,
                     fmt::format("a prologue with extent_log2 {} belongs elsewhere", prologue.extent_log2));
  }
  const std::uint64_t other = form.prologues[place == form.prologues.begin() ? 1 : 0];
  if (place != form.prologues.begin()) {
    facts.degraded |= kDegradedPrologue0;
  } else if (!good_prologue(header, other)) {
    facts.degraded |= kDegradedPrologue1;
  } else if (Status second = check_prologue(page_at<Prologue>(header, other), other); !second.ok()) {
    return second;
  } else if (std::memcmp(header.data() + *good, header.data() + other, kSectorSize) != 0) {
    return complaint(ErrorCode::kMalformed, "F2", other, "the two prologue copies are whole but differ");
  }
  facts.format_version = version_of(prologue);
  facts.uuid = prologue.uuid;
  facts.extent_log2 = prologue.extent_log2;
  facts.granule_log2 = prologue.granule_log2;
  facts.unknown_ro_compat = unknown_ro_compat(prologue);
  facts.unknown_compat = unknown_compat(prologue);
  return Done{};
}

Status check_slot(const Slot& slot, std::uint8_t index, const Header& facts) {
  const std::uint64_t offset = facts.form().slots[index];
  if (slot.slot_index != index) {
    return complaint(ErrorCode::kMalformed, "F6", offset,
                     fmt::format("slot {} says it is slot {}", index, slot.slot_index));
  }
  if (slot.uuid != facts.uuid)
    return complaint(ErrorCode::kMalformed, "F7", offset, "the slot belongs to another container");
  const bool reserved_zero =
      (slot.flags & ~kKnownSlotFlags) == 0 && all_zero(slot.reserved0) && all_zero(slot.reserved1);
  if (!reserved_zero && !facts.has_newer_fields()) {
    return complaint(ErrorCode::kMalformed, "F20", offset,
                     fmt::format("reserved bits or bytes of slot {} are not zero", index));
  }
  if ((slot.flags & kSlotVoid) != 0) {
    const ByteView page(reinterpret_cast<const std::byte*>(&slot), sizeof(Slot));  // a copy on our stack
    constexpr std::size_t kFrom = offsetof(Slot, committed_end);
    if ((slot.flags & kSlotSealed) != 0 || !all_zero(page.subspan(kFrom, offsetof(Slot, reserved1) - kFrom))) {
      return complaint(ErrorCode::kMalformed, "F8", offset,
                       fmt::format("VOID slot {} holds more than a generation", index));
    }
  } else if (slot.generation == 0) {
    return complaint(ErrorCode::kMalformed, "F8", offset, fmt::format("slot {} is live with generation 0", index));
  }
  const bool digest = !all_zero(slot.toc_sha256);
  if (digest == all_zero(slot.key_id) || digest == all_zero(slot.signature) ||
      (!digest && !all_zero(slot.previous_toc_sha256))) {
    return complaint(ErrorCode::kMalformed, "F43", offset, fmt::format("slot {} is signed in part", index));
  }
  return Done{};
}

// The fields of a good slot.
struct SlotFacts {
  std::uint8_t flags = 0;
  std::uint64_t generation = 0;
  std::uint64_t committed_end = 0;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t toc_size = 0;
  std::uint64_t toc_head_size = 0;
  Hash128 toc_hash;
  std::optional<SlotSignature> signature;
};

SlotFacts facts_of(const Slot& slot) {
  SlotFacts facts{static_cast<std::uint8_t>(slot.flags & kKnownSlotFlags),
                  slot.generation,
                  slot.committed_end,
                  {slot.toc_offset[0], slot.toc_offset[1]},
                  slot.toc_size,
                  slot.toc_head_size,
                  {slot.toc_hash},
                  {}};
  if (!all_zero(slot.toc_sha256)) {
    facts.signature = SlotSignature{slot.toc_sha256, slot.previous_toc_sha256, slot.key_id, slot.signature};
  }
  return facts;
}

// Returns whether the mirrors are equal, except for their index and hash.
bool mirrors_agree(ByteView a, ByteView b) {
  constexpr std::size_t kFrom = offsetof(Slot, slot_index) + sizeof(Slot::slot_index);
  constexpr std::size_t kTo = offsetof(Slot, page_hash);
  return std::memcmp(a.data(), b.data(), offsetof(Slot, slot_index)) == 0 &&
         std::memcmp(a.data() + kFrom, b.data() + kFrom, kTo - kFrom) == 0;
}

// Returns whether `newer` may replace its differing mirror `older`.
//
// An append writes the mirrors of a pair one after the other. Before the second write, and after a crash that kept only
// one of them, the other mirror still holds an earlier generation of the pair. That is two generations back, or more if
// syncs failed in between and the disk never got the contents of the page cache (docs/decisions/0020).
//
// The other mirror may also hold what an append before the last one had meant to write. The crash of that append tore
// it, and the crash of the last append wrote just the bytes that it lacked. The committed end in it is then lower.
//
// Everything that either mirror names was on the disk before the mirror was written (docs/decisions/0014).
bool overtakes(const SlotFacts& newer, const SlotFacts& older) {
  const bool follows = newer.generation > older.generation && (newer.generation - older.generation) % 2 == 0;
  const bool again =
      newer.generation == older.generation && older.flags == 0 && newer.committed_end > older.committed_end;
  return (follows || again) && newer.flags == 0 && (older.flags & kSlotSealed) == 0;
}

// Returns the good slot of a pair (0: A, 1: B), or nothing if both mirrors are damaged.
Result<std::optional<SlotFacts>> read_pair(ByteView header, std::uint8_t pair, Header& facts) {
  std::optional<SlotFacts> good;
  ByteView good_page;
  for (const std::uint8_t index : {pair, static_cast<std::uint8_t>(pair + 2)}) {
    const std::uint64_t offset = facts.form().slots[index];
    const bool magic = std::memcmp(header.data() + offset, kSlotMagic.data(), kSlotMagic.size()) == 0;
    if (!magic || !page_has_its_hash(header, offset, slot_seed(facts.uuid, index))) {
      facts.degraded |= kDegradedSlotA0 << index;
      continue;
    }
    const ByteView page = header.subspan(static_cast<std::size_t>(offset), kSectorSize);
    const auto slot = page_at<Slot>(header, offset);
    FATCTX_TRY(check_slot(slot, index, facts));
    const SlotFacts found = facts_of(slot);
    if (good && !mirrors_agree(good_page, page)) {
      if (overtakes(*good, found)) {
        facts.degraded |= kDegradedSlotA0 << index;
        continue;
      }
      if (!overtakes(found, *good)) {
        return complaint(ErrorCode::kMalformed, "F8", offset,
                         fmt::format("slots {} and {} are whole but differ", pair, index));
      }
      facts.degraded |= kDegradedSlotA0 << pair;
    }
    good = found;
    good_page = page;
  }
  return good;
}

bool live(const std::optional<SlotFacts>& slot) { return slot && (slot->flags & kSlotVoid) == 0; }

// Returns the pair whose generation is opened. The pairs take turns, so their generations are an odd number apart. It
// is one, unless failed syncs kept writes to the older pair from the disk. The newer pair is valid even then: it was
// written only after everything that it names was on the disk (docs/decisions/0020).
Result<std::uint8_t> newest_pair(const std::optional<SlotFacts>& a, const std::optional<SlotFacts>& b, Header& facts) {
  const auto& slots = facts.form().slots;
  if (!live(a) && !live(b)) {
    if (a && b) return complaint(ErrorCode::kMalformed, "F8", slots[0], "both slot pairs are VOID");
    return complaint(ErrorCode::kChecksumMismatch, "F6", slots[a ? 1 : 0],
                     "both mirrors of the slot that names the table of contents are damaged");
  }
  if (!a) return std::uint8_t{1};
  if (!b) return std::uint8_t{0};
  const std::uint64_t generation_a = a->generation;
  const std::uint64_t generation_b = b->generation;
  const bool a_newer = generation_a > generation_b;
  const std::uint64_t apart = a_newer ? generation_a - generation_b : generation_b - generation_a;
  const bool sealed = ((a_newer ? a : b)->flags & kSlotSealed) != 0;  // written as a whole, not by an append
  if (apart % 2 == 0 || (apart != 1 && sealed)) {
    return complaint(ErrorCode::kMalformed, "F9", slots[0],
                     fmt::format("slot generations {} and {} do not follow each other", generation_a, generation_b));
  }
  if (apart != 1) facts.degraded |= kDegradedOlderPair;
  if (!live(a_newer ? a : b)) {
    return complaint(ErrorCode::kMalformed, "F8", slots[a_newer ? 0 : 1], "the VOID slot is the newer one");
  }
  return static_cast<std::uint8_t>(a_newer ? 0 : 1);
}

Status check_bounds(const Header& header, std::uint64_t file_size, std::uint64_t at) {
  if (header.committed_end > kMaxFileSize) {
    return complaint(ErrorCode::kLimitExceeded, "F22", at, fmt::format("committed_end is {}", header.committed_end));
  }
  if (header.committed_end > file_size) {
    return complaint(ErrorCode::kTruncated, "F10", file_size,
                     fmt::format("the file has {} bytes, {} were committed: it was cut or not copied whole", file_size,
                                 header.committed_end));
  }
  if (header.sealed && header.committed_end != file_size) {
    return complaint(
        ErrorCode::kTrailingData, "F10", header.committed_end,
        fmt::format("a sealed file must end at byte {}, this one has {}", header.committed_end, file_size));
  }
  if (header.toc_size > kMaxTocSize) {
    return complaint(
        ErrorCode::kLimitExceeded, "F12", at,
        fmt::format("the table of contents has {} bytes, at most {} are allowed", header.toc_size, kMaxTocSize));
  }
  // The head has the hashes of at least one page, because the names region is never empty.
  if (header.toc_head_size <= kPageHashesStart || header.toc_size <= header.toc_head_size) {
    return complaint(ErrorCode::kMalformed, "F12", at,
                     fmt::format("the table of contents has {} bytes, {} of them in its head", header.toc_size,
                                 header.toc_head_size));
  }
  const std::uint64_t pages = toc_pages(header.toc_size - header.toc_head_size);
  if (header.toc_head_size != toc_head_size(pages, false) && header.toc_head_size != toc_head_size(pages, true)) {
    return complaint(
        ErrorCode::kMalformed, "F12", at,
        fmt::format("a head of {} bytes does not hold the hashes of {} pages", header.toc_head_size, pages));
  }
  for (const std::uint64_t offset : header.toc_offset) {
    if ((offset & ((std::uint64_t{1} << header.form().unit_log2) - 1)) != 0 || offset < header.form().size ||
        !within({offset, header.toc_size}, header.committed_end)) {
      return complaint(ErrorCode::kMalformed, "F11", at,
                       fmt::format("a table of contents at {:#x} is out of place", offset));
    }
  }
  const auto [low, high] = std::minmax(header.toc_offset[0], header.toc_offset[1]);
  if (high - low < header.toc_size) {
    return complaint(ErrorCode::kMalformed, "F11", at, "the copies of the table of contents overlap");
  }
  return Done{};
}

// The contents of the header, except for the generation that the slots name.
struct HeaderPages {
  Header facts;
  std::array<std::optional<SlotFacts>, 2> pairs;
};

Result<HeaderPages> read_pages(ByteView header, std::uint64_t file_size) {
  FATCTX_TRY(check_begin(header, file_size));
  HeaderPages pages;
  Header& facts = pages.facts;
  FATCTX_TRY(read_prologue(header, facts));
  FATCTX_TRY(check_long_enough(header, file_size, facts.form().size));
  FATCTX_ASSIGN(pages.pairs[0], read_pair(header, 0, facts));
  FATCTX_ASSIGN(pages.pairs[1], read_pair(header, 1, facts));
  FATCTX_ASSIGN(facts.pair, newest_pair(pages.pairs[0], pages.pairs[1], facts));
  facts.newest_generation = pages.pairs[facts.pair]->generation;
  return pages;
}

Result<Header> with_generation(Header facts, const SlotFacts& slot, std::uint64_t file_size) {
  facts.generation = slot.generation;
  facts.committed_end = slot.committed_end;
  facts.toc_offset = slot.toc_offset;
  facts.toc_size = slot.toc_size;
  facts.toc_head_size = slot.toc_head_size;
  facts.toc_hash = slot.toc_hash;
  facts.signature = slot.signature;
  facts.sealed = (slot.flags & kSlotSealed) != 0;
  FATCTX_TRY(check_bounds(facts, file_size, facts.form().slots[facts.pair]));
  facts.tail_bytes = file_size - facts.committed_end;
  return facts;
}

}  // namespace

std::vector<ByteRange> header_gaps(const HeaderForm& form) {
  std::vector<std::uint64_t> sectors(form.prologues.begin(), form.prologues.end());
  sectors.insert(sectors.end(), form.slots.begin(), form.slots.end());
  std::sort(sectors.begin(), sectors.end());
  std::vector<ByteRange> gaps;
  auto next = sectors.begin();
  for (std::uint64_t at = 0; at < form.size;) {
    if (next != sectors.end() && *next == at) {
      at += kSectorSize;
      ++next;
      continue;
    }
    const std::uint64_t page_end = (at / kTocPageSize + 1) * kTocPageSize;
    const std::uint64_t end = next == sectors.end() ? page_end : std::min(page_end, *next);
    gaps.push_back({at, end - at});
    at = end;
  }
  return gaps;
}

std::vector<std::string> degraded_texts(std::uint32_t degraded) {
  static constexpr std::string_view kTexts[] = {"prologue copy 0", "prologue copy 1", "slot A0",        "slot B0",
                                                "slot A1",         "slot B1",         "header padding", "toc copy 0",
                                                "toc copy 1",      "older slot pair"};
  std::vector<std::string> texts;
  for (std::size_t bit = 0; bit < std::size(kTexts); ++bit) {
    if ((degraded & (1U << bit)) != 0) texts.emplace_back(kTexts[bit]);
  }
  return texts;
}

Result<Header> parse_header(ByteView header, std::uint64_t file_size) {
  FATCTX_ASSIGN(HeaderPages pages, read_pages(header, file_size));
  return with_generation(pages.facts, *pages.pairs[pages.facts.pair], file_size);
}

Result<std::optional<Header>> parse_previous_header(ByteView header, std::uint64_t file_size,
                                                    std::uint64_t generation) {
  FATCTX_ASSIGN(HeaderPages pages, read_pages(header, file_size));
  pages.facts.pair = static_cast<std::uint8_t>(1 - pages.facts.pair);
  const std::optional<SlotFacts>& slot = pages.pairs[pages.facts.pair];
  if (!live(slot) || slot->generation != generation) return std::optional<Header>();
  FATCTX_ASSIGN(Header previous, with_generation(pages.facts, *slot, file_size));
  previous.tail_bytes = 0;  // the later generation is stored there
  return std::optional<Header>(previous);
}

Result<std::uint64_t> committed_end_of(ByteView header, std::uint64_t file_size) {
  FATCTX_ASSIGN(const HeaderPages pages, read_pages(header, file_size));
  return pages.pairs[pages.facts.pair]->committed_end;
}

std::string newer_features_text(const Header& header) {
  std::string text;
  if (header.unknown_ro_compat != 0) text = fmt::format("ro_compat {:#x}", header.unknown_ro_compat);
  if (header.unknown_compat != 0) {
    text += fmt::format("{}compat {:#x}", text.empty() ? "" : ", ", header.unknown_compat);
  }
  return text;
}

Status check_changeable(const Header& header) {
  if (header.unknown_ro_compat == 0) return Done{};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("it was written by a newer version in a way that only it can change (bits {:#x}): update the "
                  "library",
                  header.unknown_ro_compat),
      {.rule = "F3"}};
}

Status check_rewritable(const Header& header) {
  FATCTX_TRY(check_changeable(header));
  if (header.unknown_compat == 0) return Done{};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("it has fields of a newer version (bits {:#x}), which a new file by this version would lose: "
                  "update the library",
                  header.unknown_compat),
      {.rule = "F3"}};
}

}  // namespace fatctx::container
