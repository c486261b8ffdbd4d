#include "fatctx/layout.h"

#include "container/format/disk_format.h"
#include "container/read/recipe_format.h"
#include "container/read/tensor_table_format.h"

namespace fatctx {
namespace {

using namespace container;

#define FATCTX_FIELD(type, field) \
  { #field, offsetof(type, field), sizeof(type::field) }

constexpr LayoutField kPrologue[] = {
    FATCTX_FIELD(Prologue, magic),
    FATCTX_FIELD(Prologue, major_version),
    FATCTX_FIELD(Prologue, minor_version),
    FATCTX_FIELD(Prologue, extent_log2),
    FATCTX_FIELD(Prologue, granule_log2),
    FATCTX_FIELD(Prologue, reserved0),
    FATCTX_FIELD(Prologue, incompat_features),
    FATCTX_FIELD(Prologue, ro_compat_features),
    FATCTX_FIELD(Prologue, compat_features),
    FATCTX_FIELD(Prologue, uuid),
    FATCTX_FIELD(Prologue, reserved1),
    FATCTX_FIELD(Prologue, page_hash),
};
constexpr LayoutField kSlot[] = {
    FATCTX_FIELD(Slot, magic),
    FATCTX_FIELD(Slot, slot_index),
    FATCTX_FIELD(Slot, flags),
    FATCTX_FIELD(Slot, reserved0),
    FATCTX_FIELD(Slot, uuid),
    FATCTX_FIELD(Slot, generation),
    FATCTX_FIELD(Slot, committed_end),
    FATCTX_FIELD(Slot, toc_offset),
    FATCTX_FIELD(Slot, toc_size),
    FATCTX_FIELD(Slot, toc_head_size),
    FATCTX_FIELD(Slot, toc_hash),
    FATCTX_FIELD(Slot, toc_sha256),
    FATCTX_FIELD(Slot, previous_toc_hash),
    FATCTX_FIELD(Slot, previous_toc_sha256),
    FATCTX_FIELD(Slot, key_id),
    FATCTX_FIELD(Slot, signature),
    FATCTX_FIELD(Slot, reserved1),
    FATCTX_FIELD(Slot, page_hash),
};
constexpr LayoutField kSignedMessage[] = {
    FATCTX_FIELD(SignedMessage, magic),
    FATCTX_FIELD(SignedMessage, uuid),
    FATCTX_FIELD(SignedMessage, generation),
    FATCTX_FIELD(SignedMessage, committed_end),
    FATCTX_FIELD(SignedMessage, toc_size),
    FATCTX_FIELD(SignedMessage, toc_head_size),
    FATCTX_FIELD(SignedMessage, hash_algorithm),
    FATCTX_FIELD(SignedMessage, toc_sha256),
    FATCTX_FIELD(SignedMessage, previous_toc_sha256),
};
constexpr LayoutField kTocHeader[] = {
    FATCTX_FIELD(TocHeader, magic),      FATCTX_FIELD(TocHeader, table_count), FATCTX_FIELD(TocHeader, uuid),
    FATCTX_FIELD(TocHeader, generation), FATCTX_FIELD(TocHeader, toc_size),    FATCTX_FIELD(TocHeader, head_size),
    FATCTX_FIELD(TocHeader, page_count), FATCTX_FIELD(TocHeader, flags),       FATCTX_FIELD(TocHeader, reserved),
};
constexpr LayoutField kDirectoryEntry[] = {
    FATCTX_FIELD(DirectoryEntry, offset),
    FATCTX_FIELD(DirectoryEntry, count),
    FATCTX_FIELD(DirectoryEntry, entry_size),
    FATCTX_FIELD(DirectoryEntry, reserved),
};
constexpr LayoutField kSegmentEntry[] = {
    FATCTX_FIELD(SegmentEntry, kind),           FATCTX_FIELD(SegmentEntry, alignment_log2),
    FATCTX_FIELD(SegmentEntry, hash_algorithm), FATCTX_FIELD(SegmentEntry, leaf_log2),
    FATCTX_FIELD(SegmentEntry, reserved0),      FATCTX_FIELD(SegmentEntry, offset),
    FATCTX_FIELD(SegmentEntry, size),           FATCTX_FIELD(SegmentEntry, generation),
    FATCTX_FIELD(SegmentEntry, first_leaf),     FATCTX_FIELD(SegmentEntry, leaves_segment),
    FATCTX_FIELD(SegmentEntry, reserved1),      FATCTX_FIELD(SegmentEntry, leaves_hash),
};
constexpr LayoutField kSegmentDigest[] = {
    FATCTX_FIELD(SegmentDigest, first_leaf),
    FATCTX_FIELD(SegmentDigest, leaves_segment),
    FATCTX_FIELD(SegmentDigest, reserved),
    FATCTX_FIELD(SegmentDigest, leaves_sha256),
};
constexpr LayoutField kRecordEntry[] = {
    FATCTX_FIELD(RecordEntry, record_id),      FATCTX_FIELD(RecordEntry, type),
    FATCTX_FIELD(RecordEntry, flags),          FATCTX_FIELD(RecordEntry, codec),
    FATCTX_FIELD(RecordEntry, alignment_log2), FATCTX_FIELD(RecordEntry, reserved0),
    FATCTX_FIELD(RecordEntry, name),           FATCTX_FIELD(RecordEntry, key),
    FATCTX_FIELD(RecordEntry, first_slice),    FATCTX_FIELD(RecordEntry, slice_count),
    FATCTX_FIELD(RecordEntry, link),           FATCTX_FIELD(RecordEntry, logical_size),
    FATCTX_FIELD(RecordEntry, stored_size),    FATCTX_FIELD(RecordEntry, logical_hash),
};
constexpr LayoutField kRecordDigest[] = {
    FATCTX_FIELD(RecordDigest, logical_sha256),
};
constexpr LayoutField kNameIndexEntry[] = {
    FATCTX_FIELD(NameIndexEntry, hash),
    FATCTX_FIELD(NameIndexEntry, record),
};
constexpr LayoutField kSliceEntry[] = {
    FATCTX_FIELD(SliceEntry, segment),
    FATCTX_FIELD(SliceEntry, reserved),
    FATCTX_FIELD(SliceEntry, offset_in_segment),
    FATCTX_FIELD(SliceEntry, size),
};
constexpr LayoutField kDiskVersion[] = {
    FATCTX_FIELD(DiskVersion, major_version),
    FATCTX_FIELD(DiskVersion, minor_version),
    FATCTX_FIELD(DiskVersion, patch_version),
    FATCTX_FIELD(DiskVersion, build_version),
};
constexpr LayoutField kKeyEntry[] = {
    FATCTX_FIELD(KeyEntry, record_id), FATCTX_FIELD(KeyEntry, type),    FATCTX_FIELD(KeyEntry, flags),
    FATCTX_FIELD(KeyEntry, group),     FATCTX_FIELD(KeyEntry, unit),    FATCTX_FIELD(KeyEntry, backend),
    FATCTX_FIELD(KeyEntry, qnn_soc),   FATCTX_FIELD(KeyEntry, part),    FATCTX_FIELD(KeyEntry, arch),
    FATCTX_FIELD(KeyEntry, features),  FATCTX_FIELD(KeyEntry, vtcm_mb), FATCTX_FIELD(KeyEntry, sdk),
    FATCTX_FIELD(KeyEntry, variant),   FATCTX_FIELD(KeyEntry, api),     FATCTX_FIELD(KeyEntry, blob),
};
constexpr LayoutField kReferenceEntry[] = {
    FATCTX_FIELD(ReferenceEntry, from_record), FATCTX_FIELD(ReferenceEntry, to_record),
    FATCTX_FIELD(ReferenceEntry, kind),        FATCTX_FIELD(ReferenceEntry, role),
    FATCTX_FIELD(ReferenceEntry, reserved),    FATCTX_FIELD(ReferenceEntry, bound_hash),
    FATCTX_FIELD(ReferenceEntry, table_hash),
};
constexpr LayoutField kGenerationEntry[] = {
    FATCTX_FIELD(GenerationEntry, number),        FATCTX_FIELD(GenerationEntry, toc_offset),
    FATCTX_FIELD(GenerationEntry, toc_size),      FATCTX_FIELD(GenerationEntry, toc_head_size),
    FATCTX_FIELD(GenerationEntry, committed_end), FATCTX_FIELD(GenerationEntry, toc_hash),
    FATCTX_FIELD(GenerationEntry, toc_sha256),
};
constexpr LayoutField kTensorTableHeader[] = {
    FATCTX_FIELD(TensorTableHeader, magic),      FATCTX_FIELD(TensorTableHeader, version),
    FATCTX_FIELD(TensorTableHeader, entry_size), FATCTX_FIELD(TensorTableHeader, count),
    FATCTX_FIELD(TensorTableHeader, page_count), FATCTX_FIELD(TensorTableHeader, blob_size),
    FATCTX_FIELD(TensorTableHeader, names_size), FATCTX_FIELD(TensorTableHeader, reserved),
};
constexpr LayoutField kTensorEntry[] = {
    FATCTX_FIELD(TensorEntry, name_offset), FATCTX_FIELD(TensorEntry, name_size),
    FATCTX_FIELD(TensorEntry, dtype),       FATCTX_FIELD(TensorEntry, rank),
    FATCTX_FIELD(TensorEntry, flags),       FATCTX_FIELD(TensorEntry, reserved0),
    FATCTX_FIELD(TensorEntry, reserved1),   FATCTX_FIELD(TensorEntry, offset_in_blob),
    FATCTX_FIELD(TensorEntry, size_bytes),  FATCTX_FIELD(TensorEntry, dims),
};
constexpr LayoutField kRecipeHeader[] = {
    FATCTX_FIELD(RecipeHeader, magic),      FATCTX_FIELD(RecipeHeader, version),
    FATCTX_FIELD(RecipeHeader, reserved),   FATCTX_FIELD(RecipeHeader, step_count),
    FATCTX_FIELD(RecipeHeader, steps_size), FATCTX_FIELD(RecipeHeader, literals_size),
};
#undef FATCTX_FIELD

constexpr LayoutTable kTables[] = {
    {"Prologue", sizeof(Prologue), kPrologue},
    {"Slot", sizeof(Slot), kSlot},
    {"SignedMessage", sizeof(SignedMessage), kSignedMessage},
    {"TocHeader", sizeof(TocHeader), kTocHeader},
    {"DirectoryEntry", sizeof(DirectoryEntry), kDirectoryEntry},
    {"SegmentEntry", sizeof(SegmentEntry), kSegmentEntry},
    {"RecordEntry", sizeof(RecordEntry), kRecordEntry},
    {"SliceEntry", sizeof(SliceEntry), kSliceEntry},
    {"DiskVersion", sizeof(DiskVersion), kDiskVersion},
    {"KeyEntry", sizeof(KeyEntry), kKeyEntry},
    {"ReferenceEntry", sizeof(ReferenceEntry), kReferenceEntry},
    {"GenerationEntry", sizeof(GenerationEntry), kGenerationEntry},
    {"RecordDigest", sizeof(RecordDigest), kRecordDigest},
    {"SegmentDigest", sizeof(SegmentDigest), kSegmentDigest},
    {"NameIndexEntry", sizeof(NameIndexEntry), kNameIndexEntry},
    {"TensorTableHeader", sizeof(TensorTableHeader), kTensorTableHeader},
    {"TensorEntry", sizeof(TensorEntry), kTensorEntry},
    {"RecipeHeader", sizeof(RecipeHeader), kRecipeHeader},
};

// Finds a field that is missing in a list above, at compile time: it would leave a gap.
constexpr bool gapless() {
  for (const LayoutTable& table : kTables) {
    std::uint64_t end = 0;
    for (const LayoutField& field : table.fields) {
      if (field.offset != end) return false;
      end += field.size;
    }
    if (end != table.size) return false;
  }
  return true;
}
static_assert(gapless());
static_assert(kMajorVersion == 1 && kMinorVersion == 0, "format_version() below says so in text");

}  // namespace

std::span<const LayoutTable> layout_tables() noexcept { return kTables; }

std::string_view format_version() noexcept { return "1.0"; }

}  // namespace fatctx
