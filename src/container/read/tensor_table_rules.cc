#include "container/read/tensor_table_rules.h"

#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "fatctx/base/checked.h"
#include "fatctx/record.h"

namespace fatctx::container {

Error table_error(ErrorCode code, std::string_view rule, std::uint64_t offset, std::string message) {
  return Error{code, "tensor table: " + std::move(message), {.file_offset = offset, .rule = rule}};
}

Error not_present_table(std::uint64_t offset, std::string_view part) {
  return table_error(ErrorCode::kNotPresent, "F46", offset, fmt::format("{} is not present", part));
}

Error malformed_table(std::string_view rule, std::uint64_t offset, std::string message) {
  return table_error(ErrorCode::kMalformed, rule, offset, std::move(message));
}

Result<TensorTableHeader> check_table_header(ByteView first, std::uint64_t size, std::uint64_t blob_size,
                                             bool newer_fields) {
  if (size < sizeof(TensorTableHeader)) {
    return table_error(ErrorCode::kTruncated, "F33", size,
                       fmt::format("{} bytes cannot hold the {}-byte header", size, sizeof(TensorTableHeader)));
  }
  if (size > kMaxTensorTableSize) {
    return table_error(ErrorCode::kLimitExceeded, "F33", 0,
                       fmt::format("{} bytes; at most {} are allowed", size, kMaxTensorTableSize));
  }
  FATCTX_ASSIGN(const auto header, copy_out<TensorTableHeader>(first, 0));
  if (header.magic != kTensorTableMagic) {
    return table_error(ErrorCode::kBadMagic, "F33", 0, "does not start with \"CTXN\"");
  }
  if (header.version != kTensorTableVersion) {
    return table_error(ErrorCode::kUnsupported, "F33", offsetof(TensorTableHeader, version),
                       fmt::format("version {}; this library reads version {}", static_cast<unsigned>(header.version),
                                   kTensorTableVersion));
  }
  const bool longer = newer_fields && header.entry_size > sizeof(TensorEntry) && header.entry_size <= kMaxEntrySize;
  if (header.entry_size != sizeof(TensorEntry) && !longer) {
    return malformed_table(
        "F33", offsetof(TensorTableHeader, entry_size),
        fmt::format("entries of {} bytes; version {} has {}", static_cast<unsigned>(header.entry_size),
                    kTensorTableVersion, sizeof(TensorEntry)));
  }
  if (!newer_fields && header.reserved != decltype(header.reserved){}) {
    return malformed_table("F20", offsetof(TensorTableHeader, reserved), "reserved bytes of the header are not zero");
  }
  if (header.count > kMaxTensors) {
    return table_error(
        ErrorCode::kLimitExceeded, "F33", offsetof(TensorTableHeader, count),
        fmt::format("{} tensors; at most {} are allowed", static_cast<std::uint32_t>(header.count), kMaxTensors));
  }
  if (header.blob_size != blob_size) {
    return malformed_table("F37", offsetof(TensorTableHeader, blob_size),
                           fmt::format("is for a weight blob of {} bytes, but the blob has {}",
                                       static_cast<std::uint64_t>(header.blob_size), blob_size));
  }
  // At most 2^20 x 4,104 and 2^32 x 16: cannot wrap.
  const std::uint64_t rows_size = std::uint64_t{header.count} * (header.entry_size + sizeof(NameIndexEntry));
  const std::uint64_t hashes_size = std::uint64_t{header.page_count} * sizeof(DiskHash);
  const std::uint64_t behind_header = size - sizeof(TensorTableHeader);
  const auto wanted = checked_add(rows_size + hashes_size, header.names_size);
  if (!wanted || *wanted > behind_header) {
    return table_error(
        ErrorCode::kTruncated, "F33", size,
        fmt::format("{} entries, {} hashes of pages and {} bytes of names do not fit the {} bytes behind the header",
                    static_cast<std::uint32_t>(header.count), static_cast<std::uint32_t>(header.page_count),
                    static_cast<std::uint64_t>(header.names_size), behind_header));
  }
  if (*wanted < behind_header) {
    return table_error(ErrorCode::kTrailingData, "F33", sizeof(TensorTableHeader) + *wanted,
                       fmt::format("{} bytes behind the names", behind_header - *wanted));
  }
  if (header.page_count != toc_pages(behind_header - hashes_size)) {
    return malformed_table("F33", offsetof(TensorTableHeader, page_count),
                           fmt::format("{} hashes of pages for {} bytes", static_cast<std::uint32_t>(header.page_count),
                                       behind_header - hashes_size));
  }
  return header;
}

// Checks the rules that concern one entry alone; `offset` is that of the entry.
Status check_tensor_entry(const TensorEntry& entry, std::uint64_t offset, std::string_view name,
                          std::uint64_t blob_size, std::span<const std::uint64_t, kMaxRank> dims, bool newer_fields) {
  if (!newer_fields && (entry.reserved0 != 0 || entry.reserved1 != 0)) {
    return malformed_table("F20", offset + offsetof(TensorEntry, reserved0),
                           fmt::format("reserved bytes of tensor \"{}\" are not zero", name));
  }
  if (!newer_fields && (entry.flags & ~kTensorAlias) != 0) {
    return malformed_table("F20", offset + offsetof(TensorEntry, flags),
                           fmt::format("tensor \"{}\" has unknown flags 0x{:02x}", name, unsigned{entry.flags}));
  }
  if (entry.rank > kMaxRank) {
    return table_error(
        ErrorCode::kLimitExceeded, "F33", offset + offsetof(TensorEntry, rank),
        fmt::format("tensor \"{}\" has rank {}; at most {} is allowed", name, unsigned{entry.rank}, kMaxRank));
  }
  for (std::size_t i = entry.rank; i < kMaxRank; ++i) {
    if (dims[i] != 0) {
      return malformed_table("F20", offset + offsetof(TensorEntry, dims) + i * sizeof(le64),
                             fmt::format("unused dimension {} of tensor \"{}\" is not zero", i, name));
    }
  }
  const auto dtype = static_cast<DType>(static_cast<std::uint16_t>(entry.dtype));
  if (dtype_bits(dtype) == 0) {
    return malformed_table("F33", offset + offsetof(TensorEntry, dtype),
                           fmt::format("tensor \"{}\" has the unknown element type {}", name,
                                       static_cast<unsigned>(static_cast<std::uint16_t>(entry.dtype))));
  }
  const auto shape = dims.first(entry.rank);
  const auto size = tensor_size_bytes(dtype, shape);
  if (!size) {
    return malformed_table("F33", offset + offsetof(TensorEntry, dims),
                           fmt::format("the size of tensor \"{}\", {} [{}], does not fit 64 bits", name,
                                       dtype_name(dtype), fmt::join(shape, ", ")));
  }
  if (*size != entry.size_bytes) {
    return malformed_table(
        "F33", offset + offsetof(TensorEntry, size_bytes),
        fmt::format("tensor \"{}\", {} [{}], takes {} bytes, but {} are stated", name, dtype_name(dtype),
                    fmt::join(shape, ", "), *size, static_cast<std::uint64_t>(entry.size_bytes)));
  }
  if (!within({entry.offset_in_blob, entry.size_bytes}, blob_size)) {
    return malformed_table("F33", offset + offsetof(TensorEntry, offset_in_blob),
                           fmt::format("tensor \"{}\", {} bytes at {}, leaves its blob of {} bytes", name,
                                       static_cast<std::uint64_t>(entry.size_bytes),
                                       static_cast<std::uint64_t>(entry.offset_in_blob), blob_size));
  }
  return Done{};
}

}  // namespace fatctx::container
