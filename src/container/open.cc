#include "container/open.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "container/hash.h"
#include "container/pieces.h"
#include "container/record_stream.h"
#include "container/tensor_table_format.h"

namespace fatctx::container {

Error in_record(Error error, const RecordInfo& record) {
  if (!error.where.record_id) error.where.record_id = record.id;
  error.message = fmt::format("record {} \"{}\": {}", record.id, record.name, error.message);
  return error;
}

Result<Header> read_header(const mapping::OsFile& file, std::uint64_t file_size) {
  // Not a vector: its zeroing would cost as much as the read.
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kHeaderSize);
  const std::span<std::byte> header(buffer.get(), static_cast<std::size_t>(std::min(kHeaderSize, file_size)));
  FATCTX_TRY(file.read_at(0, header));
  return parse_header(header, file_size);
}

Result<OpenedToc> read_toc(const mapping::OsFile& file, std::uint64_t file_size) {
  OpenedToc opened;
  FATCTX_ASSIGN(opened.header, read_header(file, file_size));
  for (int copy = 0; copy < 2; ++copy) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(opened.header.toc_size));
    auto read = file.read_at(opened.header.toc_offset[static_cast<std::size_t>(copy)], bytes);
    if (read.ok() && toc_hash_matches(bytes, opened.header)) {
      FATCTX_ASSIGN(opened.toc, parse_toc(std::move(bytes), opened.header, copy));
      return opened;
    }
    if (!read.ok() && copy == 1) return std::move(read).error();
    opened.header.degraded |= kDegradedToc0 << copy;
  }
  return Error{ErrorCode::kChecksumMismatch,
               "both copies of the table of contents are damaged",
               {.file_offset = opened.header.toc_offset[0], .rule = "F13"}};
}

Status check_supported(const RecordInfo& record, const RecordForm& form) {
  FATCTX_TRY(check_readable(record, form));
  if (record.codec == Codec::kNone) return Done{};
  return in_record(Error{ErrorCode::kUnsupported,
                         fmt::format("it is stored compressed ({}), so that there is nothing to map; read it with "
                                     "stream_record() or `fatctx extract`",
                                     codec_name(record.codec))},
                   record);
}

Result<std::vector<std::byte>> read_metadata_record(const mapping::OsFile& file, const Toc& toc,
                                                    const RecordInfo& record) {
  FATCTX_TRY(check_readable(record, toc.forms[toc.index_of(record)]));
  if (record.type == RecordType::kTensorTable && record.size_bytes > kMaxTensorTableSize) {  // before memory is taken
    return in_record(
        Error{ErrorCode::kLimitExceeded,
              fmt::format("a tensor table of {} bytes; at most {} are allowed", record.size_bytes, kMaxTensorTableSize),
              {.file_offset = record.file_offset, .rule = "F33"}},
        record);
  }
  if (record.codec != Codec::kNone || record.recipe) {
    std::vector<std::byte> unpacked;
    auto streamed = stream_logical(file, toc, record, [&](ByteView piece) -> Status {
      unpacked.insert(unpacked.end(), piece.begin(), piece.end());
      return Done{};
    });
    if (!streamed.ok()) return in_record(std::move(streamed).error(), record);
    return unpacked;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(record.size_bytes));
  for (const Piece& piece : pieces_of(toc, record)) {
    auto read =
        file.read_at(piece.in_file.offset, std::span(bytes).subspan(static_cast<std::size_t>(piece.offset_in_record),
                                                                    static_cast<std::size_t>(piece.in_file.size)));
    if (!read.ok()) return in_record(std::move(read).error(), record);
  }
  if (hash128(bytes) != record.hash) {
    return in_record(Error{ErrorCode::kChecksumMismatch,
                           "its bytes do not match their hash",
                           {.file_offset = record.file_offset, .rule = "F37"}},
                     record);
  }
  return bytes;
}

}  // namespace fatctx::container
