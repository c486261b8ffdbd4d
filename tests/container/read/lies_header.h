// Malformed headers: version, identity, slots, and the offsets of the table of contents.
#pragma once

#include <cstring>

#include "container/read/lie.h"
#include "support/large_form.h"

namespace fatctx::container {

template <typename Edit>
void edit_slots(support::Bytes& file, std::size_t pair, Edit edit) {
  for (const std::size_t index : {pair, pair + 2}) {
    auto slot = support::struct_at<Slot>(file, kSlotOffsets[index]);
    edit(slot);
    support::put_struct(file, kSlotOffsets[index], slot);
  }
}

inline constexpr Lie kHeaderLies[] = {
    {"an empty file", [](auto& f) { f.at_last = [](auto& b) { b.clear(); }; }, ErrorCode::kTruncated, "F1"},
    {"seven bytes of magic", [](auto& f) { f.at_last = [](auto& b) { b.resize(7); }; }, ErrorCode::kBadMagic, "F1"},
    {"a short file of another kind",
     [](auto& f) {
       f.at_last = [](auto& b) {
         b.resize(200);
         b[0] = std::byte{'P'};
       };
     },
     ErrorCode::kBadMagic, "F1"},
    {"the magic and nothing else", [](auto& f) { f.at_last = [](auto& b) { b.resize(8); }; }, ErrorCode::kTruncated,
     "F1"},
    {"one byte short of a header", [](auto& f) { f.at_last = [](auto& b) { b.resize(kHeaderSize - 1); }; },
     ErrorCode::kTruncated, "F1"},
    {"CR-LF became LF", [](auto& f) { f.at_last = [](auto& b) { b.erase(b.begin() + 4); }; }, ErrorCode::kBadMagic,
     "F1"},
    {"bytes in front of the file",
     [](auto& f) { f.at_last = [](auto& b) { b.insert(b.begin(), 30, std::byte{'P'}); }; }, ErrorCode::kBadMagic, "F1"},
    {"a newer major version", [](auto& f) { f.prologue.major_version = kMajorVersion + 1; }, ErrorCode::kUnsupported,
     "F1"},
    {"a version before 1.0",
     [](auto& f) {
       f.prologue.major_version = 0;
       f.prologue.minor_version = 1;
     },
     ErrorCode::kUnsupported, "F1", "pack the file again"},
    {"the small form at the places of the large one", [](auto& f) { f.prologue.extent_log2 = kSmallExtentLog2; },
     ErrorCode::kChecksumMismatch, "F6"},
    {"a granule above the alignment",
     [](auto& f) {
       f.prologue.extent_log2 = kSmallExtentLog2;
       f.prologue.granule_log2 = 14;
     },
     ErrorCode::kMalformed, "F4", "is above"},
    {"a second copy of the small form in a file of the large one",
     [](auto& f) {
       f.prologue.extent_log2 = kSmallExtentLog2;
       f.at_last = [](auto& b) { b[0x100] ^= std::byte{1}; };
     },
     ErrorCode::kMalformed, "F4", "belongs elsewhere"},
    {"both prologues damaged",
     [](auto& f) { f.at_last = [](auto& b) { b[0x01ff] ^= std::byte{1}, b[0x8100] = std::byte{1}; }; },
     ErrorCode::kChecksumMismatch, "F2"},
    {"two good prologues that differ",
     [](auto& f) {
       f.in_header = [](auto& b) {
         auto second = support::struct_at<Prologue>(b, kPrologueOffsets[1]);
         second.compat_features = 1;
         support::put_struct(b, kPrologueOffsets[1], second);
       };
     },
     ErrorCode::kMalformed, "F2"},
    {"an unknown feature that must be known", [](auto& f) { f.prologue.incompat_features = std::uint64_t{1} << 63; },
     ErrorCode::kUnsupported, "F3"},
    {"extent_log2 0", [](auto& f) { f.prologue.extent_log2 = 0; }, ErrorCode::kMalformed, "F4"},
    {"extent_log2 17", [](auto& f) { f.prologue.extent_log2 = 17; }, ErrorCode::kMalformed, "F4"},
    {"granule_log2 13", [](auto& f) { f.prologue.granule_log2 = 13; }, ErrorCode::kMalformed, "F4"},
    {"granule_log2 64", [](auto& f) { f.prologue.granule_log2 = 64; }, ErrorCode::kMalformed, "F4"},
    {"a zero uuid", [](auto& f) { f.prologue.uuid = {}; }, ErrorCode::kMalformed, "F5"},
    {"first reserved byte of the prologue", [](auto& f) { f.prologue.reserved0[0] = std::byte{1}; },
     ErrorCode::kMalformed, "F20"},
    {"last reserved byte of the prologue", [](auto& f) { f.prologue.reserved1.back() = std::byte{1}; },
     ErrorCode::kMalformed, "F20"},
    {"a slot with another index",
     [](auto& f) {
       f.in_header = [](auto& b) {
         auto slot = support::struct_at<Slot>(b, kSlotOffsets[2]);
         slot.slot_index = 0;
         support::put_struct(b, kSlotOffsets[2], slot);
       };
     },
     ErrorCode::kMalformed, "F6"},
    {"both mirrors of the live slot damaged",
     [](auto& f) { f.at_last = [](auto& b) { b[0x1020] ^= std::byte{1}, b[0x9020] ^= std::byte{1}; }; },
     ErrorCode::kChecksumMismatch, "F6"},
    {"all four slots damaged",
     [](auto& f) {
       f.at_last = [](auto& b) {
         for (const std::uint64_t offset : kSlotOffsets) b[static_cast<std::size_t>(offset)] = std::byte{0};
       };
     },
     ErrorCode::kChecksumMismatch, "F6"},
    {"slots of another container", [](auto& f) { f.live.uuid[3] ^= std::byte{1}; }, ErrorCode::kMalformed, "F7"},
    {"a VOID slot of another container", [](auto& f) { f.other.uuid[15] ^= std::byte{1}; }, ErrorCode::kMalformed,
     "F7"},
    {"an unknown flag of a slot", [](auto& f) { f.live.flags = 4; }, ErrorCode::kMalformed, "F20"},
    {"reserved0 of a slot", [](auto& f) { f.live.reserved0[1] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"reserved1 of a slot", [](auto& f) { f.live.reserved1.back() = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"a SHA-256 without a signature", [](auto& f) { f.live.toc_sha256[0] = std::byte{1}; }, ErrorCode::kMalformed,
     "F43"},
    {"an earlier SHA-256 without a signature", [](auto& f) { f.live.previous_toc_sha256[31] = std::byte{1}; },
     ErrorCode::kMalformed, "F43"},
    {"a key id without a signature", [](auto& f) { f.live.key_id[5] = std::byte{1}; }, ErrorCode::kMalformed, "F43"},
    {"a signature over nothing", [](auto& f) { f.live.signature[63] = std::byte{1}; }, ErrorCode::kMalformed, "F43"},
    {"a signature without a key id", [](auto& f) { f.live.toc_sha256[0] = f.live.signature[63] = std::byte{1}; },
     ErrorCode::kMalformed, "F43"},
    {"a key id and a SHA-256 without a signature",
     [](auto& f) { f.live.toc_sha256[0] = f.live.key_id[5] = std::byte{1}; }, ErrorCode::kMalformed, "F43"},
    {"a VOID slot that is signed", [](auto& f) { f.other.signature[0] = std::byte{1}; }, ErrorCode::kMalformed, "F8"},
    {"a VOID slot that is sealed", [](auto& f) { f.other.flags = kSlotVoid | kSlotSealed; }, ErrorCode::kMalformed,
     "F8"},
    {"a VOID slot with an end", [](auto& f) { f.other.committed_end = 1; }, ErrorCode::kMalformed, "F8"},
    {"a VOID slot with an earlier hash", [](auto& f) { f.other.previous_toc_hash[15] = std::byte{1}; },
     ErrorCode::kMalformed, "F8"},
    {"a live slot of generation 0", [](auto& f) { f.live.generation = 0; }, ErrorCode::kMalformed, "F8"},
    {"mirrors that differ in a size",
     [](auto& f) {
       f.in_header = [](auto& b) {
         auto slot = support::struct_at<Slot>(b, kSlotOffsets[2]);
         slot.toc_size = slot.toc_size - 1;
         support::put_struct(b, kSlotOffsets[2], slot);
       };
     },
     ErrorCode::kMalformed, "F8"},
    {"mirrors that differ in their first field",
     [](auto& f) {
       f.in_header = [](auto& b) {
         auto slot = support::struct_at<Slot>(b, kSlotOffsets[2]);
         slot.flags = kSlotSealed;
         support::put_struct(b, kSlotOffsets[2], slot);
       };
     },
     ErrorCode::kMalformed, "F8"},
    {"both pairs VOID",
     [](auto& f) {
       f.in_header = [](auto& b) {
         edit_slots(b, 0, [](Slot& slot) {
           Slot empty = {};
           empty.magic = slot.magic;
           empty.slot_index = slot.slot_index;
           empty.uuid = slot.uuid;
           empty.flags = kSlotVoid;
           slot = empty;
         });
       };
     },
     ErrorCode::kMalformed, "F8"},
    {"a VOID slot that is the newer one", [](auto& f) { f.other.generation = 2; }, ErrorCode::kMalformed, "F8"},
    {"generations that skip one",
     [](auto& f) {
       f.live.generation = 2;
       f.head.generation = 2;
     },
     ErrorCode::kMalformed, "F9"},
    {"two pairs of one generation", [](auto& f) { f.other.generation = 1; }, ErrorCode::kMalformed, "F9"},
    {"generations whose distance wraps", [](auto& f) { f.other.generation = UINT64_MAX; }, ErrorCode::kMalformed, "F9"},
    {"an end beyond what a file may have",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.committed_end = kMaxFileSize + 1; }); };
     },
     ErrorCode::kLimitExceeded, "F22"},
    {"one byte short", [](auto& f) { f.at_last = [](auto& b) { b.pop_back(); }; }, ErrorCode::kTruncated, "F10"},
    {"one byte too many in a sealed file",
     [](auto& f) {
       f.live.flags = kSlotSealed;
       f.at_last = [](auto& b) { b.push_back(std::byte{7}); };
     },
     ErrorCode::kTrailingData, "F10"},
    {"a table of contents above its limit",
     [](auto& f) { f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_size = kMaxTocSize + 1; }); }; },
     ErrorCode::kLimitExceeded, "F12"},
    {"a table of contents without tables",
     [](auto& f) { f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_size = s.toc_head_size; }); }; },
     ErrorCode::kMalformed, "F12", "of them in its head"},
    {"a table of contents without hashes of pages",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_head_size = kPageHashesStart; }); };
     },
     ErrorCode::kMalformed, "F12", "of them in its head"},
    {"a head of half a hash more",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_head_size = s.toc_head_size + 8; }); };
     },
     ErrorCode::kMalformed, "F12", "does not hold the hashes of 1 pages"},
    {"a table of contents that is not aligned",
     [](auto& f) { f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_offset[0] = 0x10001; }); }; },
     ErrorCode::kMalformed, "F11"},
    {"a table of contents in the header",
     [](auto& f) { f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_offset[0] = 0; }); }; },
     ErrorCode::kMalformed, "F11"},
    {"a second copy that is not aligned",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_offset[1] = s.toc_offset[1] - 1; }); };
     },
     ErrorCode::kMalformed, "F11"},
    {"a second copy behind the end",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_offset[1] = s.toc_offset[1] + 0x10000; }); };
     },
     ErrorCode::kMalformed, "F11"},
    {"a second copy whose end wraps",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_offset[1] = UINT64_MAX - 0xffff; }); };
     },
     ErrorCode::kMalformed, "F11"},
    {"both copies in one place",
     [](auto& f) {
       f.in_header = [](auto& b) { edit_slots(b, 0, [](Slot& s) { s.toc_offset[1] = s.toc_offset[0]; }); };
     },
     ErrorCode::kMalformed, "F11"},
};

}  // namespace fatctx::container
