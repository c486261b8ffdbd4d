// The bytes of a tensor table (docs/format.md, section 6). It is a record of its own; the TOC refers to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fatctx/base/little_endian.h"

namespace fatctx::container {

inline constexpr std::array<std::byte, 4> kTensorTableMagic = {std::byte{'C'}, std::byte{'T'}, std::byte{'X'},
                                                               std::byte{'N'}};
inline constexpr std::uint16_t kTensorTableVersion = 1;
inline constexpr std::uint64_t kMaxTensors = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxTensorTableSize = std::uint64_t{256} << 20;
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::uint8_t kTensorAlias = 1;  // flags of an entry

struct TensorTableHeader {
  std::array<std::byte, 4> magic;
  le16 version;
  le16 entry_size;
  le32 count;
  le32 page_count;  // hashes of pages behind this header; the entries begin behind them
  le64 blob_size;   // logical size of the weight blob it describes
  le64 names_size;  // bytes of the names region, behind the entries and the index
  std::array<std::byte, 32> reserved;
};
static_assert(sizeof(TensorTableHeader) == 64 && alignof(TensorTableHeader) == 1);

struct TensorEntry {  // ascending by name, bytewise
  le32 name_offset;   // in the names region
  le16 name_size;
  le16 dtype;
  std::uint8_t rank;
  std::uint8_t flags;
  le16 reserved0;
  le32 reserved1;
  le64 offset_in_blob;
  le64 size_bytes;
  std::array<le64, kMaxRank> dims;  // unused ones are zero
};
static_assert(sizeof(TensorEntry) == 96 && alignof(TensorEntry) == 1);

}  // namespace fatctx::container
