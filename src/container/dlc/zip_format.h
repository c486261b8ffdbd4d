// The bytes of a stored ZIP64 archive, as far as a DLC uses them.
#pragma once

#include <cstdint>

#include "fatctx/base/little_endian.h"

namespace fatctx::container::dlc {

inline constexpr std::uint32_t kLocalSignature = 0x04034b50;
inline constexpr std::uint32_t kCentralSignature = 0x02014b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::uint32_t kZip64EndSignature = 0x06064b50;
inline constexpr std::uint32_t kZip64LocatorSignature = 0x07064b50;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kFlagEncrypted = 1U << 0;
inline constexpr std::uint16_t kFlagDescriptor = 1U << 3;  // sizes behind the data instead of in front
inline constexpr std::uint16_t kZip64Version = 45;
inline constexpr std::uint16_t kZip64Field = 0x0001;
inline constexpr std::uint32_t kIn64 = 0xffffffff;  // "the number is in the ZIP64 field"
inline constexpr std::uint16_t kIn64Short = 0xffff;

struct DiskEntryFields {  // the fields that an entry's header and its directory row share
  le16 version_needed;
  le16 flags;
  le16 method;
  le16 time;
  le16 date;
  le32 crc;
  le32 stored_size;
  le32 size;
  le16 name_size;
  le16 extra_size;
};
static_assert(sizeof(DiskEntryFields) == 26 && alignof(DiskEntryFields) == 1);

struct DiskLocalHeader {  // then name, then extra fields
  le32 signature;
  DiskEntryFields entry;
};
static_assert(sizeof(DiskLocalHeader) == 30 && alignof(DiskLocalHeader) == 1);

struct DiskCentralEntry {  // then name, extra fields, comment
  le32 signature;
  le16 version_made_by;
  DiskEntryFields entry;
  le16 comment_size;
  le16 disk;
  le16 internal_attributes;
  le32 external_attributes;
  le32 header_offset;
};
static_assert(sizeof(DiskCentralEntry) == 46 && alignof(DiskCentralEntry) == 1);

struct DiskZip64End {
  le32 signature;
  le64 rest_size;  // size of this struct behind this field
  le16 version_made_by;
  le16 version_needed;
  le32 disk;
  le32 directory_disk;
  le64 disk_entry_count;
  le64 entry_count;
  le64 directory_size;
  le64 directory_offset;
};
static_assert(sizeof(DiskZip64End) == 56 && alignof(DiskZip64End) == 1);

struct DiskZip64Locator {
  le32 signature;
  le32 disk;
  le64 end_offset;
  le32 disk_count;
};
static_assert(sizeof(DiskZip64Locator) == 20 && alignof(DiskZip64Locator) == 1);

struct DiskEnd {
  le32 signature;
  le16 disk;
  le16 directory_disk;
  le16 disk_entry_count;
  le16 entry_count;
  le32 directory_size;
  le32 directory_offset;
  le16 comment_size;
};
static_assert(sizeof(DiskEnd) == 22 && alignof(DiskEnd) == 1);

struct DiskExtraField {  // then `size` bytes
  le16 id;
  le16 size;
};
static_assert(sizeof(DiskExtraField) == 4 && alignof(DiskExtraField) == 1);

// The ZIP64 field of a header as compilers write it, with all numbers that ZIP64 knows and two more. The vendor's
// reader takes the beginning of the data from these two: where they are 0, it finds no entry, or crashes (seen with
// onnxruntime-qnn 2.7.0).
struct DiskPaddedZip64 {  // then `padding` zeros, then the data
  DiskExtraField field;   // its size counts the padding
  le64 size;
  le64 stored_size;
  le64 header_offset;  // 0
  le32 disk;
  le32 padding;
  le32 alignment;  // the data begins at a multiple of it: 4096, or 8 for metadata
  le32 reserved;
};
static_assert(sizeof(DiskPaddedZip64) == 44 && alignof(DiskPaddedZip64) == 1);

struct DiskRowZip64 {  // the ZIP64 field of a row of the directory
  DiskExtraField field;
  le64 size;
  le64 stored_size;
  le64 header_offset;
  le32 disk;
  le32 reserved[3];
};
static_assert(sizeof(DiskRowZip64) == 44 && alignof(DiskRowZip64) == 1);

}  // namespace fatctx::container::dlc
